"""`lakescan inspect`: what a table is, how large it is, and what would make its reads faster."""

from typing import Any

import click

from lakescan.cli import output
from lakescan.cli.parameters import (
    Opening,
    fields_of,
    json_option,
    opening_options,
    path_argument,
    snapshot_of,
    version_options,
)


@click.command(short_help="What a table is, and what would make it faster.")
@path_argument
@version_options
@opening_options
@json_option
def command(path: str, version: str | None, timestamp: str | None, storage: Any, time_zone: str, as_json: bool) -> None:
    """Say what a table is: format, version, schema, files, rows, and advice where reads will be slow."""
    from lakescan.scan.advice import advice
    from lakescan.scan.inspection import inspect
    from lakescan.scan.snapshot_shown import inspection_facts
    from lakescan.show.schema import schema_tree

    with output.working("reading the log"):
        snapshot = snapshot_of(Opening(storage, time_zone).table(path), version, timestamp)
        table = inspect(snapshot)
        advised = advice(table)
    if as_json:
        output.document(_as_json(table, advised))
        return
    output.heading(snapshot.location)
    output.facts(inspection_facts(table))
    output.line()
    output.line(schema_tree(snapshot.schema_json))
    for sentence in advised:
        output.line()
        output.line(f"advice: {sentence}", style="yellow")


def _as_json(table: Any, advised: tuple[str, ...]) -> dict[str, object]:
    snapshot, log = table.snapshot, table.log
    return {
        "location": snapshot.location,
        "format": snapshot.format,
        "version": snapshot.version,
        "protocol": log.protocol,
        "features": log.features,
        "schema": fields_of(snapshot),
        "partition_columns": snapshot.partition_columns,
        "properties": dict(snapshot.properties),
        "files": table.files,
        "bytes": table.bytes,
        "median_file_bytes": table.median_bytes,
        "largest_file_bytes": table.largest_bytes,
        "small_files": table.small_files,
        "rows": table.rows,
        "files_without_row_count": table.uncounted_files,
        "deleted_rows": table.deleted_rows,
        "files_with_deleted_rows": table.files_with_deletions,
        "files_with_log_files": table.files_to_merge,
        "columns_without_statistics": table.columns_without_statistics,
        "checkpoint": None
        if log.checkpoint_version is None
        else {"version": log.checkpoint_version, "written_ms": log.checkpoint_ms},
        "commits_since_checkpoint": log.commits_since_checkpoint,
        "advice": advised,
    }
