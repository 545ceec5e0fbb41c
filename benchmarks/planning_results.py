"""What the benchmark of planning found, as a table and a chart in `results/`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planning_log import LogShape

RESULTS = Path(__file__).resolve().parent / "results"
_COLOURS = {"lakescan": "#2563eb", "delta-rs": "#9ca3af"}
_WIDTH, _LEFT, _BAR, _GAP = 760, 250, 14, 12


@dataclass(frozen=True)
class Cost:
    """What a process took."""

    wall: float
    processor: float
    megabytes: float


@dataclass(frozen=True)
class Measured:
    """One question to both engines."""

    shape: LogShape
    question: str
    costs: Mapping[str, Cost]

    def ratio(self, of: str) -> float:
        ours, theirs = (getattr(self.costs[engine], of) for engine in ("lakescan", "delta-rs"))
        return float(ours / theirs)


def write_results(measurements: Sequence[Measured], questions: Mapping[str, str]) -> None:
    """The page and its chart, of the largest logs."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "planning.md").write_text(_page(measurements, questions))
    largest = max(measured.shape.files for measured in measurements)
    (RESULTS / "planning.svg").write_text(_chart([one for one in measurements if one.shape.files == largest]))


def _page(measurements: Sequence[Measured], questions: Mapping[str, str]) -> str:
    lines = [
        "# Planning, measured",
        "",
        "Written by `make bench ARGS=planning`. Each cell is the middle of several fresh processes, imports included:",
        "processor seconds, wall seconds, peak memory. A ratio below 1 means that Lakescan took less than delta-rs.",
        "",
        "![the largest logs](planning.svg)",
        "",
        "| files | statistics | plan | Lakescan | delta-rs | processor | wall | memory |",
        "| ---: | --- | --- | --- | --- | ---: | ---: | ---: |",
    ]
    for one in measurements:
        shown = " | ".join(_cell(one.costs[engine]) for engine in ("lakescan", "delta-rs"))
        ratios = " | ".join(f"{one.ratio(of):.2f}" for of in ("processor", "wall", "megabytes"))
        shape = one.shape
        lines.append(f"| {shape.total:,} | {shape.statistics} | {questions[one.question]} | {shown} | {ratios} |")
    return "\n".join(lines) + "\n"


def _cell(cost: Cost) -> str:
    return f"{cost.processor:.2f} s, {cost.wall:.2f} s, {cost.megabytes:.0f} MB"


def _chart(measurements: Sequence[Measured]) -> str:
    """A bar of processor seconds for each question and engine."""
    longest = max(cost.processor for one in measurements for cost in one.costs.values())
    parts, y = [], 40
    for one in measurements:
        label = f"{one.question}, {one.shape.statistics}"
        parts.append(_text(_LEFT - 10, y + _BAR, label, "end"))
        for engine, cost in one.costs.items():
            width = max(1, round((_WIDTH - _LEFT - 90) * cost.processor / longest))
            parts.append(f'<rect x="{_LEFT}" y="{y}" width="{width}" height="{_BAR}" fill="{_COLOURS[engine]}"/>')
            parts.append(_text(_LEFT + width + 6, y + _BAR - 3, f"{cost.processor:.2f} s {engine}"))
            y += _BAR + 2
        y += _GAP
    title = f"Open and plan {measurements[0].shape.total:,} files: processor seconds of a fresh process"
    return _svg([_text(12, 22, title), *parts], y)


def _svg(parts: Iterable[str], height: int) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{height}" fill="white"/>', *parts, "</svg>", ""])


def _text(x: int, y: int, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="12" text-anchor="{anchor}">{text}</text>'
