"""What Delta's DESCRIBE DETAIL says of a table besides what every format knows."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import CorruptLog
from lakescan.formats.delta.log.names import LOG_FOLDER
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
_CLUSTERING = "delta.clustering"


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
        "clusteringColumns": _clustering_columns(snapshot),
        "minReaderVersion": protocol.reader_version,
        "minWriterVersion": protocol.writer_version,
        "tableFeatures": sorted(features),
    }


def _clustering_columns(snapshot: DeltaSnapshot) -> list[str]:
    """The columns that a table is clustered by, as SQL names them; the log has them by their physical names."""
    text = snapshot.domain(_CLUSTERING)
    if text is None:
        return []
    try:
        paths = [[str(part) for part in path] for path in json.loads(text)["clusteringColumns"]]
        return [_logical_name(path, snapshot) for path in paths]
    except (ValueError, KeyError, TypeError) as error:
        why = f"its domain {_CLUSTERING} is malformed ({error})"
        raise CorruptLog(f"{snapshot.location}/{LOG_FOLDER}", why) from error


def _logical_name(path: list[str], snapshot: DeltaSnapshot) -> str:
    logical, physical = list(snapshot.schema), list(snapshot.physical_schema)
    names = []
    for part in path:
        at = [field.name for field in physical].index(part)
        names.append(logical[at].name)
        inside = pa.types.is_struct(logical[at].type)
        logical, physical = (list(logical[at].type), list(physical[at].type)) if inside else ([], [])
    return ".".join(f"`{name.replace('`', '``')}`" if "." in name or "`" in name else name for name in names)
