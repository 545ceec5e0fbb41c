"""Rows as they arrive, in the form asked for: a table for people, CSV, JSON or Parquet.

No more than a batch is held. A file is written beside its name and moved there when it is whole. On a terminal whatever
a value holds is shown as text; into a pipe or a file CSV goes as it is.
"""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import IO, Any

import pyarrow as pa

from lakescan.cli.output import counting, plain
from lakescan.show.text import shown

FORMATS = ("table", "csv", "json", "parquet")
# Columns are as wide as the rows that are seen first need them, and never wider than this.
_FIRST_ROWS = 1000
_WIDEST = 80


def write_rows(schema: pa.Schema, batches: Iterable[pa.RecordBatch], form: str, path: str | None = None) -> int:
    """Write all rows to stdout or to a file; gives how many there were."""
    writers = {"table": _table, "csv": _csv, "json": _json_lines, "parquet": _parquet}
    with _target(path, binary=form == "parquet") as target:
        if path is None and sys.stdout.isatty():
            return writers[form](schema, batches, target)
        with counting("rows") as more:
            return writers[form](schema, _told(batches, more), target)


def _told(batches: Iterable[pa.RecordBatch], more: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch
        more(batch.num_rows)


def records(batch: pa.RecordBatch) -> Iterator[list[Any]]:
    """The rows of a batch, each a list of Python values; a name may occur twice."""
    columns = [values(column) for column in batch.columns]
    yield from map(list, zip(*columns, strict=True)) if columns else ([] for _ in range(batch.num_rows))


def values(column: pa.Array) -> list[Any]:
    """A column's values; maps are dicts, and a time beyond Python's calendar is Arrow's text of it."""
    try:
        return [_dicts(value, column.type) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        return [None if not value.is_valid else str(value) for value in column]


def cell(value: Any) -> str:
    """A value in a cell of a table or of CSV."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (dict, list)):
        return json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return str(value)


def _dicts(value: Any, type_: pa.DataType) -> Any:
    if value is None or not pa.types.is_nested(type_):
        return value
    if pa.types.is_map(type_):
        return {cell(key): _dicts(item, type_.item_type) for key, item in value}
    if pa.types.is_struct(type_):
        return {field.name: _dicts(value.get(field.name), field.type) for field in type_}
    return [_dicts(item, type_.value_type) for item in value]


def _table(schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: IO[Any]) -> int:
    rows = (list(map(_shown_cell, row)) for batch in batches for row in records(batch))
    first = list(islice(rows, _FIRST_ROWS))
    names = [shown(name) for name in schema.names]
    widths = [min(_WIDEST, max(map(_width, cells))) for cells in zip(names, *first, strict=True)]
    to_right = [pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in schema.types]
    print(_line(names, widths, to_right), file=target)
    print("  ".join("─" * width for width in widths), file=target)
    count = 0
    for part in (first, rows):
        for row in part:
            print(_line(row, widths, to_right), file=target)
            count += 1
    return count


def _shown_cell(value: Any) -> str:
    return shown(cell(value))


def _width(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def _line(texts: Sequence[str], widths: Sequence[int], to_right: Sequence[bool]) -> str:
    cells = [_fitted(*given) for given in zip(texts, widths, to_right, strict=True)]
    return "  ".join(cells).rstrip()


def _fitted(text: str, width: int, to_right: bool) -> str:
    from rich.cells import set_cell_size

    missing = width - _width(text)
    if missing < 0:
        return set_cell_size(text, width - 1) + "…"
    return " " * missing + text if to_right else text + " " * missing


def _csv(schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: IO[Any]) -> int:
    safe = shown if target.isatty() else str
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow([safe(name) for name in schema.names])
    count = 0
    for batch in batches:
        writer.writerows(["" if value is None else safe(cell(value)) for value in row] for row in records(batch))
        count += batch.num_rows
    return count


def _json_lines(schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: IO[Any]) -> int:
    count = 0
    for batch in batches:
        for row in records(batch):
            target.write(json.dumps(dict(zip(schema.names, map(plain, row), strict=True))) + "\n")
        count += batch.num_rows
    return count


def _parquet(schema: pa.Schema, batches: Iterable[pa.RecordBatch], target: IO[Any]) -> int:
    import pyarrow.parquet as pq

    count = 0
    with pq.ParquetWriter(target, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
            count += batch.num_rows
    return count


@contextmanager
def _target(path: str | None, binary: bool) -> Iterator[IO[Any]]:
    if path is None:
        yield sys.stdout.buffer if binary else sys.stdout
        sys.stdout.flush()
        return
    begun = f"{path}.part"
    try:
        with open(begun, "wb" if binary else "w", encoding=None if binary else "utf-8") as file:
            yield file
        os.replace(begun, path)
    except BaseException:
        if os.path.exists(begun):
            os.remove(begun)
        raise
