"""Partition values: text in the log, typed columns from here on.

Every text either becomes exactly the value that Delta Spark reads from it or is an error that names it; an
absent value and the empty text are null. A timestamp without a zone is in the reader's zone, as in Delta Spark.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.columns import empty_structs, member
from lakescan.errors import CorruptLog
from lakescan.schema import padded
from lakescan.time_zones import instants


def typed_partition(texts: pa.StructArray, fields: list[pa.Field], zone: str, log: str) -> pa.StructArray:
    """The struct of texts (physical names) as a struct of typed values, named as `fields`, in the same order."""
    if not fields:
        return empty_structs(len(texts))
    columns = []
    for source, field in zip(texts.type, fields, strict=True):
        found = member(texts, source.name)
        try:
            columns.append(padded(_typed(found, field.type, zone), field))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise CorruptLog(
                log, f"a value of the partition column {field.name} is no {field.type} ({error})"
            ) from error
    return pa.StructArray.from_arrays(columns, fields=[field.with_nullable(True) for field in fields])


def _typed(texts: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if pa.types.is_timestamp(target):
        return _timestamps(texts, target, zone)
    if pa.types.is_null(target):
        return pa.nulls(len(texts))
    return texts.cast(target)


def _timestamps(texts: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    zoned = pc.match_substring_regex(texts, r"(Z|[+-]\d\d:?\d\d)$")
    local = pc.if_else(zoned, None, texts).cast(pa.timestamp("us"))
    if target.tz is None:
        return local
    absolute = pc.if_else(zoned, texts, None).cast(target)
    return pc.coalesce(absolute, instants(local, zone))
