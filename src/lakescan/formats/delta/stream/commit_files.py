"""Which files of a commit are new rows for a stream, and which commits are not appends.

A commit that changes no data (OPTIMIZE, Z-order) gives no rows. A commit that only takes rows away, by removing
files or by a larger deletion vector, is a delete; one that takes away and adds is a change. Both are errors
unless the options say otherwise. `ignoreChanges` gives every file that such a commit adds, as Delta does: also one
that was there before with fewer rows deleted.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import NotAnAppend
from lakescan.formats.delta.log.commit_range import TableCommit
from lakescan.formats.delta.stream.options import StreamOptions
from lakescan.types.columns import member


def new_files(commit: TableCommit, options: StreamOptions) -> pa.Table:
    """The files whose rows the commit gives, in the commit's order."""
    adds = commit.adds.filter(commit.adds["data_change"])
    if not commit.has_removes:
        return adds
    removes = commit.removes.filter(commit.removes["data_change"])
    if not removes.num_rows:
        return adds
    if options.skip_change_commits:
        return adds.slice(0, 0)
    if options.ignore_changes:
        return adds
    operation = str(commit.info.get("operation") or "no operation named")
    # RESTORE may give rows back that an older vector had deleted.
    deletes_only = not adds.num_rows or (operation != "RESTORE" and pc.all(_only_lost_rows(adds, removes)).as_py())
    if deletes_only and options.ignore_deletes:
        return adds.slice(0, 0)
    raise NotAnAppend(commit.storage.location, commit.version, operation, deletes_only)


def _only_lost_rows(adds: pa.Table, removes: pa.Table) -> pa.Array:
    """Which adds are a removed file again with more of its rows deleted: nothing in them is new."""
    at = pc.index_in(adds["path"], value_set=removes["path"].combine_chunks()).combine_chunks()
    before = _deleted(removes).take(at)
    return pc.fill_null(pc.greater(_deleted(adds), before), False)


def _deleted(files: pa.Table) -> pa.Array:
    return pc.fill_null(member(files["deletion_vector"].combine_chunks(), "cardinality"), 0)
