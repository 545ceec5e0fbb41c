"""Statistics that contradict themselves are unknown: neither skipping nor an answer may rest on them.

A file cannot have fewer than no rows, more nulls than rows, a least value above its greatest, or a value where every
row is null. Whatever of that is said of a column of a file, its bounds and its number of nulls are taken as not said.
"""

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.types.columns import member

_KINDS = ("minimum", "maximum", "null_count")
_Column = tuple[pa.Array, pa.Array, pa.Array]


def believable(statistics: pa.StructArray) -> pa.StructArray:
    """Statistics (`statistics_type`) without what cannot be true."""
    count = member(statistics, "row_count")
    if pc.any(pc.less(count, 0)).as_py():
        count = pc.if_else(pc.less(count, 0), pa.scalar(None, count.type), count)
    low, high, nulls = (member(statistics, kind) for kind in _KINDS)
    named = {"row_count": count} | dict(zip(_KINDS, _column((low, high, nulls), count), strict=True))
    columns = [named.get(field.name, member(statistics, field.name)) for field in statistics.type]
    return pa.StructArray.from_arrays(columns, fields=list(statistics.type))


def _column(column: _Column, count: pa.Array) -> _Column:
    """A column's (or a struct's) bounds and nulls: themselves where they are possible."""
    low, high, nulls = column
    if pa.types.is_struct(nulls.type):
        return _struct(column, count)
    if pa.types.is_nested(low.type):
        return column
    valued = pc.or_(low.is_valid(), high.is_valid())
    wrong = pc.or_(
        pc.fill_null(pc.or_kleene(pc.less(nulls, 0), pc.greater(nulls, count)), False),
        pc.and_(pc.fill_null(pc.equal(nulls, count), False), valued),
    )
    if not pa.types.is_null(low.type):
        wrong = pc.or_(wrong, pc.fill_null(pc.greater(low, high), False))
    if not pc.any(wrong).as_py():
        return column
    return (
        pc.if_else(wrong, pa.scalar(None, low.type), low),
        pc.if_else(wrong, pa.scalar(None, high.type), high),
        pc.if_else(wrong, pa.scalar(None, nulls.type), nulls),
    )


def _struct(column: _Column, count: pa.Array) -> _Column:
    low, high, nulls = column
    before = list(zip(low.flatten(), high.flatten(), nulls.flatten(), strict=True))
    after = [_column(column, count) for column in before]
    if all(new is old for new, old in zip(after, before, strict=True)):
        return column
    lows, highs, counts = zip(*after, strict=True)
    return (
        pa.StructArray.from_arrays(lows, fields=list(low.type)),
        pa.StructArray.from_arrays(highs, fields=list(high.type)),
        pa.StructArray.from_arrays(counts, fields=list(nulls.type)),
    )
