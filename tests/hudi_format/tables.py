"""The golden Hudi tables by name, and rows in a form that can be compared."""

import math
from typing import Any

import pyarrow as pa

TRIPS_UPDATED = "quickstart_trips_table__mor__avro__v6_trips_8i1u"
TRIPS_DELETED = "quickstart_trips_table__mor__avro__v6_trips_8i3d"
TRIPS_INDEXED = "quickstart_trips_table__mor__avro__v8_trips_8i3u1d"
COW = "sample_table__cow__v6_nonpartitioned"
COW_PARTITIONED = "sample_table__cow__v8_complexkeygen_hivestyle"
MOR_PARTITIONED = "sample_table__mor__parquet__v6_simplekeygen_nonhivestyle"
MOR_TXNS = "sample_table__mor__avro__v9_txns_nonpart_meta"

# Each with the number of rows that its name promises, or that the statements which made it leave.
ROWS = {
    TRIPS_UPDATED: 8,
    TRIPS_DELETED: 5,
    TRIPS_INDEXED: 6,
    "sample_table__cow__v6_complexkeygen_hivestyle": 4,
    "sample_table__cow__v6_empty": 0,
    COW: 4,
    "sample_table__cow__v6_simplekeygen_hivestyle_no_metafields": 4,
    "sample_table__cow__v6_simplekeygen_nonhivestyle": 4,
    "sample_table__cow__v6_simplekeygen_nonhivestyle_overwritetable": 1,
    "sample_table__cow__v6_timebasedkeygen_nonhivestyle": 4,
    COW_PARTITIONED: 4,
    "sample_table__cow__v8_empty": 0,
    "sample_table__cow__v8_nonpartitioned": 4,
    "sample_table__cow__v8_simplekeygen_hivestyle_no_metafields": 4,
    "sample_table__cow__v8_simplekeygen_nonhivestyle": 4,
    "sample_table__cow__v9_timebasedkeygen_epochmillis": 6,
    "sample_table__cow__v9_timebasedkeygen_nonhivestyle": 5,
    "sample_table__cow__v9_timebasedkeygen_unixtimestamp": 6,
    "sample_table__cow__v9_txns_nonpart_meta": 14,
    "sample_table__cow__v9_txns_nonpart_nometa": 14,
    "sample_table__mor__avro__v9_nonpartitioned_rollback": 4,
    MOR_TXNS: 14,
    "sample_table__mor__avro__v9_txns_nonpart_nometa": 14,
    "sample_table__mor__parquet__v6_complexkeygen_hivestyle": 4,
    "sample_table__mor__parquet__v6_empty": 0,
    "sample_table__mor__parquet__v6_nonpartitioned": 4,
    "sample_table__mor__parquet__v6_nonpartitioned_rollback": 3,
    "sample_table__mor__parquet__v6_simplekeygen_hivestyle_no_metafields": 4,
    MOR_PARTITIONED: 4,
    "sample_table__mor__parquet__v6_simplekeygen_nonhivestyle_overwritetable": 1,
}
NAMES = tuple(ROWS)


def comparable(value: Any) -> Any:
    """A value as text: NaN equals itself, and 1 is not True."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return {key: comparable(found) for key, found in value.items()}
    if isinstance(value, (list, tuple)):
        return [comparable(found) for found in value]
    return f"{type(value).__name__} {value!r}"


def rows_of(table: pa.Table) -> list[str]:
    """The rows in an order of their own, whatever order they came in."""
    return sorted(str(sorted(comparable(row).items())) for row in table.to_pylist())
