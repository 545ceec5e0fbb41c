"""What Delta's DESCRIBE DETAIL says of a table besides what every format knows."""

from typing import Any

import pyarrow.compute as pc

from lakescan.formats.delta.snapshot import DeltaSnapshot
from lakescan.formats.delta.table import DeltaTable

# What a protocol without a list of features stands for, by the version in which each came.
_BY_WRITER_VERSION = {
    2: ("appendOnly", "invariants"),
    3: ("checkConstraints",),
    4: ("changeDataFeed", "generatedColumns"),
    5: ("columnMapping",),
    6: ("identityColumns",),
}
_LISTED = 7
_CLUSTERED = "clustering"


def delta_detail(table: DeltaTable, snapshot: DeltaSnapshot) -> dict[str, Any]:
    metadata, protocol = snapshot.metadata, snapshot.protocol
    features = protocol.reader_features | protocol.writer_features
    if protocol.writer_version < _LISTED:
        implied = [names for version, names in _BY_WRITER_VERSION.items() if version <= protocol.writer_version]
        features = features.union(*implied)
    return {
        "id": metadata.table_id,
        "name": metadata.name,
        "description": metadata.description,
        "createdAt": None if metadata.created_ms is None else metadata.created_ms * 1000,
        "lastModified": pc.max(table.history(1)["timestamp"]).as_py(),
        # By which columns a table is clustered is in its domain metadata, which is not read: null, and not none.
        "clusteringColumns": None if _CLUSTERED in features else [],
        "minReaderVersion": protocol.reader_version,
        "minWriterVersion": protocol.writer_version,
        "tableFeatures": sorted(features),
    }
