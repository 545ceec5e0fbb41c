"""`lakescan inspect`: what a table is, how large it is, and what would make its reads faster."""

import time
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
from lakescan.show.text import age, count, listed, size


@click.command
@path_argument
@version_options
@opening_options
@json_option
def command(path: str, version: str | None, timestamp: str | None, storage: Any, time_zone: str, as_json: bool) -> None:
    """Say what a table is: format, version, schema, files, rows, and advice where reads will be slow."""
    from lakescan.formats import format_named
    from lakescan.scan.advice import advice
    from lakescan.scan.inspection import inspect

    with output.working("reading the log"):
        snapshot = snapshot_of(Opening(storage, time_zone).table(path), version, timestamp)
        found = inspect(snapshot)
        advised = advice(found)
    title = format_named(snapshot.format).title
    if as_json:
        output.document(_as_json(found, advised))
        return
    output.heading(snapshot.location)
    output.facts(_facts(title, found))
    output.line()
    from lakescan.show.schema import schema_tree

    output.line(schema_tree(snapshot.schema_json))
    for sentence in advised:
        output.line()
        output.line(f"advice: {sentence}", style="yellow")


def _facts(title: str, found: Any) -> list[tuple[str, object]]:
    snapshot, log = found.snapshot, found.log
    pairs: list[tuple[str, object]] = [
        ("format", f"{title}{', ' + log.protocol if log.protocol else ''}"),
        ("version", snapshot.version),
        ("features", ", ".join(log.features) or "none"),
        ("columns", len(snapshot.schema.names)),
        ("partitioned by", listed(snapshot.partition_columns, most=20) or "nothing"),
        ("files", _files(found)),
        ("rows", _rows(found)),
        ("deleted rows", _deleted(found)),
    ]
    if found.files_with_logs:
        pairs.append(("log files", f"in {count(found.files_with_logs, 'files')}, merged when read"))
    if log.commits_since_checkpoint is not None:
        pairs.append(("checkpoint", _checkpoint(log)))
    return pairs


def _files(found: Any) -> str:
    if not found.files:
        return "0"
    sizes = f"{size(found.bytes)}; median {size(found.median_bytes)}, largest {size(found.largest_bytes)}"
    return f"{count(found.files)}, {sizes}"


def _rows(found: Any) -> str:
    if found.rows is not None:
        return count(found.rows)
    return f"not known: {found.uncounted_files:,} of {count(found.files, 'files')} without a count"


def _deleted(found: Any) -> str:
    if not found.deleted_rows:
        return "0"
    return f"{count(found.deleted_rows)}, by the deletion vectors of {count(found.files_with_deletions, 'files')}"


def _checkpoint(log: Any) -> str:
    since = f"{count(log.commits_since_checkpoint, 'commits')} since"
    if log.checkpoint_version is None:
        return f"none; {count(log.commits_since_checkpoint, 'commits')}"
    return f"version {log.checkpoint_version}, {age(time.time() - (log.checkpoint_ms or 0) / 1000)}; {since}"


def _as_json(found: Any, advised: tuple[str, ...]) -> dict[str, object]:
    snapshot, log = found.snapshot, found.log
    return {
        "location": snapshot.location,
        "format": snapshot.format,
        "version": snapshot.version,
        "protocol": log.protocol,
        "features": log.features,
        "schema": fields_of(snapshot),
        "partition_columns": snapshot.partition_columns,
        "properties": dict(snapshot.properties),
        "files": found.files,
        "bytes": found.bytes,
        "median_file_bytes": found.median_bytes,
        "largest_file_bytes": found.largest_bytes,
        "small_files": found.small_files,
        "rows": found.rows,
        "files_without_row_count": found.uncounted_files,
        "deleted_rows": found.deleted_rows,
        "files_with_deleted_rows": found.files_with_deletions,
        "files_with_log_files": found.files_with_logs,
        "columns_without_statistics": found.columns_without_statistics,
        "checkpoint": None
        if log.checkpoint_version is None
        else {"version": log.checkpoint_version, "written_ms": log.checkpoint_ms},
        "commits_since_checkpoint": log.commits_since_checkpoint,
        "advice": advised,
    }
