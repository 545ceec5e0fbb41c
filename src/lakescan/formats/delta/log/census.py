"""What is counted of a version's files without listing them: sizes, deletion vectors and, where asked for, rows.

A checkpoint's add counts unless some commit speaks of the same file. Its path is read only where that has to be looked
at: where a checksum's sums are right without, no commit names a file of the checkpoint.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.delta.log.actions import ActionSource, StatisticsRequest, keys
from lakescan.formats.delta.log.checksum import Checksum
from lakescan.formats.delta.log.commits import CommitActions
from lakescan.formats.delta.log.opened_once import side_by_side

_ROWS_ALONE = StatisticsRequest(pa.schema([]), pa.schema([]))


def census(commits: CommitActions, checkpoint: Sequence[ActionSource], with_rows: bool = False) -> pa.Table:
    """`CENSUS` of every live file, and `ROWS` where they are wanted."""
    touched, counted = commits.touched, _ROWS_ALONE if with_rows else None
    live = (lambda adds: not_touched(adds, touched)) if len(touched) else None
    parts = side_by_side(lambda source: source.census(live, counted), checkpoint)
    return pa.concat_tables([commits.census(None, counted), *parts])


def census_with_rows(
    commits: CommitActions, checkpoint: Sequence[ActionSource], checksum: Checksum | None, log: str
) -> pa.Table:
    """The same with the rows of each file; an error where the version's checksum counts other files."""
    if checksum is None:
        return census(commits, checkpoint, with_rows=True)
    parts = side_by_side(lambda source: source.census(None, _ROWS_ALONE), checkpoint)
    every = pa.concat_tables([commits.census(None, _ROWS_ALONE), *parts])
    if checksum.agrees_on_sums(every):
        return every
    counted = census(commits, checkpoint, with_rows=True)
    checksum.refuse_other_files(counted, log)
    return counted


def unnamed(
    commits: CommitActions, checkpoint: Sequence[ActionSource], checksum: Checksum, partition: bool
) -> list[pa.Table] | None:
    """The adds of each source without their paths, where all are live: no commit removes a file, and the checksum
    counts just these. Where one does, a writer that forgets what was removed would be believed."""
    if len(commits.touched) > commits.adds.num_rows:
        return None
    parts = side_by_side(lambda source: source.unnamed_adds(partition), checkpoint)
    known = [commits.adds, *(part for part in parts if part is not None)]
    if len(known) <= len(parts) or not checksum.agrees_on_sums(pa.concat_tables(known)):
        return None
    return known


def not_touched(adds: pa.Table, touched: pa.ChunkedArray) -> pa.Table:
    """The adds of files that no commit speaks of."""
    if not len(touched):
        return adds
    named = pc.is_in(keys(adds["path"], adds["deletion_vector"]), value_set=touched)
    # Mostly none is: then nothing need be copied.
    return adds.filter(pc.invert(named)) if pc.any(named).as_py() else adds
