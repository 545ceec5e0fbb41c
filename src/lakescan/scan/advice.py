"""Why reads of a table will be slower than they need be, and what its owner can do: one sentence each.

Advice is given only where it pays: thresholds are far above what is usual for a table in good order.
"""

from collections.abc import Iterator

from lakescan.scan.inspection import SMALL_BYTES, Inspection
from lakescan.show.text import count, listed, size

_MANY_FILES = 100
_MOST_FILES = 0.5
_MANY_COMMITS = 100
_MANY_DELETED = 0.2
_MANY_LOGS = 0.5


def advice(table: Inspection) -> tuple[str, ...]:
    """What is worth doing, the most useful first; nothing for a table in good order."""
    return tuple(_advice(table))


def _advice(table: Inspection) -> Iterator[str]:
    if table.small_files >= _MANY_FILES and table.small_files > _MOST_FILES * table.files:
        yield (
            f"{table.small_files:,} of {count(table.files, 'files')} are smaller than {size(SMALL_BYTES)} (median "
            f"{size(table.median_bytes)}): each costs a request and a footer. Compact the table."
        )
    if table.files_to_merge > _MANY_LOGS * table.files:
        yield (
            f"{table.files_to_merge:,} of {count(table.files, 'files')} have log files, which are merged at every "
            "read. Run a compaction."
        )
    stored = (table.rows or 0) + table.deleted_rows
    if table.deleted_rows > _MANY_DELETED * stored:
        yield (
            f"{table.deleted_rows / stored:.0%} of the rows that are stored are deleted ones, which are read and "
            "dropped. Rewrite the files that have them."
        )
    if table.columns_without_statistics:
        yield (
            f"No file has statistics of {listed(table.columns_without_statistics)}: filters on "
            f"{'it' if len(table.columns_without_statistics) == 1 else 'them'} skip no file. Have the writer collect "
            "statistics of the columns that filters use."
        )
    if table.uncounted_files > table.files_to_merge:
        yield (
            f"The log does not say how many rows there are in {table.uncounted_files - table.files_to_merge:,} of "
            f"{count(table.files, 'files')}: counts and limits have to open them. Have the writer collect statistics."
        )
    since = table.log.commits_since_checkpoint
    if since is not None and since >= _MANY_COMMITS:
        has_none = table.log.checkpoint_version is None
        why = "because there is no checkpoint" if has_none else "after the newest checkpoint"
        yield f"{count(since, 'commits')} are read one by one {why}. Have the writer make a checkpoint."
