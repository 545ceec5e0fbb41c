"""What a table is, in one row: the columns of the statement DESCRIBE DETAIL, for tables of any format.

What a format does not have is null.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lakescan.scan.snapshot import Snapshot

_TEXTS = pa.list_(pa.string())
SCHEMA = pa.schema(
    [
        ("format", pa.string()),
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("location", pa.string()),
        ("createdAt", pa.timestamp("us", "UTC")),
        ("lastModified", pa.timestamp("us", "UTC")),
        ("partitionColumns", _TEXTS),
        ("clusteringColumns", _TEXTS),
        ("numFiles", pa.int64()),
        ("sizeInBytes", pa.int64()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("tableFeatures", _TEXTS),
    ]
)


def detail_of(snapshot: Snapshot, own: Mapping[str, Any]) -> pa.Table:
    """One row of a snapshot; `own` is what only its format knows."""
    row = {
        "format": snapshot.format,
        "location": snapshot.location,
        "partitionColumns": list(snapshot.partition_columns),
        "numFiles": snapshot.num_files,
        "sizeInBytes": snapshot.size_in_bytes,
        "properties": dict(snapshot.properties),
    }
    return pa.Table.from_pylist([{**row, **own}], SCHEMA)
