"""The first rows of a task by an order: what `ORDER BY … LIMIT n` needs of it, and no more.

The order is Spark's: NaN above every number, -0.0 equal to 0.0, text by its bytes, nulls where each sort column
says. Of rows that are equal in every sort column any may be kept: whoever gets the rows sorts them again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.predicate import Column
from lakescan.types.columns import member

_WAITING_ROWS = 1 << 16


@dataclass(frozen=True)
class SortColumn:
    """A column to sort by."""

    column: Column
    descending: bool = False
    nulls_first: bool = True

    def __str__(self) -> str:
        return f"{self.column} {'DESC' if self.descending else 'ASC'} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


@dataclass(frozen=True)
class TopRows:
    """The first `count` rows by some columns."""

    by: tuple[SortColumn, ...]
    count: int

    def __str__(self) -> str:
        return f"first {self.count} by {', '.join(map(str, self.by))}"


def top_rows(batches: Iterable[pa.RecordBatch], wanted: TopRows) -> Iterator[pa.RecordBatch]:
    """The first rows of all batches; what is held meanwhile does not grow with their number."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(held.num_rows for held in waiting) > wanted.count + _WAITING_ROWS:
            waiting = _first(waiting, wanted)
    yield from _first(waiting, wanted)


def _first(batches: list[pa.RecordBatch], wanted: TopRows) -> list[pa.RecordBatch]:
    if not batches:
        return []
    table = pa.Table.from_batches(batches)
    kept = table.take(pc.sort_indices(*_keys(table, wanted)).slice(0, wanted.count))
    first: list[pa.RecordBatch] = kept.combine_chunks().to_batches()
    return first


def _keys(table: pa.Table, wanted: TopRows) -> tuple[pa.Table, list[tuple[str, str]]]:
    """Columns to sort by, and how: whether a value is null, or NaN, sorts before the value does."""
    columns: dict[str, pa.ChunkedArray] = {}
    how: list[tuple[str, str]] = []
    for at, sort in enumerate(wanted.by):
        values = table.column(table.schema.get_field_index(sort.column.path[0]))
        values = member(values, *sort.column.path[1:]) if len(sort.column.path) > 1 else values
        direction = "descending" if sort.descending else "ascending"
        columns[f"null_{at}"] = values.is_null().cast(pa.int8())
        how.append((f"null_{at}", "descending" if sort.nulls_first else "ascending"))
        if pa.types.is_floating(values.type):
            columns[f"nan_{at}"] = pc.fill_null(pc.is_nan(values), False).cast(pa.int8())
            how.append((f"nan_{at}", direction))
        columns[f"value_{at}"] = values
        how.append((f"value_{at}", direction))
    return pa.table(columns), how
