"""`lakescan diff`: what is different between two versions of a table."""

from typing import Any

import click

from lakescan.cli import output
from lakescan.cli.parameters import Opening, json_option, opening_options, path_argument
from lakescan.scan.difference import Difference, SomeFiles, difference
from lakescan.show.text import count, size

_MOST_PATHS = 10


@click.command(short_help="What is different between two versions.")
@path_argument
@click.argument("before", metavar="V1")
@click.argument("after", metavar="V2")
@opening_options
@json_option
def command(path: str, before: str, after: str, storage: Any, time_zone: str, as_json: bool) -> None:
    """Say what is different between two versions: files, rows and schema."""
    with output.working("reading both versions"):
        table = Opening(storage, time_zone).table(path)
        found = difference(table.snapshot(version=before), table.snapshot(version=after))
    if as_json:
        output.document(_as_json(found))
        return
    output.heading(f"{found.after.location}: version {found.before.version} to {found.after.version}")
    was, now = found.rows
    moved = "" if was is None or now is None else f" ({now - was:+,})"
    output.facts(
        [
            ("rows", f"{_known(was)} to {_known(now)}{moved}"),
            ("files", f"{found.before.num_files:,} to {found.after.num_files:,}"),
            ("bytes", f"{size(found.before.size_in_bytes)} to {size(found.after.size_in_bytes)}"),
            ("added", _some(found.added)),
            ("removed", _some(found.removed)),
            ("changed rows", _some(found.changed)),
            ("schema", "the same" if not found.schema else count(len(found.schema), "changes")),
        ]
    )
    for sentence in found.schema:
        output.facts([("", sentence)])
    for sign, files in (("+", found.added), ("-", found.removed), ("~", found.changed)):
        for name in _paths(found, files)[:_MOST_PATHS]:
            output.facts([(sign, name)])
        if files.count > _MOST_PATHS:
            output.facts([(sign, f"and {files.count - _MOST_PATHS:,} more")])


def _known(number: int | None) -> str:
    return "an unknown number" if number is None else f"{number:,}"


def _some(files: SomeFiles) -> str:
    rows = "" if files.rows is None or not files.count else f", {count(files.rows, 'rows')}"
    return f"{count(files.count, 'files')}, {size(files.bytes)}{rows}" if files.count else "no file"


def _paths(found: Difference, files: SomeFiles) -> list[str]:
    """The files' own names: a log may have them with escapes."""
    return [found.after.data_files.path({"path": path}) for path in files.paths.to_pylist()]


def _as_json(found: Difference) -> dict[str, object]:
    def some(files: SomeFiles) -> dict[str, object]:
        return {"files": files.count, "bytes": files.bytes, "rows": files.rows, "paths": _paths(found, files)}

    return {
        "location": found.after.location,
        "versions": [found.before.version, found.after.version],
        "rows": found.rows,
        "files": [found.before.num_files, found.after.num_files],
        "bytes": [found.before.size_in_bytes, found.after.size_in_bytes],
        "added": some(found.added),
        "removed": some(found.removed),
        "changed": some(found.changed),
        "schema": found.schema,
    }
