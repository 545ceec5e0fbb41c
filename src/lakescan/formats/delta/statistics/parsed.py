"""Delta's file statistics as typed Arrow structs whose bounds are always safe to skip by.

Statistics come as JSON text or, in checkpoints, parsed. Either way a value that cannot be read is unknown
(null), never an error and never a guess. Writers cut strings to a prefix and timestamps to the millisecond, and
round decimals to doubles; all are widened here, as are the bounds of a double that was a float, so that a minimum
is never above, and a maximum never below, a value of the file. Binary has no agreed form in JSON, so its bounds are
unknown.
"""

import json
from collections.abc import Collection, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.log.json_lines import read_json_lines
from lakescan.formats.delta.statistics.believable import believable
from lakescan.formats.delta.statistics.exact import exact_maximum, exact_minimum
from lakescan.formats.delta.statistics.one_shape import integers
from lakescan.scan.file_statistics import counts_of, nullable, statistics_type
from lakescan.types.columns import member

# What the log calls the members of `statistics_type`.
IN_THE_LOG = {
    "row_count": "numRecords",
    "tight": "tightBounds",
    "minimum": "minValues",
    "maximum": "maxValues",
    "null_count": "nullCount",
}
_CHUNK = 1024
_ROWS_FIRST = r'^\s*\{\s*"numRecords"\s*:\s*(?P<rows>\d{1,18})\s*[,}]'
_PREFIX = 32
_LAST_CHARACTER = "\U0010ffff"
_MILLISECOND = timedelta(milliseconds=1)
# Digits that a double always keeps, and how much more than its rounding error a bound is moved.
_EXACT_DIGITS = 15
_ROUNDING = 2.0**-46


def parse_statistics(texts: pa.ChunkedArray | pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
    """JSON statistics of many files, as `statistics_type(wanted.logical)`."""
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return _parsed(texts, wanted) if len(wanted.logical) else _counted(texts, wanted)


def _counted(texts: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
    """Numbers of rows alone: writers put them first, and there they are found without reading on."""
    rows = pc.struct_field(pc.extract_regex(texts, _ROWS_FIRST), "rows")
    told = pc.or_(rows.is_valid(), texts.is_null())
    type_ = statistics_type(wanted.logical)
    columns = [rows.cast(pa.int64()), *(pa.nulls(len(texts), field.type) for field in list(type_)[1:])]
    counted = pa.StructArray.from_arrays(columns, fields=list(type_))
    if pc.all(told).as_py():
        return counted
    untold = pc.invert(told)
    both = pa.concat_arrays([counted.filter(told), _parsed(texts.filter(untold), wanted)])
    places = np.concatenate([np.flatnonzero(told.to_numpy(False)), np.flatnonzero(untold.to_numpy(False))])
    return both.take(pa.array(np.argsort(places)))


def parse_for(texts: pa.Array, requests: Sequence[StatisticsRequest]) -> list[pa.StructArray]:
    """The same for several requests of the same columns: the texts are parsed once."""
    first = requests[0]
    if not len(first.logical):
        return [_counted(texts, first)]
    parsed = _members(texts, first)
    return [typed_statistics(parsed, wanted) for wanted in requests]


def _parsed(texts: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
    return typed_statistics(_members(texts, wanted), wanted)


def _members(texts: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
    """What the texts say, in the log's and physical names and as JSON has it."""
    asked = statistics_type(wanted.physical)
    readable = pa.struct([(said, _json_type(asked.field(name).type)) for name, said in IN_THE_LOG.items()])
    # Of few texts the parser is done before it is known how they are spelled.
    cut_out = integers(texts, readable) if len(texts) > _CHUNK else None
    if cut_out is not None:
        return cut_out
    try:
        parsed = _read_json(texts, readable)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # One odd value (a quoted NaN, a number too wide) must not cost the other files their statistics.
        parts = [texts.slice(at, _CHUNK) for at in range(0, len(texts), _CHUNK)]
        parsed = pa.concat_arrays([_read_patiently(part, readable) for part in parts])
    return parsed


def record_counts(texts: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The number of rows that each file's JSON statistics give, null where they give none."""
    return member(parse_statistics(texts, StatisticsRequest(pa.schema([]), pa.schema([]))), "row_count")


def typed_statistics(statistics: pa.StructArray, wanted: StatisticsRequest) -> pa.StructArray:
    """Statistics in the log's and physical names and whatever types they came in, as bounds in the table's types."""
    target = statistics_type(wanted.logical)
    minimum = _as_bounds(member(statistics, IN_THE_LOG["minimum"]), wanted, exact_minimum if wanted.exact else _lower)
    maximum = _as_bounds(member(statistics, IN_THE_LOG["maximum"]), wanted, exact_maximum if wanted.exact else _upper)
    nulls = _as_bounds(member(statistics, IN_THE_LOG["null_count"]), _counts(wanted), _unchanged)
    count = member(statistics, IN_THE_LOG["row_count"])
    tight = member(statistics, IN_THE_LOG["tight"])
    columns = [
        _cast(count, pa.int64()) if count is not None else pa.nulls(len(statistics), pa.int64()),
        _cast(tight, pa.bool_()) if tight is not None else pa.nulls(len(statistics), pa.bool_()),
        minimum if minimum is not None else pa.nulls(len(statistics), target.field("minimum").type),
        maximum if maximum is not None else pa.nulls(len(statistics), target.field("maximum").type),
        nulls if nulls is not None else pa.nulls(len(statistics), target.field("null_count").type),
        pa.nulls(len(statistics), pa.bool_()),
    ]
    return believable(pa.StructArray.from_arrays(columns, fields=list(target)))


def _counts(wanted: StatisticsRequest) -> StatisticsRequest:
    return StatisticsRequest(pa.schema(list(counts_of(wanted.logical))), pa.schema(list(counts_of(wanted.physical))))


def _as_bounds(bounds: pa.Array | None, wanted: StatisticsRequest, widen: Any) -> pa.Array | None:
    if bounds is None:
        return None
    logical = nullable(pa.struct(list(wanted.logical)))
    return _convert(bounds, logical, pa.struct(list(wanted.physical)), widen, wanted.once_float)


def _convert(
    bounds: pa.Array, logical: pa.DataType, physical: pa.DataType, widen: Any, once_float: Collection[tuple[str, ...]]
) -> pa.Array:
    """`bounds` in the logical type; children that are absent or of another shape become unknown."""
    if not pa.types.is_struct(logical):
        if pa.types.is_binary(logical):
            return pa.nulls(len(bounds), logical)
        return widen(_cast(bounds, logical), () in once_float)
    if not pa.types.is_struct(bounds.type):
        return pa.nulls(len(bounds), logical)
    children = []
    for field, physical_field in zip(logical, physical, strict=True):
        child = member(bounds, physical_field.name)
        below = {path[1:] for path in once_float if path[:1] == (field.name,)}
        children.append(
            pa.nulls(len(bounds), field.type)
            if child is None
            else _convert(child, field.type, physical_field.type, widen, below)
        )
    if not children:
        return pa.nulls(len(bounds), logical)
    return pa.StructArray.from_arrays(children, fields=list(logical))


def _cast(values: pa.Array, target: pa.DataType) -> pa.Array:
    if values.type.equals(target):
        return values
    try:
        return values.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(values), target)


def _unchanged(values: pa.Array, once_float: bool) -> pa.Array:
    return values


def _next_float(values: pa.Array, towards: float) -> pa.Array:
    """The next float beyond the float that a bound is the text of."""
    floats = pc.cast(values, pa.float32(), safe=False).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):  # beyond the largest float is infinity, which is a bound like any other
        beyond = np.nextafter(floats, np.float32(towards)).astype(np.float64)
    return pc.if_else(values.is_valid(), pa.array(beyond), pa.scalar(None, pa.float64()))


def _lower(values: pa.Array, once_float: bool) -> pa.Array:
    if once_float and pa.types.is_float64(values.type):
        return pc.min_element_wise(values, _next_float(values, -np.inf), skip_nulls=False)
    if pa.types.is_decimal(values.type):
        return _moved(values, -_ROUNDING)
    if not pa.types.is_timestamp(values.type):
        return values
    moved = pc.subtract(values, pa.scalar(_MILLISECOND, pa.duration("us")))
    # Beyond the last moment there is, Arrow counts on from the other end; such a bound is unknown.
    return pc.if_else(pc.less(moved, values), moved, pa.scalar(None, values.type))


def _upper(values: pa.Array, once_float: bool) -> pa.Array:
    if once_float and pa.types.is_float64(values.type):
        return pc.max_element_wise(values, _next_float(values, np.inf), skip_nulls=False)
    if pa.types.is_timestamp(values.type):
        moved = pc.add(values, pa.scalar(_MILLISECOND, pa.duration("us")))
        return pc.if_else(pc.greater(moved, values), moved, pa.scalar(None, values.type))
    if pa.types.is_decimal(values.type):
        return _moved(values, _ROUNDING)
    if not pa.types.is_string(values.type):
        return values
    # A cut maximum ends in a character that writers believed to be the last one; some characters come after it. A
    # question mark before it may be half of a character that the cut went through.
    cut = pc.or_(pc.greater_equal(pc.utf8_length(values), _PREFIX), pc.ends_with(values, "\ufffd"))
    prefix = pc.utf8_slice_codeunits(pc.utf8_rtrim(values, "?\ufffd"), 0, _PREFIX)
    return pc.if_else(cut, pc.binary_join_element_wise(prefix, _LAST_CHARACTER, ""), values)


def _moved(values: pa.Array, by: float) -> pa.Array:
    """Decimals that may have been rounded to doubles, moved by more than that; unknown where they would not fit."""
    type_ = values.type
    if type_.precision <= _EXACT_DIGITS:
        return values
    near = values.cast(pa.float64())
    moved = pc.add(near, pc.multiply(pc.abs(near), by))
    fits = pc.less(pc.abs(moved), 10.0 ** (type_.precision - type_.scale) * (1 - _ROUNDING))
    return pc.if_else(fits, moved, None).cast(type_)


def _json_type(wanted: pa.DataType) -> pa.DataType:
    """What Arrow's JSON reader can be asked for: it reads every type of ours but dates."""
    if pa.types.is_struct(wanted):
        return pa.struct([field.with_type(_json_type(field.type)) for field in wanted])
    return pa.string() if pa.types.is_date(wanted) else wanted


def _read_json(texts: pa.Array, readable: pa.StructType) -> pa.StructArray:
    if len(texts) == 0:
        return pa.array([], type=readable)
    lines = pc.fill_null(texts, "{}").cast(pa.large_string())
    lengths = pc.min_max(pc.binary_length(lines)).as_py()
    joined, longest = _joined(lines), lengths["max"]
    if lengths["min"] < 2 or joined.count(b"\n") != len(lines) - 1 or b"\r" in joined:
        lines = pc.replace_substring_regex(lines, r"[\r\n]", " ")
        joined = _joined(pc.if_else(pc.equal(pc.utf8_trim_whitespace(lines), ""), "{}", lines))
    table = read_json_lines(joined, pa.schema(list(readable)), max(1 << 22, longest + 2), threads=True)
    if table.num_rows != len(texts):
        raise pa.ArrowInvalid("several JSON documents in one statistics text")
    return table.to_struct_array().combine_chunks()


def _joined(lines: pa.Array) -> bytes:
    """The texts with a line break between them."""
    offsets = pa.array([0, len(lines)], pa.int64())
    # The separator must be of the lines' own type: there is no kernel for another.
    separator = pa.scalar("\n", lines.type)
    return bytes(pc.binary_join(pa.LargeListArray.from_arrays(offsets, lines), separator)[0].as_buffer().to_pybytes())


def _read_patiently(texts: pa.Array, readable: pa.StructType) -> pa.StructArray:
    try:
        return _read_json(texts, readable)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([_value(_document(text), readable) for text in texts.to_pylist()], type=readable)


def _document(text: str | None) -> Any:
    try:
        return json.loads(text or "{}", parse_float=Decimal)
    except (ValueError, RecursionError):
        return None


def _value(raw: Any, wanted: pa.DataType) -> Any:
    """One JSON value as the wanted type, or None where it is not one."""
    if raw is None:
        return None
    if pa.types.is_struct(wanted):
        return {f.name: _value(raw.get(f.name), f.type) for f in wanted} if isinstance(raw, dict) else None
    try:
        if pa.types.is_floating(wanted):
            return float(raw)
        if pa.types.is_decimal(wanted):
            raw = Decimal(raw)
        if pa.types.is_timestamp(wanted):
            return pa.array([raw], pa.string()).cast(wanted)[0].as_py()
        return pa.scalar(raw, wanted).as_py()
    except (ArithmeticError, TypeError, ValueError, pa.ArrowException):
        return None
