"""Row tracking: where a table keeps the ids of its rows and the versions that last changed them.

A file's add action gives the id of its first row and a commit version for all of them. A row that was moved from
another file keeps its own, in columns of the data file whose names are among the table's properties.
"""

from collections.abc import Collection, Mapping

import pyarrow as pa

from lakescan.formats.delta.log.actions import ROW_TRACKING
from lakescan.reader.file_metadata import KeptNumber
from lakescan.types.columns import member

_ENABLED = "delta.enableRowTracking"
_ROW_ID_COLUMN = "delta.rowTracking.materializedRowIdColumnName"
_ROW_COMMIT_VERSION_COLUMN = "delta.rowTracking.materializedRowCommitVersionColumnName"
_FIRST_ID = "base_row_id"
_COMMIT_VERSION = "default_row_commit_version"
_IN_THE_LOG = dict(zip((_FIRST_ID, _COMMIT_VERSION), (field.name for field in ROW_TRACKING), strict=True))


def row_tracking(properties: Mapping[str, str]) -> tuple[KeptNumber, ...]:
    """The numbers by which the table tracks rows, none where it does not."""
    if properties.get(_ENABLED, "false").lower() != "true":
        return ()
    return (
        KeptNumber("row_id", _FIRST_ID, properties.get(_ROW_ID_COLUMN), counts_on=True),
        KeptNumber("row_commit_version", _COMMIT_VERSION, properties.get(_ROW_COMMIT_VERSION_COLUMN)),
    )


def is_tracked(names: Collection[str]) -> bool:
    return any(name in _IN_THE_LOG for name in names)


def with_tracking(files: pa.Table, tracking: pa.StructArray) -> pa.Table:
    """The files with both of their columns of `ROW_TRACKING`."""
    for name, field in _IN_THE_LOG.items():
        files = files.append_column(name, member(tracking, field))
    return files
