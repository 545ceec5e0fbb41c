"""Partial aggregates by Arrow, bit for bit what Spark's own partial aggregation of the same rows gives.

Every row is first a partial row of its own; merging then makes one of each group, in the order in which groups
first appear. Where merging could differ from Spark it is not done and the partial rows leave as they are, for
Spark to add up: that is so where a sum of longs or of decimals might be too large, and where groups are so many that
merging gains nothing. Floats are added one after the other, as Spark adds them, never pairwise.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Call
from lakescan.reader.aggregation import COUNTS, SUM_DIGITS, Aggregate, Aggregation
from lakescan.reader.decimal_arithmetic import Longs, column_of, computed, decimals, unscaled
from lakescan.reader.groups import (
    Codes,
    by_arrow,
    extremes,
    first_rows,
    flat,
    float_sums,
    group_codes,
    is_plain,
    numbered,
)
from lakescan.types.columns import empty_structs

# So many groups of a task are kept. So many rows are gathered before they are merged, or as many as there are groups.
MOST_GROUPS = 1 << 16
_GATHERED = 1 << 18
_SAFE_SUM = float(1 << 62)

Sizes: TypeAlias = npt.NDArray[Any]


def can_aggregate(asked: Aggregate, type_: pa.DataType) -> bool:
    """Whether the function over a column of this type can be computed here exactly as Spark does."""
    if asked.function == "count":
        return not pa.types.is_null(type_)
    if asked.function == "count_distinct":
        return False
    if asked.function == "sum":
        return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_))
    return not (pa.types.is_nested(type_) or pa.types.is_null(type_) or pa.types.is_binary(type_))


def can_group(type_: pa.DataType) -> bool:
    """Whether rows can be grouped by a column of this type: equality must be equality of bits."""
    return not (pa.types.is_nested(type_) or pa.types.is_null(type_) or pa.types.is_floating(type_))


def partial_rows(batches: Iterable[pa.RecordBatch], how: Aggregation, output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches' partial rows, as `how.output(...)` names them: as few as stays exact, in bounded memory."""
    inside, rows = _with_dictionaries(how, output), iter(batches)
    for merged in _merged_rows((_each_row(batch, how, inside) for batch in rows), how, inside):
        yield from merged.cast(output).to_batches()
    # What is left leaves as it comes: whoever adds floats up does it in the order of the data, and elsewhere merging
    # gains little.
    for batch in rows:
        yield from _each_row(batch, how, output).to_batches()


def _with_dictionaries(how: Aggregation, output: pa.Schema) -> pa.Schema:
    """The same columns, keys that are text as dictionaries: many files have them so, and groups go by numbers."""
    keys = [
        field.with_type(pa.dictionary(pa.int32(), field.type)) if pa.types.is_string(field.type) else field
        for field in list(output)[: len(how.keys)]
    ]
    return pa.schema([*keys, *list(output)[len(how.keys) :]])


def _merged_rows(given: Iterator[pa.Table], how: Aggregation, output: pa.Schema) -> Iterator[pa.Table]:
    """The rows merged, as many of them as it is exact and worth while for."""
    kept, in_order = output.empty_table(), _adds_floats(how, output)
    while gathered := _gathered(given, kept.num_rows):
        partials = _Partials(pa.concat_tables([kept, *gathered]).combine_chunks(), how)
        if not partials.can_be_merged:
            yield kept
            kept, partials = output.empty_table(), _Partials(pa.concat_tables(gathered).combine_chunks(), how)
            if in_order or not partials.can_be_merged:
                yield partials.rows
                if in_order:
                    break
                continue
        kept = partials.merged(fitting=True)
        if kept.num_rows > MOST_GROUPS:
            merged, kept = kept, output.empty_table()
            yield merged
            if in_order or 2 * merged.num_rows > partials.rows.num_rows:
                break
    yield kept


def _gathered(given: Iterator[pa.Table], kept: int) -> list[pa.Table]:
    """The next rows, so many that merging them with those that are kept is worth it."""
    gathered: list[pa.Table] = []
    for rows in given:
        gathered.append(rows)
        if sum(one.num_rows for one in gathered) >= max(_GATHERED, kept):
            break
    return gathered


def _adds_floats(how: Aggregation, output: pa.Schema) -> bool:
    types = output.types[len(how.keys) :]
    return any(
        pa.types.is_floating(type_) for type_, one in zip(types, how.aggregates, strict=True) if one.function == "sum"
    )


def merge(rows: pa.Table, how: Aggregation) -> pa.Table:
    """Partial rows of the same groups made one, in the order in which the groups first appear."""
    return _Partials(rows.combine_chunks(), how).merged(fitting=False)


def identity(how: Aggregation, output: pa.Schema) -> pa.Table:
    """The partial row of no rows at all: counts are zero, everything else is null."""
    if not len(output):
        return pa.Table.from_batches([pa.RecordBatch.from_struct_array(empty_structs(1))])
    counts = [asked.function in COUNTS for asked in how.aggregates]
    row = {field.name: 0 if count else None for field, count in zip(output, counts, strict=True)}
    return pa.Table.from_pylist([row], schema=output)


def _each_row(batch: pa.RecordBatch, how: Aggregation, output: pa.Schema) -> pa.Table:
    """A partial row for each row."""
    values, ones = [column_of(batch, key) for key in how.keys], pa.array(np.ones(batch.num_rows, np.int64))
    for asked in how.aggregates:
        if asked.value is None:
            values.append(ones)
            continue
        given = computed(asked.value, batch) if isinstance(asked.value, Call) else column_of(batch, asked.value)
        if asked.function == "count":
            given = given.is_valid().cast(pa.int64()) if given.null_count else ones
        values.append(given)
    typed = [_widened(value, field.type) for value, field in zip(values, output, strict=True)]
    return pa.Table.from_arrays(typed, schema=output)


def _widened(values: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(type_):
        return values if values.type == type_ else values.dictionary_encode()
    if not (pa.types.is_decimal(type_) and pa.types.is_decimal(values.type)):
        return values.cast(type_)
    # More digits before the point are the same bytes; Arrow would look at each of them.
    return pa.Array.from_buffers(type_, len(values), values.buffers(), offset=values.offset)


@dataclass(frozen=True)
class _Addends:
    """What is added up: numbers, as 64-bit integers where they are some (of decimals those without their point)."""

    values: pa.Array

    @cached_property
    def longs(self) -> Longs | None:
        if pa.types.is_decimal(self.values.type):
            return unscaled(self.values)
        longs: Longs = pc.fill_null(self.values, 0).to_numpy(zero_copy_only=False)
        return longs

    @cached_property
    def sizes(self) -> Sizes:
        """The numbers without sign and point, zero where there is none."""
        if self.longs is not None:
            return np.abs(self.longs.astype(np.float64))
        numbers = pc.fill_null(self.values.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        sizes: Sizes = np.abs(numbers) * 10.0**self.values.type.scale
        return sizes

    def stay_below(self, limit: float) -> bool:
        """Whether no sum of any of them can reach the limit, whatever its sign."""
        if self.longs is not None and len(self.values) * _largest(self.longs) < limit:
            return True
        return float(self.sizes.sum()) < limit

    @property
    def fits(self) -> float:
        """What surely fits into the type of the decimals that were added, which has fewer digits than their sum."""
        return float(0.99 * 10.0 ** (self.values.type.precision - SUM_DIGITS))

    def summable(self) -> pa.Array:
        """The numbers as integers, which are added up in a third of the time, where no sum of them is too large."""
        if self.longs is None or not pa.types.is_decimal(self.values.type) or not self.stay_below(_SAFE_SUM):
            return self.values
        missing = self.values.is_null().to_numpy(zero_copy_only=False) if self.values.null_count else None
        return pa.array(self.longs, mask=missing)


@dataclass(frozen=True)
class _Partials:
    """Partial rows, of which some may be of the same group; in one piece."""

    rows: pa.Table
    how: Aggregation

    @cached_property
    def values(self) -> list[pa.Array]:
        return [flat(column) for column in self.rows.columns[len(self.how.keys) :]]

    @cached_property
    def sums(self) -> dict[int, _Addends]:
        """The columns that are added up and are no floats, counts included."""
        extremes_ = [asked.function in ("min", "max") for asked in self.how.aggregates]
        return {
            at: _Addends(values)
            for at, (values, extreme) in enumerate(zip(self.values, extremes_, strict=True))
            if not extreme and not pa.types.is_floating(values.type)
        }

    @property
    def can_be_merged(self) -> bool:
        """Whether no sum of longs can overflow, in whatever order the values are added."""
        added = [one for at, one in self.sums.items() if self.how.aggregates[at].function == "sum"]
        return all(one.stay_below(_SAFE_SUM) for one in added if pa.types.is_integer(one.values.type))

    def merged(self, fitting: bool) -> pa.Table:
        """One row for each group; with `fitting` as many as its sums of decimals need for none to have more digits than
        what was added."""
        keys = self.rows.columns[: len(self.how.keys)]
        codes, firsts = group_codes(keys, self.rows.num_rows)
        if fitting:
            codes, firsts = self._fitting(codes, firsts)
        values = self._aggregated(codes, len(firsts))
        if not keys and not values:
            return self.rows.slice(0, len(firsts))
        return pa.Table.from_arrays([*(key.take(pa.array(firsts)) for key in keys), *values], schema=self.rows.schema)

    def _fitting(self, codes: Codes, firsts: Codes) -> tuple[Codes, Codes]:
        """The groups, divided where a sum might have more digits than what was added: Spark, which adds partial sums up
        as if they were rows, takes no more."""
        decimals_ = [one for one in self.sums.values() if pa.types.is_decimal(one.values.type)]
        if all(one.stay_below(one.fits / len(decimals_)) for one in decimals_):
            return codes, firsts
        share: Sizes = np.sum([one.sizes / one.fits for one in decimals_], axis=0)
        if np.bincount(codes, weights=share).max() < 1:
            return codes, firsts
        divided, groups = numbered(*_in_parts(codes, len(firsts), share))
        return divided, first_rows(divided, groups)

    def _aggregated(self, codes: Codes, groups: int) -> list[pa.Array]:
        """What each function comes to in each group."""
        done: dict[int, pa.Array] = {}
        together: dict[int, tuple[str, pa.Array]] = {}
        for at, (asked, values) in enumerate(zip(self.how.aggregates, self.values, strict=True)):
            if at in self.sums:
                together[at] = "sum", self.sums[at].summable()
            elif asked.function == "sum":
                done[at] = float_sums(values, codes, groups)
            elif is_plain(values.type):
                together[at] = asked.function, values
            else:
                done[at] = extremes(values, codes, groups, asked.function)
        if together:
            # One pass finds each row's group for all of them.
            grouped = by_arrow(together.values(), codes)
            done |= {at: _typed(one, self.values[at].type) for at, one in zip(together, grouped, strict=True)}
        return [done[at] for at in range(len(self.values))]


def _largest(longs: Longs) -> float:
    return max(-float(longs.min(initial=0)), float(longs.max(initial=0)))


def _in_parts(codes: Codes, groups: int, share: Sizes) -> tuple[Codes, int]:
    """(each row's group and part as one number, a number above all): shares of the rows of a part are less than one."""
    order = np.argsort(codes, kind="stable")
    in_order, halves = codes[order], np.flatnonzero(share[order] >= 0.5)
    # The rows of a part without its first are less than a half; a row that is a half or more is a part of its own.
    shares = share[order]
    shares[halves] = 0.0
    reached = np.cumsum(shares)
    begins = np.searchsorted(in_order, np.arange(groups))
    part = np.floor(2 * (reached - (reached - shares)[begins][in_order])).astype(np.int64)
    part[halves] = part.max(initial=0) + 1 + np.arange(len(halves))
    numbers = np.empty_like(part)
    numbers[order] = part
    parts = int(part.max(initial=0)) + 1
    return codes * parts + numbers, groups * parts


def _typed(values: pa.Array, type_: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(type_) and pa.types.is_integer(values.type):
        return decimals(pc.fill_null(values, 0).to_numpy(zero_copy_only=False), type_, values.is_valid())
    return values.cast(type_)
