"""An aggregation, as the planner and the reader understand it: keys, functions, and the partial rows they give.

A partial row holds the keys' values and one value a function, for some of a group's rows. Any partial rows that
together cover each row once can be merged into the answer, whoever made them: a worker from data, the driver
from metadata. AVG is no function here: it is a sum and a count. Counts of distinct values are the exception: they
have no partial rows, and come about where all of a group's values are known at once.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pyarrow as pa

from lakescan.predicate import Call, Column, columns_in
from lakescan.reader.decimal_arithmetic import MOST_DIGITS, decimal_type
from lakescan.types.schema import field_at

Function: TypeAlias = Literal["count_rows", "count", "count_distinct", "sum", "min", "max"]
# A sum has so many digits more than what is added, as far as there are any.
SUM_DIGITS = 10
COUNTS: frozenset[Function] = frozenset({"count_rows", "count", "count_distinct"})


@dataclass(frozen=True)
class Aggregate:
    """One function, of a column unless it counts rows; a sum or a count may be of an expression of decimals."""

    function: Function
    value: Column | Call | None = None

    @property
    def column(self) -> Column | None:
        """The column that it is of, None where it is of rows or of an expression."""
        return self.value if isinstance(self.value, Column) else None

    def __str__(self) -> str:
        if self.function == "count_distinct":
            return f"COUNT(DISTINCT {self.value})"
        return "COUNT(*)" if self.value is None else f"{self.function.upper()}({self.value})"

    def result_type(self, schema: pa.Schema) -> pa.DataType:
        """The type of its partial values, which is the type of Spark's result."""
        if self.function in COUNTS:
            return pa.int64()
        type_ = value_type(self.value, schema)
        if self.function != "sum":
            return type_
        if pa.types.is_decimal(type_):
            return pa.decimal128(min(MOST_DIGITS, type_.precision + SUM_DIGITS), type_.scale)
        return pa.float64() if pa.types.is_floating(type_) else pa.int64()


@dataclass(frozen=True)
class Aggregation:
    """Functions over groups of rows with equal keys; without keys, over all rows."""

    keys: tuple[Column, ...]
    aggregates: tuple[Aggregate, ...]

    def __str__(self) -> str:
        functions = ", ".join(map(str, self.aggregates)) or "DISTINCT"
        return f"{functions} BY {', '.join(map(str, self.keys))}" if self.keys else functions

    @property
    def columns(self) -> frozenset[Column]:
        return frozenset(self.keys).union(*(columns_in(one.value) for one in self.aggregates if one.value is not None))

    @property
    def is_one_row(self) -> bool:
        """Whether the answer is one row without columns, whatever the rows are: it has neither a key nor a function."""
        return not (self.keys or self.aggregates)

    @property
    def needs_rows(self) -> bool:
        """Whether no statistics can answer it: none has sums, or says anything of expressions."""
        return any(one.function == "sum" or isinstance(one.value, Call) for one in self.aggregates)

    def output(self, schema: pa.Schema) -> pa.Schema:
        """The columns of a partial row, named by their position."""
        keys = [pa.field(f"key_{at}", column_type(key, schema)) for at, key in enumerate(self.keys)]
        values = [
            pa.field(f"value_{at}", aggregate.result_type(schema)) for at, aggregate in enumerate(self.aggregates)
        ]
        return pa.schema(keys + values)


def value_type(value: Column | Call | None, schema: pa.Schema) -> pa.DataType:
    """The type of a column, or of an expression of decimals."""
    if not isinstance(value, Call):
        return column_type(value, schema)
    type_ = decimal_type(value, schema)
    assert type_ is not None, f"{value} is no expression of decimals"
    return type_


def column_type(column: Column | None, schema: pa.Schema) -> pa.DataType:
    field = None if column is None else field_at(schema, column.path)
    assert field is not None, f"{column} is no column of the table"
    return field.type
