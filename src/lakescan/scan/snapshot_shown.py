"""Tables and their versions as they show themselves: a line in a shell, facts and schema in a notebook.

The line costs nothing but what the version has read already. A notebook shows what `lakescan inspect` says, for which
the version's files are listed.
"""

import time
from typing import TYPE_CHECKING

from lakescan.scan.log_state import LogState
from lakescan.show.table_html import version_html
from lakescan.show.text import age, count, listed, shown, size

if TYPE_CHECKING:
    from lakescan.scan.inspection import Inspection
    from lakescan.scan.snapshot import Snapshot, Table


class ShownTable:
    """The texts of a format's table."""

    def __repr__(self: "Table") -> str:
        return shown(f"<{self.format} table {self.location}>")

    def _repr_html_(self: "Table") -> str:
        return snapshot_html(self.snapshot())


def snapshot_text(snapshot: "Snapshot") -> str:
    """A version in a line."""
    partitions = f", partitioned by {listed(snapshot.partition_columns)}" if snapshot.partition_columns else ""
    columns = f"{count(len(snapshot.schema.names), 'columns')} ({listed(snapshot.schema.names)})"
    return shown(f"<{snapshot.format} table {snapshot.location} at version {snapshot.version}: {columns}{partitions}>")


def snapshot_html(snapshot: "Snapshot") -> str:
    """A version as a part of a notebook's page."""
    # These stand on snapshots themselves.
    from lakescan.scan.advice import advice
    from lakescan.scan.inspection import inspect

    inspection = inspect(snapshot)
    return version_html(snapshot.location, inspection_facts(inspection), snapshot.schema_json, advice(inspection))


def inspection_facts(table: "Inspection") -> list[tuple[str, object]]:
    """What is said of a version, in the order in which people want to know it."""
    snapshot, log = table.snapshot, table.log
    pairs: list[tuple[str, object]] = [
        ("format", f"{table.snapshot.format.capitalize()}{', ' + log.protocol if log.protocol else ''}"),
        ("version", snapshot.version),
        ("features", ", ".join(log.features) or "none"),
        ("columns", len(snapshot.schema.names)),
        ("partitioned by", listed(snapshot.partition_columns, most=20) or "nothing"),
        ("files", _files(table)),
        ("rows", _rows(table)),
        ("deleted rows", _deleted(table)),
    ]
    if table.files_to_merge:
        pairs.append(("log files", f"in {count(table.files_to_merge, 'files')}, merged when read"))
    if log.commits_since_checkpoint is not None:
        pairs.append(("checkpoint", _checkpoint(log)))
    return pairs


def _files(table: "Inspection") -> str:
    if not table.files:
        return "0"
    sizes = f"{size(table.bytes)}; median {size(table.median_bytes)}, largest {size(table.largest_bytes)}"
    return f"{count(table.files)}, {sizes}"


def _rows(table: "Inspection") -> str:
    if table.rows is not None:
        return count(table.rows)
    return f"not known: {table.uncounted_files:,} of {count(table.files, 'files')} without a count"


def _deleted(table: "Inspection") -> str:
    if not table.deleted_rows:
        return "0"
    return f"{count(table.deleted_rows)}, by the deletion vectors of {count(table.files_with_deletions, 'files')}"


def _checkpoint(log: LogState) -> str:
    commits = count(log.commits_since_checkpoint or 0, "commits")
    if log.checkpoint_version is None:
        return f"none; {commits}"
    return f"version {log.checkpoint_version}, {age(time.time() - (log.checkpoint_ms or 0) / 1000)}; {commits} since"
