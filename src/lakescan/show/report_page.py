"""The picture of a query: for each scan a funnel of files and bytes, a strip of the table's files, who read, and when.

A strip has a bar a file, or a bar a run of files where there are many, so that a million stay legible. Colours tell why
files were read or skipped; the key below says the same in words and numbers.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakescan.show.html import Markup, facts, fragment, lines, page, tag
from lakescan.show.text import count, duration, size

if TYPE_CHECKING:
    from lakescan.scan.report import FileFates, Report, ScanReport

_MOST_BARS = 480
_HEIGHT = 30
# Told apart also by people who do not see some colours, on light and on dark.
_READ_COLOUR = "#3b82f6"
_COLOURS = {
    "partitions": "#e69f00",
    "statistics": "#009e73",
    "sample": "#0f766e",
    "generated columns": "#cc79a7",
    "deletion vectors": "#d55e00",
    "limit": "#b8a500",
    "top-n": "#8b6cd9",
    "metadata": "#56b4e9",
    "runtime filters": "#c2410c",
    "newest files": "#7f8c8d",
    "offset": "#a16207",
}
_OTHER_COLOUR = "#7f8c8d"


def report_fragment(report: "Report") -> str:
    """The picture as a part of a notebook's page."""
    return fragment(*_sections(report))


def report_page(report: "Report") -> str:
    """The picture as a page of its own."""
    return page("What Lakescan read", tag("h1", "What Lakescan read", style="font-size:1.4em"), *_sections(report))


def _sections(report: "Report") -> Iterator[Markup]:
    if not report.scans:
        yield tag("p", "No scan by Lakescan in this query.")
    for scan in report.scans:
        yield _scan(scan)
    if report.explain is not None:
        yield tag("h3", "Plan")
        yield tag("pre", lines(report.explain()))


def _scan(scan: "ScanReport") -> Markup:
    parts = [
        tag("h2", scan.table, " ", tag("small", f"version {scan.version}")),
        tag("p", scan.summary),
        tag("h3", "Files and bytes, step by step"),
        _funnel(scan),
    ]
    if scan.fates is not None and scan.files_total:
        parts += [tag("h3", "Every file of the table"), _strip(scan.fates())]
    parts += [tag("h3", "The scan"), facts(_facts(scan))]
    return tag("section", *parts)


def _funnel(scan: "ScanReport") -> Markup:
    rows: list[Markup] = []
    for step in scan.steps:
        files = 100 * step.files / max(1, scan.files_total)
        bytes_ = 100 * step.bytes / max(1, scan.bytes_total)
        bars = tag(
            "span",
            tag("span", class_="bar", style=f"display:block;width:{files:.2f}%"),
            tag("span", class_="bar", style=f"display:block;width:{bytes_:.2f}%"),
            class_="bars",
        )
        name = tag("span", step.name, class_="name")
        rows.append(tag("div", name, bars, _numbers(step.files, step.bytes), class_="step"))
    return tag("div", *rows)


def _numbers(files: int, bytes_: int) -> Markup:
    return tag("span", f"{count(files, 'files')}, {size(bytes_)}", class_="number")


def _strip(fates: "FileFates") -> Markup:
    bins = fates.bins(_MOST_BARS)
    colours = [_READ_COLOUR, *(_COLOURS.get(name, _OTHER_COLOUR) for name in fates.names[1:])]
    bars: list[Markup] = []
    gap = 0.15 if len(bins) <= _MOST_BARS // 2 else 0
    for at, run in enumerate(bins.tolist()):
        top, whole = 0.0, sum(run)
        for fate, number in enumerate(run):
            if number:
                height = _HEIGHT * number / whole
                said = f"{count(number, 'files')}: {_fate(fates.names[fate])}"
                place = {"x": at, "y": f"{top:.2f}", "width": 1 - gap, "height": f"{height:.2f}"}
                bars.append(tag("rect", tag("title", said), fill=colours[fate], **place))
                top += height
    keys = [
        tag("span", tag("i", style=f"background:{colour}"), f"{_fate(name)}: {count(number, 'files')}", class_="key")
        for colour, (name, number) in zip(colours, fates.counts().items(), strict=True)
    ]
    picture = tag(
        "svg", *bars, viewBox=f"0 0 {len(bins)} {_HEIGHT}", preserveAspectRatio="none", role="img", aria_label="files"
    )
    run_length = -(-len(fates.fates) // max(1, len(bins)))
    each = "a bar a file" if run_length == 1 else f"a bar some {run_length:,} files"
    return tag("div", picture, tag("p", *keys), tag("p", f"In the table's order, {each}.", style="opacity:.7"))


def _fate(name: str) -> str:
    return name if name == "read" else f"skipped by {name}"


def _facts(scan: "ScanReport") -> Iterator[tuple[object, object]]:
    yield "columns", ", ".join(scan.columns) or "none: only rows are counted"
    yield "filter", tag("code", scan.filter)
    if scan.aggregation:
        yield "aggregates", f"{scan.aggregation}, from the log{'' if scan.metadata_only else ' and the files left'}"
    yield "deleted rows", f"{count(scan.rows_deleted)}, dropped by deletion vectors"
    for reader, tasks in scan.readers:
        yield "tasks", f"{tasks:,} by {reader}"
    yield "planning", duration(scan.planning_ms)
    if scan.reading_ms is not None:
        yield "reading", f"{duration(scan.reading_ms)} of the tasks' time"
    if scan.rows is not None:
        yield "rows", count(scan.rows)
