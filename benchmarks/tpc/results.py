"""What was measured: a line for each query, the geometric mean and the worst, and a chart.

A ratio is the least processor time of an engine's runs over Delta Spark's least: what else a machine does adds to it.
Below one it needs less. The first run of each query counts by itself: that is what a query costs which is asked once.
"""

import json
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tpc.engines import DELTA, LAKESCAN
from tpc.measure import Cost

_BOUND = 1.1


@dataclass(frozen=True)
class QueryResult:
    """One query: the measured runs by engine, those with other rows than Delta Spark, and those that failed."""

    number: int
    first: Mapping[str, Cost]
    costs: Mapping[str, tuple[Cost, ...]]
    wrong: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()

    def wall(self, engine: str) -> float | None:
        return min(cost.wall for cost in self.costs[engine]) if engine in self.costs else None

    def processor(self, engine: str) -> float | None:
        return min(cost.processor for cost in self.costs[engine]) if engine in self.costs else None

    def ratio(self, engine: str = LAKESCAN.name) -> float | None:
        """Processor time over Delta Spark's, of the first runs where there are no others."""
        ours, theirs = self.processor(engine), self.processor(DELTA.name)
        if not self.costs:
            return self.first_ratio(engine)
        return ours / theirs if ours is not None and theirs else None

    def first_ratio(self, engine: str = LAKESCAN.name) -> float | None:
        """The same of the first run."""
        both = engine in self.first and DELTA.name in self.first
        return self.first[engine].processor / self.first[DELTA.name].processor if both else None

    def wall_ratio(self, engine: str = LAKESCAN.name) -> float | None:
        if not self.costs and {engine, DELTA.name} <= set(self.first):
            return self.first[engine].wall / self.first[DELTA.name].wall
        ours, theirs = self.wall(engine), self.wall(DELTA.name)
        return ours / theirs if ours is not None and theirs else None

    def __str__(self) -> str:
        told = [
            f"{engine} {self.wall(engine):.2f} s, processor {self.processor(engine):.2f} s" for engine in self.costs
        ]
        ratio = self.ratio()
        notes = [f"ROWS DIFFER: {', '.join(self.wrong)}"] if self.wrong else []
        notes += [f"FAILED {text}" for text in self.failed]
        first = self.first_ratio()
        shown = f"Q{self.number:<3} ratio {ratio:.2f}" if ratio is not None else f"Q{self.number}"
        shown += f", first {first:.2f}" if first is not None else ""
        return "; ".join([shown, *told, *notes])


def summary(results: Sequence[QueryResult]) -> str:
    """The figures that matter, as text."""
    lines = []
    for engine in sorted({name for result in results for name in result.first} - {DELTA.name}):
        known = {result.number: ratio for result in results if (ratio := result.ratio(engine)) is not None}
        walls = [ratio for result in results if (ratio := result.wall_ratio(engine)) is not None]
        first = [ratio for result in results if (ratio := result.first_ratio(engine)) is not None]
        if not known:
            continue
        worst = max(known, key=lambda number: known[number])
        over = sorted(number for number, ratio in known.items() if ratio > _BOUND)
        lines.append(
            f"{engine}: over {len(known)} queries, the geometric mean of processor time is {_mean(known.values()):.2f} "
            f"of Delta Spark's ({_mean(first):.2f} in first runs), of wall time {_mean(walls):.2f}; "
            f"worst Q{worst} with {known[worst]:.2f}; "
            f"above {_BOUND}: {over or 'none'}"
        )
    differ = sorted(result.number for result in results if result.wrong)
    failed = sorted(result.number for result in results if result.failed)
    lines.append(f"rows differ in: {differ or 'none'}; failed in some engine: {failed or 'none'}")
    return "\n".join(lines)


def above_the_bound(results: Sequence[QueryResult]) -> list[QueryResult]:
    """Those in which Lakescan takes more than it is to take."""
    return [result for result in results if (ratio := result.ratio()) is not None and ratio > _BOUND]


def write(results: Sequence[QueryResult], again: Sequence[QueryResult], folder: Path, name: str) -> None:
    """The figures as JSON and text, those of queries that were run again behind, and a chart of the ratios."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps([asdict(result) for result in [*results, *again]], indent=1) + "\n")
    told = [summary(results), *(["again, by the least of the runs after the first:", summary(again)] if again else [])]
    (folder / f"{name}.txt").write_text("\n".join(told) + "\n")
    known = [(f"Q{result.number}", ratio) for result in results if (ratio := result.ratio()) is not None]
    (folder / f"{name}.svg").write_text(_chart(known, f"{name}: processor time, Lakescan over Delta Spark"))


def _mean(ratios: Collection[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


def _chart(ratios: Sequence[tuple[str, float]], title: str) -> str:
    """Bars, one a query, and a line at one."""
    step, unit, left, top = 14, 260, 50, 40
    most = max(2.0, *(ratio for _, ratio in ratios))
    height, width = top + step * len(ratios) + 10, int(left + unit * most + 60)
    bars = [
        f'<text x="{left - 6}" y="{top + at * step + 10}" text-anchor="end">{name}</text>'
        f'<rect x="{left}" y="{top + at * step + 1}" width="{ratio * unit:.0f}" height="{step - 3}" '
        f'fill="{"#3b7dd8" if ratio <= _BOUND else "#d8503b"}"/>'
        f'<text x="{left + ratio * unit + 4:.0f}" y="{top + at * step + 10}">{ratio:.2f}</text>'
        for at, (name, ratio) in enumerate(ratios)
    ]
    line = f'<line x1="{left + unit}" y1="{top - 6}" x2="{left + unit}" y2="{height - 8}" stroke="#555"/>'
    head = f'<text x="{left}" y="20" font-size="13">{title}; geometric mean {_mean([r for _, r in ratios]):.2f}</text>'
    style = 'font-family="sans-serif" font-size="10"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" {style}>'
        f'<rect width="100%" height="100%" fill="white"/>{head}{"".join(bars)}{line}</svg>\n'
    )
