"""Partition values: text in the log, typed columns from here on.

Every text either becomes exactly the value that Delta Spark reads from it or is an error that names it; an
absent value and the empty text are null. A timestamp without a zone is in the reader's zone, as in Delta Spark.
Texts in the spelling that Delta prescribes are cast as columns; only the others are looked at one by one.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import CorruptLog, InvalidTimeZone
from lakescan.formats.delta.partition_texts import value_of
from lakescan.types.columns import empty_structs, member
from lakescan.types.schema import padded
from lakescan.types.time_zones import instants

_WHOLE = r"^-?[0-9]{1,19}$"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIMESTAMP = rf"^{_DATE}[ T][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}([.][0-9]{{1,6}})?Z?$"
_TWO_DAYS = 2 * 86_400_000_000
_LOCAL = pa.timestamp("us")


class _NoValue(Exception):
    """A text that Spark would make nothing of."""


def typed_partition(texts: pa.StructArray, fields: list[pa.Field], zone: str, log: str) -> pa.StructArray:
    """The struct of texts (physical names) as a struct of typed values, named as `fields`, in the same order."""
    if not fields:
        return empty_structs(len(texts))
    columns = []
    for source, field in zip(texts.type, fields, strict=True):
        column = member(texts, source.name)
        try:
            columns.append(padded(_typed_once(column, field.type, zone), field))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, _NoValue) as error:
            raise CorruptLog(
                log, f"a value of the partition column {field.name} is no {field.type} ({error})"
            ) from error
    return pa.StructArray.from_arrays(columns, fields=[field.with_nullable(True) for field in fields])


def _typed_once(texts: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    """Each text typed once, however many files have it."""
    encoded = texts.dictionary_encode()
    if 2 * len(encoded.dictionary) > len(texts):
        return _typed(texts, target, zone)
    return _typed(encoded.dictionary, target, zone).take(encoded.indices)


def _typed(texts: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    if pa.types.is_null(target):
        return pa.nulls(len(texts))
    usual = _usual(target)
    if usual is None:
        return texts.cast(target)
    plain = pc.match_substring_regex(texts, usual)
    if not pc.any(pc.invert(plain)).as_py():
        try:
            return _cast(texts, target, zone)
        except pa.ArrowInvalid:
            # A number too large, a day that no month has: which one it is must be said.
            return _one_by_one(texts, target, zone)
    return _one_by_one(texts, target, zone)


def _usual(target: pa.DataType) -> str | None:
    """The spelling that Arrow and Spark read alike; None for a type of which every text is a value."""
    if pa.types.is_boolean(target):
        return "^(true|false)$"
    if pa.types.is_integer(target):
        return _WHOLE
    if pa.types.is_floating(target):
        return r"^-?[0-9]{1,17}([.][0-9]{1,17})?(E-?[0-9]{1,2})?$"
    if pa.types.is_decimal(target):
        # More digits behind the point than the type has are rounded, which Arrow would refuse.
        return rf"^-?[0-9]{{1,38}}([.][0-9]{{1,{target.scale}}})?$" if target.scale else r"^-?[0-9]{1,38}$"
    if pa.types.is_date(target):
        return f"^{_DATE}$"
    return _TIMESTAMP if pa.types.is_timestamp(target) else None


def _cast(texts: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    if not pa.types.is_timestamp(target):
        return texts.cast(target)
    zoned = pc.ends_with(texts, "Z")
    local = pc.replace_substring_regex(texts, "Z$", "").cast(_LOCAL)
    if target.tz is None:
        return local
    # The reader's zone is asked only of those that need it: it may not be known.
    unzoned = pc.if_else(zoned, pa.scalar(None, _LOCAL), local)
    return pc.if_else(zoned, local.cast(target), instants(unzoned, zone))


def _one_by_one(texts: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    values = [value_of(text, target) for text in distinct]
    missing = next((text for text, value in zip(distinct, values, strict=True) if value is None), None)
    if missing is not None:
        raise _NoValue(repr(missing))
    if pa.types.is_timestamp(target):
        return _moments(distinct, values, target, zone).take(encoded.indices)
    if pa.types.is_date(target):
        return pa.array(values, pa.int32()).cast(target).take(encoded.indices)
    return pa.array(values, target).take(encoded.indices)


def _moments(texts: list[str], times: list[Any], target: pa.DataType, zone: str) -> pa.Array:
    """Local times as moments, each by the zone that its text names or by the reader's."""
    moments: list[int] = [0] * len(times)
    for name in {time.zone for time in times}:
        places = [at for at, time in enumerate(times) if time.zone == name]
        local = pa.array([times[at].microseconds for at in places], pa.int64()).cast(_LOCAL)
        try:
            there = instants(local, zone if name is None else name).cast(pa.int64()).to_pylist()
        except InvalidTimeZone:
            if name is None:
                raise
            raise _NoValue(repr(texts[places[0]])) from None
        for at, moment in zip(places, there, strict=True):
            # Arrow counts on from the other end where a moment is beyond the last one there is.
            if abs(moment - times[at].microseconds) > _TWO_DAYS:
                raise _NoValue(repr(texts[at]))
            moments[at] = moment if target.tz else times[at].microseconds
    return pa.array(moments, pa.int64()).cast(target)
