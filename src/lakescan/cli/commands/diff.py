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
        compared = difference(table.snapshot(version=before), table.snapshot(version=after))
    if as_json:
        output.document(_as_json(compared))
        return
    output.heading(f"{compared.after.location}: version {compared.before.version} to {compared.after.version}")
    was, now = compared.rows
    moved = "" if was is None or now is None else f" ({now - was:+,})"
    output.facts(
        [
            ("rows", f"{_known(was)} to {_known(now)}{moved}"),
            ("files", f"{compared.before.num_files:,} to {compared.after.num_files:,}"),
            ("bytes", f"{size(compared.before.size_in_bytes)} to {size(compared.after.size_in_bytes)}"),
            ("added", _some(compared.added)),
            ("removed", _some(compared.removed)),
            ("changed rows", _some(compared.changed)),
            ("schema", "the same" if not compared.schema else count(len(compared.schema), "changes")),
        ]
    )
    for sentence in compared.schema:
        output.facts([("", sentence)])
    for sign, files in (("+", compared.added), ("-", compared.removed), ("~", compared.changed)):
        for name in _paths(compared, files)[:_MOST_PATHS]:
            output.facts([(sign, name)])
        if files.count > _MOST_PATHS:
            output.facts([(sign, f"and {files.count - _MOST_PATHS:,} more")])


def _known(number: int | None) -> str:
    return "an unknown number" if number is None else f"{number:,}"


def _some(files: SomeFiles) -> str:
    rows = "" if files.rows is None or not files.count else f", {count(files.rows, 'rows')}"
    return f"{count(files.count, 'files')}, {size(files.bytes)}{rows}" if files.count else "no file"


def _paths(compared: Difference, files: SomeFiles) -> list[str]:
    """The files' own names: a log may have them with escapes."""
    return [compared.after.data_files.path({"path": path}) for path in files.paths.to_pylist()]


def _as_json(compared: Difference) -> dict[str, object]:
    def some(files: SomeFiles) -> dict[str, object]:
        return {"files": files.count, "bytes": files.bytes, "rows": files.rows, "paths": _paths(compared, files)}

    return {
        "location": compared.after.location,
        "versions": [compared.before.version, compared.after.version],
        "rows": compared.rows,
        "files": [compared.before.num_files, compared.after.num_files],
        "bytes": [compared.before.size_in_bytes, compared.after.size_in_bytes],
        "added": some(compared.added),
        "removed": some(compared.removed),
        "changed": some(compared.changed),
        "schema": compared.schema,
    }
