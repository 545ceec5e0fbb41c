"""Random Delta tables and random filters for property tests, small enough that thousands of them run in a minute.

A `RandomTable` is a description: `write` makes the Delta table, `rows` says which rows are in it, without any
reader of ours. Types, nulls, NaN, long strings, partitions, deletion vectors, several row groups, and statistics
that are full, cut, partial, without NaN or absent all occur. `duckdb_text` says a filter in DuckDB's SQL.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from lakescan.predicate import (
    And,
    Column,
    Comparison,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    StartsWith,
)
from tests.examples import examples
from tests.tables import DeltaBuilder

NAN = float("nan")
NESTED = pa.struct([("x", pa.int64()), ("y", pa.string())])
_LONG = "a" * 40

COLUMNS: dict[str, pa.DataType] = {
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "s": pa.string(),
    "b": pa.binary(),
    "t": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "n": pa.timestamp("us"),
    "m": pa.decimal128(7, 2),
    "k": pa.bool_(),
    "st": NESTED,
}
PARTITIONS: dict[str, pa.DataType] = {"p": pa.int32(), "q": pa.string(), "r": pa.date32()}

_MOMENT = datetime(2024, 1, 1)
_MOMENTS = [_MOMENT + timedelta(hours=at * 7, microseconds=at % 3 * 500) for at in range(-3, 8)]
VALUES: dict[pa.DataType, Sequence[Any]] = {
    pa.int32(): [-(2**31), -5, 0, 1, 2, 3, 7, 2**31 - 1],
    pa.int64(): [-(2**63), -3, 0, 1, 2, 5, 2**53 + 1, 2**63 - 1],
    pa.float32(): [-1.5, -0.0, 0.0, 0.5, 2.0, float("inf"), float("-inf"), NAN],
    pa.float64(): [-1.5, -0.0, 0.0, 0.1, 2.0, 1e300, float("inf"), float("-inf"), NAN],
    pa.string(): ["", "a", "ab", "abc", "b", "bä", "z", "\U0001f600", _LONG, _LONG + "b", "z" * 33],
    pa.binary(): [b"", b"a", b"ab", b"\xff", b"b"],
    pa.date32(): [date(2023, 12, 31), date(2024, 1, 1), date(2024, 1, 2), date(2024, 2, 29), date(1969, 12, 31)],
    pa.timestamp("us", "UTC"): [moment.replace(tzinfo=timezone.utc) for moment in _MOMENTS],
    pa.timestamp("us"): _MOMENTS,
    pa.decimal128(7, 2): [Decimal(text) for text in ("-10.25", "0.00", "0.01", "1.50", "99999.99")],
    pa.bool_(): [True, False],
}
PREFIXES = ["", "a", "ab", "b", "bä", "z", "a" * 32, "a" * 33, "\U0001f600"]


_SEEDS = st.integers(0, 2**32)


def many(cases: int) -> hypothesis_settings:
    """Settings for a property of this many cases; LAKESCAN_FUZZ=20 makes it twenty times as many."""
    return hypothesis_settings(
        max_examples=examples(cases),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    )


@dataclass(frozen=True)
class RandomFile:
    """One data file: its stored rows, its partition values, and what the log says of it."""

    rows: pa.Table
    partition: Mapping[str, Any]
    deleted: tuple[int, ...]
    statistics: str
    """spark: NaN is the maximum; arrow: NaN is left out; partial: of some columns; counts; none."""
    row_group_size: int


@dataclass(frozen=True)
class RandomTable:
    """A table's schema and files."""

    schema: pa.Schema
    partition_by: tuple[str, ...]
    files: tuple[RandomFile, ...]

    def rows(self) -> pa.Table:
        """Every live row, in the table's schema, in the order of the files."""
        parts = []
        for file in self.files:
            live = [at for at in range(file.rows.num_rows) if at not in file.deleted]
            stored = file.rows.take(pa.array(live, pa.int64()))
            columns = [
                pa.array([file.partition[field.name]] * len(live), field.type)
                if field.name in file.partition
                else stored[field.name].combine_chunks()
                for field in self.schema
            ]
            parts.append(pa.Table.from_arrays(columns, schema=self.schema))
        return pa.concat_tables([self.schema.empty_table(), *parts]).combine_chunks()

    def write(self, root: Path) -> DeltaBuilder:
        """The table as Delta; a file a commit, so that each has a writer of its own."""
        vectors = any(file.deleted for file in self.files)
        features = ["deletionVectors", "timestampNtz"] if vectors else ["timestampNtz"]
        builder = DeltaBuilder(root, self.schema, self.partition_by, features=features)
        for file in self.files:
            add = builder.add(
                file.rows,
                partition={name: _partition_text(value) for name, value in file.partition.items()},
                stats=_statistics(file) or False,
                vector=builder.vector(file.deleted, "i") if file.deleted else None,
                row_group_size=file.row_group_size,
            )
            engine = "Apache-Spark/4.0.0 Delta-Lake/4.0.0" if file.statistics == "spark" else "somebody's"
            builder.commit({"commitInfo": {"operation": "WRITE", "engineInfo": engine}}, add)
        return builder


@st.composite
def tables(draw: Callable[..., Any], columns: Mapping[str, pa.DataType] = COLUMNS) -> RandomTable:
    """A table of one to four data columns, up to two partition columns and up to five files.

    Only sizes and a seed are hypothesis's own draws: thousands of drawn values would cost more than the reads.
    """
    random = Random(draw(_SEEDS))
    names = random.sample(list(columns), draw(st.integers(1, min(4, len(columns)))))
    partition_by = random.sample(list(PARTITIONS), draw(st.integers(0, 2)))
    stored = pa.schema([(name, columns[name]) for name in names])
    schema = pa.schema([*stored, *[(name, PARTITIONS[name]) for name in partition_by]])
    most = draw(st.integers(1, 6))
    files = [_file(random, stored, partition_by, random.randint(1, most)) for _ in range(draw(st.integers(0, 5)))]
    return RandomTable(schema, tuple(partition_by), tuple(files))


def _file(random: Random, schema: pa.Schema, partition_by: Sequence[str], count: int) -> RandomFile:
    columns = [pa.array(_values(random, field.type, count), field.type) for field in schema]
    partition = {name: _value(random, PARTITIONS[name]) for name in partition_by}
    deleted = random.sample(range(count), random.randint(0, count)) if random.random() < 0.3 else []
    return RandomFile(
        pa.Table.from_arrays(columns, schema=schema),
        {name: None if value == "" else value for name, value in partition.items()},
        tuple(sorted(deleted)),
        random.choice(["spark", "spark", "arrow", "partial", "counts", "none"]),
        random.choice([1, 2, 1000]),
    )


def _values(random: Random, kind: pa.DataType, count: int) -> list[Any]:
    # Narrow columns make files that can be skipped; wide ones alone would overlap everywhere.
    few = [_value(random, kind) for _ in range(random.choice([1, 2, count]))]
    return [random.choice(few) for _ in range(count)]


def _value(random: Random, kind: pa.DataType) -> Any:
    if random.random() < 0.2:
        return None
    if pa.types.is_struct(kind):
        return {field.name: _value(random, field.type) for field in kind}
    return random.choice(VALUES[kind])


@st.composite
def filters(draw: Callable[..., Any], schema: pa.Schema, most: int = 8) -> list[Predicate]:
    """Some filters over the schema's columns, nested fields among them."""
    random, depth = Random(draw(_SEEDS)), draw(st.integers(0, 3))
    return [random_filter(random, schema, depth) for _ in range(draw(st.integers(1, most)))]


def random_filter(random: Random, schema: pa.Schema, depth: int = 2) -> Predicate:
    roll = random.random()
    if depth and roll < 0.35:
        return And(random_filter(random, schema, depth - 1), random_filter(random, schema, depth - 1))
    if depth and roll < 0.6:
        return Or(random_filter(random, schema, depth - 1), random_filter(random, schema, depth - 1))
    if depth and roll < 0.75:
        return Not(random_filter(random, schema, depth - 1))
    if roll > 0.98:
        return Constant(random.choice([True, False, None]))
    return _leaf(random, *random.choice(_leaf_columns(schema)))


def _leaf_columns(fields: pa.Schema | pa.DataType, above: tuple[str, ...] = ()) -> list[tuple[Column, pa.DataType]]:
    columns: list[tuple[Column, pa.DataType]] = []
    for field in fields:
        path = (*above, field.name)
        columns.append((Column(path), field.type))
        if pa.types.is_struct(field.type):
            columns.extend(_leaf_columns(field.type, path))
    return columns


def _leaf(random: Random, column: Column, kind: pa.DataType) -> Predicate:
    if pa.types.is_struct(kind):
        return IsNull(column)
    literals = [Literal(_value(random, kind), kind) for _ in range(random.randint(2, 4))]
    roll = random.random()
    if pa.types.is_string(kind) and roll < 0.2:
        return StartsWith(column, random.choice(PREFIXES))
    if roll < 0.3:
        return IsNull(column)
    if roll < 0.4:
        return In(column, tuple(literals if random.random() < 0.9 else ()))
    if roll < 0.5:
        return And(Comparison(">=", column, literals[0]), Comparison("<=", column, literals[1]))
    return Comparison(random.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"]), column, literals[0])


# DuckDB's words


def duckdb_text(predicate: Predicate) -> str:
    """The same filter in DuckDB's SQL, with the same answer for NULL and NaN."""
    match predicate:
        case Constant(value):
            return "NULL::BOOLEAN" if value is None else str(value)
        case And(left, right):
            return f"({duckdb_text(left)} AND {duckdb_text(right)})"
        case Or(left, right):
            return f"({duckdb_text(left)} OR {duckdb_text(right)})"
        case Not(child):
            return f"(NOT {duckdb_text(child)})"
        case IsNull(column):
            return f"({_name(column)} IS NULL)"
        case StartsWith(column, prefix):
            return f"starts_with({_name(column)}, {_text(prefix)})"
        case In(column, ()):
            return "FALSE"
        case In(column, values):
            return f"({_name(column)} IN ({', '.join(map(duckdb_literal, values))}))"
        case Comparison(op, column, right):
            other = _name(right) if isinstance(right, Column) else duckdb_literal(right)
            return f"({_name(column)} {'IS NOT DISTINCT FROM' if op == '<=>' else op} {other})"


_DUCKDB_TYPES = {
    pa.int32(): "INTEGER",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.date32(): "DATE",
    pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
    pa.timestamp("us"): "TIMESTAMP",
    pa.decimal128(7, 2): "DECIMAL(7,2)",
    pa.bool_(): "BOOLEAN",
}


def duckdb_literal(literal: Literal) -> str:
    kind = _DUCKDB_TYPES[literal.type]
    if literal.value is None:
        return f"NULL::{kind}"
    if isinstance(literal.value, bytes):
        return f"unhex('{literal.value.hex()}')"
    return f"{_text(str(literal.value))}::{kind}"


def _name(column: Column) -> str:
    return ".".join(f'"{part}"' for part in column.path)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


# What the log says


def _partition_text(value: Any) -> str | None:
    return None if value is None else str(value)


def _statistics(file: RandomFile) -> dict[str, Any] | None:
    if file.statistics == "none":
        return None
    counts = {"numRecords": file.rows.num_rows}
    if file.statistics == "counts":
        return counts
    names = file.rows.column_names[: 1 if file.statistics == "partial" else None]
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for name in names:
        _describe(name, file.rows[name].to_pylist(), file.rows[name].type, file.statistics, low, high, nulls)
    tight = {"tightBounds": False} if file.deleted else {}
    return {**counts, "minValues": low, "maxValues": high, "nullCount": nulls, **tight}


def _describe(name: str, values: list[Any], kind: pa.DataType, writer: str, low: Any, high: Any, nulls: Any) -> None:
    if pa.types.is_struct(kind):
        low[name], high[name], nulls[name] = {}, {}, {}
        for field in kind:
            inner = [None if value is None else value[field.name] for value in values]
            _describe(field.name, inner, field.type, writer, low[name], high[name], nulls[name])
        return
    nulls[name] = values.count(None)
    known = [value for value in values if value is not None]
    nan = [value for value in known if value != value]
    known = sorted(value for value in known if value == value)
    if pa.types.is_boolean(kind) or pa.types.is_binary(kind) or not (known or nan):
        return
    if writer == "spark" and nan:
        low[name], high[name] = _json(known[0] if known else NAN), "NaN"
    elif known:
        low[name], high[name] = _json(known[0]), _json(known[-1], cut_above=True)


def _json(value: Any, cut_above: bool = False) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, str) and len(value) > 32:
        return value[:32] + ("\ufffd" if cut_above else "")
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    return value
