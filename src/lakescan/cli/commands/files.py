"""`lakescan files`: which files of a table a filter leaves to read."""

from typing import Any

import click

from lakescan.cli import output
from lakescan.cli.answers import values
from lakescan.cli.parameters import Opening, json_option, opening_options, path_argument, snapshot_of, version_options
from lakescan.show.text import count, size


@click.command(short_help="The files that a condition leaves to read.")
@path_argument
@click.option("--where", metavar="CONDITION", help="Only files that may have a row for which this is true.")
@click.option("--limit", type=click.IntRange(min=0), default=100, show_default=True, help="The most files to show.")
@version_options
@opening_options
@json_option
def command(
    path: str,
    where: str | None,
    limit: int,
    version: str | None,
    timestamp: str | None,
    storage: Any,
    time_zone: str,
    as_json: bool,
) -> None:
    """List the files of a table, or those that a query with a condition would read; no data file is opened."""
    with output.working("planning"):
        snapshot = snapshot_of(Opening(storage, time_zone).table(path), version, timestamp)
        builder = snapshot.scan()
        plan = (builder if where is None else builder.filter(where)).build()
        files, report = plan.files(limit), plan.report()
    told = [values(files[name].combine_chunks()) for name in ("path", "size", "rows", "deletion_vector", "partition")]
    rows = [
        {
            "path": file,
            "bytes": bytes_,
            "rows": count_,
            "deleted_rows": (vector or {}).get("cardinality") or 0,
            "partition": partition,
        }
        for file, bytes_, count_, vector, partition in zip(*told, strict=True)
    ]
    if as_json:
        steps = [{"step": step.name, "files": step.files, "bytes": step.bytes} for step in report.steps]
        output.document({"location": snapshot.location, "version": snapshot.version, "steps": steps, "files": rows})
        return
    below = len(snapshot.location) + 1
    output.rows(
        ["path", "size", "rows", "deleted", "partition"],
        (
            (
                row["path"][below:] if row["path"].startswith(f"{snapshot.location}/") else row["path"],
                size(row["bytes"]),
                "?" if row["rows"] is None else count(row["rows"]),
                count(row["deleted_rows"]),
                ", ".join(f"{name}={value}" for name, value in (row["partition"] or {}).items()),
            )
            for row in rows
        ),
        right=(1, 2, 3),
    )
    cut = f"; the first {limit:,} are shown" if report.files_planned > limit else ""
    output.note(
        f"{report.files_planned:,} of {count(report.files_total, 'files')}, {size(report.bytes_planned)} of "
        f"{size(report.bytes_total)}{cut}"
    )
