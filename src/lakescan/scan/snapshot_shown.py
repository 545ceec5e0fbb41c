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

    found = inspect(snapshot)
    return version_html(snapshot.location, inspection_facts(found), snapshot.schema_json, advice(found))


def inspection_facts(found: "Inspection") -> list[tuple[str, object]]:
    """What is said of a version, in the order in which people want to know it."""
    snapshot, log = found.snapshot, found.log
    pairs: list[tuple[str, object]] = [
        ("format", f"{found.snapshot.format.capitalize()}{', ' + log.protocol if log.protocol else ''}"),
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


def _files(found: "Inspection") -> str:
    if not found.files:
        return "0"
    sizes = f"{size(found.bytes)}; median {size(found.median_bytes)}, largest {size(found.largest_bytes)}"
    return f"{count(found.files)}, {sizes}"


def _rows(found: "Inspection") -> str:
    if found.rows is not None:
        return count(found.rows)
    return f"not known: {found.uncounted_files:,} of {count(found.files, 'files')} without a count"


def _deleted(found: "Inspection") -> str:
    if not found.deleted_rows:
        return "0"
    return f"{count(found.deleted_rows)}, by the deletion vectors of {count(found.files_with_deletions, 'files')}"


def _checkpoint(log: LogState) -> str:
    commits = count(log.commits_since_checkpoint or 0, "commits")
    if log.checkpoint_version is None:
        return f"none; {commits}"
    return f"version {log.checkpoint_version}, {age(time.time() - (log.checkpoint_ms or 0) / 1000)}; {commits} since"
