"""What is asked of a table, undamaged and damaged: its rows, counts and bounds, its changes, and it as a stream.

An answer is the rows, or the error that came instead.
"""

import math
import random
import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import lakescan
from lakescan.errors import LakescanError
from lakescan.formats.delta.table import DeltaTable
from lakescan.formats.registry import open_table, pin_stream
from lakescan.predicate import Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.read import read_task
from lakescan.scan.aggregates import can_read

ROWS, AGGREGATES, CHANGES, STREAM = "rows", "aggregates", "changes", "stream"
# Least and greatest values cost a look into an index each, so a case asks for those of some columns only.
_COLUMNS = 2


@dataclass(frozen=True)
class Answer:
    """Rows, or an error: `named` where it is one of Lakescan's."""

    rows: pa.Table = field(default_factory=lambda: pa.table({}))
    error: str = ""
    named: bool = False
    trace: str = ""

    def equals(self, other: "Answer") -> bool:
        """The same rows, in whatever order."""
        if self.rows.schema.names != other.rows.schema.names or self.rows.num_rows != other.rows.num_rows:
            return False
        try:
            return self.rows.equals(other.rows) or _listed(self.rows) == _listed(other.rows)
        except (ValueError, OverflowError):
            # A date that Python has no value for, which no sample table has.
            return False


def all_answers(path: Path) -> dict[str, Answer]:
    """The answer to every question, of an undamaged table; aggregates of one column at a time."""
    answers = {name: answer(path, name) for name in (ROWS, CHANGES, STREAM)}
    columns = answers[ROWS].rows.column_names
    return answers | {_of_column(name): answer(path, AGGREGATES, (name,)) for name in columns}


def some_answers(path: Path, before: Mapping[str, Answer], rng: random.Random) -> dict[str, Answer]:
    """The rows of a damaged table, and something else that is known of the undamaged one."""
    other = rng.choice([AGGREGATES, AGGREGATES, *(name for name in (CHANGES, STREAM) if not before[name].error)])
    if other != AGGREGATES:
        return {ROWS: answer(path, ROWS), other: answer(path, other)}
    columns = [name for name in before[ROWS].rows.column_names if not before[_of_column(name)].error]
    chosen = rng.sample(columns, min(_COLUMNS, len(columns)))
    return {ROWS: answer(path, ROWS)} | {_of_column(name): answer(path, AGGREGATES, (name,)) for name in chosen}


def answer(path: Path, question: str, columns: tuple[str, ...] = ()) -> Answer:
    asked = {ROWS: _rows, CHANGES: _changes, STREAM: _stream}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Answer(_aggregates(path, columns) if question == AGGREGATES else asked[question](path))
    except LakescanError as error:
        return Answer(error=f"{type(error).__name__}: {error}", named=True)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return Answer(error=f"{type(error).__name__}: {error}"[:500], trace=traceback.format_exc()[-6000:])


def is_aggregate(question: str) -> bool:
    return question.startswith(AGGREGATES)


def _of_column(name: str) -> str:
    return f"{AGGREGATES} {name}"


def _listed(table: pa.Table) -> list[str]:
    return sorted(repr(_comparable(row)) for row in table.to_pylist())


def _comparable(value: Any) -> Any:
    """A value of which equal ones look alike: NaN equals itself, and 1 is not True."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, dict):
        return {key: _comparable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_comparable(inner) for inner in value]
    return value


def _rows(path: Path) -> pa.Table:
    return lakescan.open(path).snapshot().scan().build().to_arrow()


def _aggregates(path: Path, columns: tuple[str, ...]) -> pa.Table:
    """COUNT(*), and of each column the count, the least and the greatest value, as far as Spark would ask for them."""
    snapshot = lakescan.open(path).snapshot()
    wanted = [Aggregate("count_rows")]
    for name in set(columns) & set(snapshot.schema.names):
        functions = [Aggregate(function, Column((name,))) for function in ("count", "min", "max")]
        if can_read(snapshot.scan().aggregate(Aggregation((), tuple(functions))).build()):
            wanted.extend(functions)
    return snapshot.scan().aggregate(Aggregation((), tuple(wanted))).build().to_arrow()


def _changes(path: Path) -> pa.Table:
    table = lakescan.open(path)
    first = table.history()["version"].to_pylist()[-1]
    return table.changes(first).scan().build().to_arrow()


def _stream(path: Path) -> pa.Table:
    """Every batch of a new stream, as an engine reads them."""
    table = open_table(path)
    from_the_first = {"startingVersion": "0", "ignoreChanges": "true"}
    pinned = pin_stream(table, from_the_first if isinstance(table, DeltaTable) else {})
    assert pinned
    stream = pinned.open(pinned.schema)
    start = stream.initial_offset()
    batches: list[pa.RecordBatch] = []
    while (end := stream.next_offset(start, pinned.limits)) != start:
        tasks = stream.plan(start, end, 2)
        batches.extend(batch for sent in tasks for batch in read_task(sent.plan, sent.task))
        start = end
    return pa.Table.from_batches(batches, pinned.schema)
