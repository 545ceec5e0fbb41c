"""The column statistics index: what the metadata table says of each column of each base and log file.

Files never change under their name, so an entry is right for as long as its file is read, at whatever instant; and one
that is missing, deleted, not understood or not to be trusted is unknown. Not to be trusted are, seen in files that
Hudi wrote (it takes its entries for base files from Parquet's footers, a row group at a time):

- floats: a row group with a NaN has 0.0 as its least and greatest value, whatever the others are;
- text: a row group whose bounds have 4096 bytes together has none, and counts as nothing but nulls. So bounds and
  counts of text are used where no null is counted, or where the column is too small to have such a value;
- text again: Hudi compares UTF-16, where characters beyond U+FFFF come before those from U+E000 on;
- binary: Hudi compares signed bytes;
- timestamps without their unit, which entries have from index version 2 (table version 9) on;
- what comes before the Gregorian calendar (or 1900, for timestamps): a file may hold it in the old one.

A row group of nulls alone has zero for both bounds. That widens them, so they hold, but a zero need not be attained.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.hudi.index.index_keys import column_key, file_key
from lakescan.formats.hudi.index.metadata_table import MetadataPartition

PARTITION = "column_stats"
_STATISTICS = "ColumnStatsMetadata"
# Half of what bounds may have together: no shorter value makes Parquet leave them out.
_LONG_TEXT = 2048
_FIRST_GREGORIAN_DAY = -141427
_FIRST_SAFE_MICRO = -2208988800000000
# Hudi's numbers for the types of values.
_DECIMAL, _DATE, _TIMESTAMPS, _LOCAL_TIMESTAMPS = 10, 12, {15: 1000, 16: 1}, {18: 1000, 19: 1}
_SAME = {"Boolean": 2, "Int": 3, "Long": 4, "String": 7}


@dataclass(frozen=True)
class IndexedFile:
    """A base or log file as the index knows it."""

    name: str
    key: bytes

    @staticmethod
    def at(path: str) -> "IndexedFile":
        return IndexedFile(path.rsplit("/", 1)[-1], file_key(path))


@dataclass(frozen=True)
class FileRanges:
    """What the index says of one column, an entry a file; a null is unknown."""

    known: npt.NDArray[np.bool_]
    """Where every value is within the bounds, or there is none."""
    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array
    value_count: pa.Array
    """Rows, null or not."""


def read_ranges(index: MetadataPartition, column: str, kind: pa.DataType, files: Sequence[IndexedFile]) -> FileRanges:
    """What the index says of a column, dotted where it is nested, in each of these files."""
    newest = _newest(index.records(column_key(column), {file.key for file in files}), column)
    given = [(newest.get(file.key), file.name) for file in files]
    # Two names may have one hash.
    entries = [entry if entry and entry["fileName"] == name else None for entry, name in given]
    trusted = [entry is not None and _is_trusted(entry, kind) for entry in entries]
    empty = [entry is not None and sure and _has_no_value(entry) for entry, sure in zip(entries, trusted, strict=True)]
    lows = _bounds(entries, "minValue", kind, trusted, empty)
    highs = _bounds(entries, "maxValue", kind, trusted, empty)
    bounded = pc.and_(lows.is_valid(), highs.is_valid()).to_numpy(zero_copy_only=False)
    return FileRanges(
        known=bounded | np.array(empty, np.bool_),
        minimum=lows,
        maximum=highs,
        null_count=_counts(entries, "nullCount", trusted),
        value_count=_counts(entries, "valueCount", trusted),
    )


def _newest(records: Iterable[tuple[bytes, Mapping[str, Any]]], column: str) -> dict[bytes, Mapping[str, Any]]:
    """The entries by what their keys end in: the newest, as files do not change."""
    entries: dict[bytes, Mapping[str, Any]] = {}
    for ending, record in records:
        given = record.get(_STATISTICS)
        if given is not None and given[1].get("columnName") == column:
            entries[ending] = given[1]
    return {ending: entry for ending, entry in entries.items() if not entry["isDeleted"]}


def _is_trusted(entry: Mapping[str, Any], kind: pa.DataType) -> bool:
    """Whether the counts of an entry are those of the file."""
    if entry["valueCount"] < 0 or not 0 <= entry["nullCount"] <= entry["valueCount"]:
        return False
    if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
        return True
    return bool(entry["nullCount"] == 0 or entry["totalUncompressedSize"] < _LONG_TEXT)


def _has_no_value(entry: Mapping[str, Any]) -> bool:
    return bool(entry["nullCount"] == entry["valueCount"])


def _counts(entries: Sequence[Mapping[str, Any] | None], name: str, trusted: Sequence[bool]) -> pa.Array:
    return pa.array(
        [entry[name] if entry and sure else None for entry, sure in zip(entries, trusted, strict=True)], pa.int64()
    )


def _bounds(
    entries: Sequence[Mapping[str, Any] | None],
    name: str,
    kind: pa.DataType,
    trusted: Sequence[bool],
    empty: Sequence[bool],
) -> pa.Array:
    """The bounds in the column's type, null where they are unknown or there is no value."""
    values = [
        _value(entry[name], entry.get("valueType"), kind) if entry and sure and not none else None
        for entry, sure, none in zip(entries, trusted, empty, strict=True)
    ]
    if pa.types.is_date(kind):
        days = pa.array(values, pa.int32())
        return _only(days, pc.greater_equal(days, _FIRST_GREGORIAN_DAY)).cast(kind)
    if pa.types.is_timestamp(kind):
        micros = pa.array(values, pa.int64())
        return _only(micros, pc.greater_equal(micros, _FIRST_SAFE_MICRO)).cast(kind)
    bounds = pa.array(values, kind)
    if pa.types.is_string(kind):
        pattern = r"[\x{10000}-\x{10FFFF}]" if name == "minValue" else r"[\x{E000}-\x{FFFF}]"
        return _only(bounds, pc.invert(pc.match_substring_regex(bounds, pattern)))
    return bounds


def _only(values: pa.Array, chosen: pa.Array) -> pa.Array:
    return pc.if_else(chosen, values, pa.scalar(None, values.type))


def _value(wrapped: Any, value_type: Any, kind: pa.DataType) -> Any:
    """A bound as a value of the column's type (days of a date, microseconds of a timestamp), None where it is none.

    A file may have been written when the column had another type: only an int is taken for a long.
    """
    if wrapped is None:
        return None
    wrapper = wrapped[0].rsplit(".", 1)[-1].removesuffix("Wrapper")
    value = wrapped[1]["value"]
    # Entries of index version 1 have no type besides that of their wrapper.
    type_: Any = value_type[1]["typeOrdinal"] if value_type else None
    if pa.types.is_decimal(kind):
        return _decimal(wrapper, value, value_type, kind)
    if pa.types.is_date(kind):
        return value if (wrapper, type_) in (("Date", None), ("Int", _DATE)) else None
    if pa.types.is_timestamp(kind):
        scale = (_LOCAL_TIMESTAMPS if kind.tz is None else _TIMESTAMPS).get(type_)
        return value * scale if scale and wrapper == "Long" else None
    if _SAME.get(wrapper) != (type_ or _SAME.get(wrapper)):
        return None
    return value if wrapper in _wrappers(kind) else None


def _wrappers(kind: pa.DataType) -> tuple[str, ...]:
    if pa.types.is_boolean(kind):
        return ("Boolean",)
    if pa.types.is_int32(kind):
        return ("Int",)
    if pa.types.is_int64(kind):
        return ("Int", "Long")
    return ("String",) if pa.types.is_string(kind) else ()


def _decimal(wrapper: str, value: bytes, value_type: Any, kind: pa.DataType) -> Decimal | None:
    if wrapper == "Decimal" and value_type is None:
        # Version 1 writes every decimal with 15 digits behind the point, and none that has more.
        scale = 15
    elif wrapper == "Bytes" and value_type and value_type[1]["typeOrdinal"] == _DECIMAL:
        scale = int(value_type[1]["additionalInfo"].split(",")[1])
    else:
        return None
    number, digits = int.from_bytes(value, "big", signed=True), kind.scale - scale
    number, rest = (number * 10**digits, 0) if digits >= 0 else divmod(number, 10**-digits)
    if rest or abs(number) >= 10**kind.precision:
        return None
    return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -kind.scale))
