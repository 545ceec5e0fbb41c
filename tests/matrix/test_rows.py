"""Every shape of table has the rows that were written, in every column; and no type of PySpark's was forgotten."""

import inspect
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as t

from tests.matrix.answers import answer
from tests.matrix.tables import COLUMNS, SHAPES

pytestmark = pytest.mark.spark

NOT_STORED = {
    "DataType": "abstract",
    "AtomicType": "abstract",
    "NumericType": "abstract",
    "IntegralType": "abstract",
    "FractionalType": "abstract",
    "DatetimeType": "abstract",
    "AnyTimeType": "abstract",
    "SpatialType": "abstract",
    "AnsiIntervalType": "abstract",
    "StructField": "a part of StructType",
    "CalendarIntervalType": "Spark writes it to no file",
    "UserDefinedType": "stored as another type, which a reader sees",
    "TimeType": "not a type of Delta's",
    "GeographyType": "refused by name: tests/spark/test_rare_types.py",
    "GeometryType": "refused by name: tests/spark/test_rare_types.py",
}
IN_COLUMNS = {
    "NullType": "nothing",
    "StringType": "text",
    "CharType": "fixed",
    "VarcharType": "short",
    "BinaryType": "bytes",
    "BooleanType": "flag",
    "DateType": "day",
    "TimestampType": "moment",
    "TimestampNTZType": "local",
    "DecimalType": "price",
    "DoubleType": "real",
    "FloatType": "single",
    "ByteType": "tiny",
    "IntegerType": "whole",
    "LongType": "big",
    "ShortType": "small",
    "DayTimeIntervalType": "span",
    "YearMonthIntervalType": "months",
    "ArrayType": "ints",
    "MapType": "counts",
    "StructType": "st",
    "VariantType": "doc",
}


def test_every_type_of_pyspark_is_a_column_or_has_a_reason() -> None:
    types = {
        name for name, of in vars(t).items() if inspect.isclass(of) and issubclass(of, (t.DataType, t.StructField))
    }
    assert types - set(NOT_STORED) - set(IN_COLUMNS) == set()
    assert set(IN_COLUMNS.values()) <= {of.name for of in COLUMNS} | {"nothing"}


@pytest.mark.parametrize("shape", [shape.name for shape in SHAPES])
def test_all_columns_have_the_rows_of_the_copy(spark: SparkSession, shaped: Callable[[str], str], shape: str) -> None:
    name = shaped(shape)
    ours, theirs = spark.table(f"ours_{name}"), spark.table(f"theirs_{name}")
    assert [(f.name, f.dataType) for f in ours.schema] == [(f.name, f.dataType) for f in theirs.schema]
    readable = [f"CAST({of.quoted} AS STRING) AS {of.quoted}" if of.delta else of.quoted for of in COLUMNS]
    expected = answer(lambda: theirs.selectExpr(*readable))
    assert not expected.error
    assert str(answer(lambda: ours.selectExpr(*readable))) == str(expected)
    assert answer(lambda: ours.selectExpr(*readable)) == expected
