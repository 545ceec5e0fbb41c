"""Dates and timestamps of files in the hybrid calendar, moved to the one that everything else counts in.

Spark before 3.0, and later Sparks told to write as it did, counted days before 15 October 1582 in the Julian calendar,
and moments before 1900 with their zone's offset of today. Such files say so in their footer, for INT96 apart. What
leaves here is the date, or the local time, that the writer meant, in the proleptic Gregorian calendar, to the
microsecond as Spark reads it. Times without a zone are younger than that habit and were always written as they are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.reader.zones_before_1900 import old_zone
from lakescan.types.time_zones import arrow_zone, instants

_VERSION = b"org.apache.spark.version"
_LEGACY = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96 = b"org.apache.spark.legacyINT96"
_ZONE = b"org.apache.spark.timeZone"
_FIRST_GREGORIAN_DAY = -141_427
_DAY = 86_400_000_000
_SECOND = 1_000_000
_1900 = -2_208_988_800_000_000
_WINTER_AND_SUMMER = [1_577_836_800_000_000, 1_593_561_600_000_000]


@dataclass(frozen=True)
class HybridCalendar:
    """Which columns of a file are in the hybrid calendar, and the zone of its local times."""

    dates: bool
    """Dates, and moments that are not in INT96."""
    int96: bool
    zone: str


def hybrid_calendar(footer: Mapping[bytes, bytes] | None, has_int96: bool) -> HybridCalendar | None:
    """What a file's footer says; None where it is in the proleptic calendar, as all but old files are."""
    notes = footer or {}
    version = notes.get(_VERSION)
    if version is None:
        # Not by Spark, whose notes on calendars go with its version.
        return None
    dates = _LEGACY in notes or version < b"3.0.0"
    int96 = has_int96 and (_LEGACY_INT96 in notes or version < b"3.1.0")
    if not (dates or int96):
        return None
    return HybridCalendar(dates, int96, notes.get(_ZONE, b"UTC").decode())


def leaf_count(type_: pa.DataType) -> int:
    """Leaves of the Parquet file below a column of this type."""
    type_ = type_.storage_type if isinstance(type_, pa.BaseExtensionType) else type_
    if not pa.types.is_nested(type_):
        return 1
    return sum(leaf_count(type_.field(at).type) for at in range(type_.num_fields))


def rebased(array: pa.Array, calendar: HybridCalendar, int96: Sequence[bool] = ()) -> pa.Array:
    """The same values in the proleptic calendar; `int96` says of each leaf below whether it is stored so."""
    return _rebased(array, calendar, iter(int96))


def _rebased(array: pa.Array, calendar: HybridCalendar, int96: Iterator[bool]) -> pa.Array:
    type_ = array.type
    if not pa.types.is_nested(type_):
        stored_so = [next(int96, False) for _ in range(leaf_count(type_))]
        return _moved(array, calendar, any(stored_so))
    if pa.types.is_struct(type_) and type_.num_fields:
        children = [_rebased(child, calendar, int96) for child in array.flatten()]
        mask = array.is_null() if array.null_count else None
        fields = [field.with_type(child.type) for field, child in zip(type_, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=mask)
    if pa.types.is_map(type_):
        array = pa.concat_arrays([array])
        keys, items = _rebased(array.keys, calendar, int96), _rebased(array.items, calendar, int96)
        mask = array.is_null() if array.null_count else None
        return pa.MapArray.from_arrays(array.offsets, keys, items, mask=mask)
    if pa.types.is_list(type_):
        array = pa.concat_arrays([array])
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(array.offsets, _rebased(array.values, calendar, int96), mask=mask)
    return array


def _moved(array: pa.Array, calendar: HybridCalendar, is_int96: bool) -> pa.Array:
    """A leaf's values; an array that needs no change is given back as it is."""
    type_ = array.type
    if pa.types.is_date(type_) and calendar.dates:
        return _changed(array, lambda days: _gregorian(days), _FIRST_GREGORIAN_DAY, np.int32)
    if pa.types.is_timestamp(type_) and (calendar.int96 if is_int96 else calendar.dates and type_.tz is not None):
        micros = array.cast(pa.timestamp("us", type_.tz)) if type_.unit != "us" else array
        return _changed(micros, lambda values: _moments(values, calendar.zone), _1900, np.int64)
    return array


Numbers = npt.NDArray[np.int64]


def _changed(array: pa.Array, change: Callable[[Numbers], Numbers], before: int, width: type) -> pa.Array:
    numbers = array.cast(pa.int32() if width is np.int32 else pa.int64())
    smallest = pc.min(numbers).as_py()
    if smallest is None or smallest >= before:
        return array
    values = pc.fill_null(numbers, 0).to_numpy(zero_copy_only=False).astype(np.int64)
    old = values < before
    values[old] = change(values[old])
    mask = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    return pa.array(values.astype(width), mask=mask).cast(array.type)


def _gregorian(days: Numbers) -> Numbers:
    """Days since 1970 whose dates were counted in the Julian calendar: the days with the same dates in ours."""
    # Counting the Julian calendar's days from 1 March of year 0 puts the leap day last, so months need no table.
    since = days + 719_470
    cycle = np.floor_divide(since, 1461)
    day_of_cycle = since - cycle * 1461
    year_of_cycle = np.minimum(day_of_cycle // 365, 3)
    year = cycle * 4 + year_of_cycle
    day_of_year = day_of_cycle - year_of_cycle * 365
    # The same year, month and day counted in the proleptic Gregorian calendar, from the same 1 March. 29 February of
    # a century that has none here becomes 1 March, as in Spark.
    leap_days = np.floor_divide(year, 4) - np.floor_divide(year, 100) + np.floor_divide(year, 400)
    gregorian: Numbers = year * 365 + leap_days + day_of_year - 719_468
    return gregorian


def _moments(micros: Numbers, zone: str) -> Numbers:
    """Moments of local times that were written by the hybrid calendar and the zone's standard offset of today."""
    known = old_zone(zone)
    offset = _standard_offset(zone) if known is None else known.offset * _SECOND
    local = micros + offset
    days = np.floor_divide(local, _DAY)
    time_of_day = local - days * _DAY
    julian = days < _FIRST_GREGORIAN_DAY
    days[julian] = _gregorian(days[julian])
    meant: Numbers = days * _DAY + time_of_day
    if known is None:
        moved: Numbers = instants(pa.array(meant).cast(pa.timestamp("us")), zone).cast(pa.int64()).to_numpy()
        return moved
    spans = np.searchsorted(np.array(known.until, np.int64) * _SECOND, micros, side="right")
    return meant - offset + np.array(known.later, np.int64)[spans] * _SECOND


def _standard_offset(zone: str) -> int:
    """A zone's offset without daylight saving, by this machine's time zones."""
    moments = pa.array(_WINTER_AND_SUMMER).cast(pa.timestamp("us", arrow_zone(zone)))
    local = pc.local_timestamp(moments).cast(pa.int64()).to_pylist()
    return int(min(there - moment for there, moment in zip(local, _WINTER_AND_SUMMER, strict=True)))
