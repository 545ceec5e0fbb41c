"""One set of rows with a column of every type, in Delta tables of several shapes and as plain Parquet.

Nothing of Lakescan's writes or reads here: `DeltaBuilder` writes the tables, pyarrow the copies, and the Spark types of
the copies are declared by hand, so that both sides say independently what the rows are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import lakescan
from lakescan.types.schema import VARIANT
from tests.tables import DeltaBuilder, spark_type

NAN, INF = math.nan, math.inf
_MOMENT = datetime(2024, 1, 1, tzinfo=timezone.utc)
_PAIR = pa.struct([pa.field("x", pa.int64()), pa.field("y", pa.string())])
_DEEP = pa.struct([("z", pa.float64()), ("w", pa.list_(pa.field("element", pa.string())))])
_STRUCT = pa.struct([("x", pa.int32()), ("y", pa.string()), ("deep", _DEEP)])
# The number 5, {"a": 1, "b": true} and the text "x", as Spark encodes them.
_VARIANTS = [
    {"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"},
    {"value": b"\x02\x02\x00\x01\x00\x02\x03\x0c\x01\x04", "metadata": b"\x01\x02\x00\x01\x02ab"},
    {"value": b"\x05x", "metadata": b"\x01\x00\x00"},
]


@dataclass(frozen=True)
class ColumnOfType:
    """A column: its type in Spark's words and in the file's, its values row by row, and literals to compare it with.

    The literals are one that occurs, one that does not, and what lies on a bound or is odd. A type that cannot be
    compared has none.
    """

    name: str
    spark: str
    arrow: pa.DataType
    values: Sequence[Any]
    literals: Sequence[str] = ()
    delta: str | None = None
    """The type in Delta's words, where `spark_type` does not know it."""
    metadata: tuple[tuple[str, Any], ...] = ()

    @property
    def quoted(self) -> str:
        return f"`{self.name}`"


def _moment(hours: float) -> datetime:
    return _MOMENT + timedelta(hours=hours)


def _local(hours: float) -> datetime:
    return _moment(hours).replace(tzinfo=None)


_TEXTS = ["a", "ab", None, "bä", "", "  a ", "Ab", "z" * 40, "😀", "a%b", "null", None]
_DAYS = [date(2024, 1, 1), None, date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31), date(2023, 6, 15)]
_FLOATS = [0.0, -0.0, 1.5, None, NAN, -2.25, INF, -INF, 2.0, 1.5, None, 0.5]

COLUMNS: Sequence[ColumnOfType] = (
    ColumnOfType("id", "BIGINT", pa.int64(), range(12), ("3L", "99L", "0L", "11L", "3.0D", "CAST(NULL AS BIGINT)")),
    ColumnOfType("flag", "BOOLEAN", pa.bool_(), [True, False, None], ("true", "false", "CAST(NULL AS BOOLEAN)")),
    ColumnOfType("tiny", "TINYINT", pa.int8(), [1, None, -127, 127, 0], ("1Y", "5Y", "-127Y", "127Y", "128")),
    ColumnOfType("small", "SMALLINT", pa.int16(), [2, 3, 2, None, -7, 32767, 0], ("2S", "4S", "32767S", "32768")),
    ColumnOfType("whole", "INT", pa.int32(), [None, 4, 4, -6, 0, 7, 7, 1], ("4", "5", "-6", "7", "NULL", "4.5")),
    ColumnOfType("big", "BIGINT", pa.int64(), [2**53 + 1, 5, None, -5, 2**53], ("5L", "6L", f"{2**53 + 1}L", "5.0D")),
    ColumnOfType(
        "edge",
        "BIGINT",
        pa.int64(),
        [-(2**63), 0, None, 2**63 - 1, *[0] * 8],
        (f"{2**63 - 1}L", "1L", "0L", "-9223372036854775808"),
    ),
    ColumnOfType(
        "single", "FLOAT", pa.float32(), _FLOATS, ("1.5F", "9.5F", "float('NaN')", "0.0F", "-0.0F", "float('inf')")
    ),
    ColumnOfType(
        "real",
        "DOUBLE",
        pa.float64(),
        [0.1, NAN, -0.0, None, 0.0, 1e300, INF, -INF, 0.1, -1.5, NAN, 2.0],
        ("0.1D", "0.2D", "double('NaN')", "0.0D", "-0.0D", "double('inf')", "double('-inf')", "CAST(NULL AS DOUBLE)"),
    ),
    ColumnOfType(
        "price",
        "DECIMAL(7,2)",
        pa.decimal128(7, 2),
        [Decimal("1.50"), Decimal("-10.25"), None, Decimal("99999.99"), Decimal("0.00")],
        ("1.50", "1.51", "99999.99", "100000", "1.5D", "CAST(NULL AS DECIMAL(7,2))"),
    ),
    ColumnOfType(
        "wide",
        "DECIMAL(38,10)",
        pa.decimal128(38, 10),
        [Decimal("0.125"), None, Decimal("12345678901234567890.0000000001"), Decimal(-3)],
        ("0.125BD", "0.126BD", "12345678901234567890.0000000001BD", "-3"),
    ),
    ColumnOfType(
        "text", "STRING", pa.string(), _TEXTS, ("'ab'", "'abc'", "''", f"'{'z' * 40}'", "'😀'", "CAST(NULL AS STRING)")
    ),
    ColumnOfType(
        "fixed",
        "CHAR(4)",
        pa.string(),
        ["a   ", "ab  ", None, "abcd", "    "],
        ("'a'", "'a   '", "'zz'", "'abcd'", "''"),
        metadata=(("__CHAR_VARCHAR_TYPE_STRING", "char(4)"),),
    ),
    ColumnOfType(
        "short",
        "VARCHAR(20)",
        pa.string(),
        [None, "a ", "b", "ab", ""],
        ("'a '", "'a'", "'zz'"),
        metadata=(("__CHAR_VARCHAR_TYPE_STRING", "varchar(20)"),),
    ),
    ColumnOfType(
        "folded",
        "STRING COLLATE UTF8_LCASE",
        pa.string(),
        ["A", "a", "aB", None, "b", "Z", "z"],
        ("'A'", "'b'", "'q'", "'AB'"),
        metadata=(("__COLLATIONS", {"folded": "spark.UTF8_LCASE"}),),
    ),
    ColumnOfType("bytes", "BINARY", pa.binary(), [b"a", b"", None, b"\xff\x00", b"ab"], ("X'61'", "X''", "X'FF00'")),
    ColumnOfType(
        "day", "DATE", pa.date32(), _DAYS, ("DATE'2024-01-01'", "DATE'2024-01-02'", "DATE'9999-12-31'", "'2024-02-29'")
    ),
    ColumnOfType(
        "moment",
        "TIMESTAMP",
        pa.timestamp("us", "UTC"),
        [_moment(0), None, _moment(7.25), _moment(-500_000), _moment(0) + timedelta(microseconds=1), _moment(24)],
        ("TIMESTAMP'2024-01-01 00:00:00Z'", "TIMESTAMP'2024-01-01 00:00:00.000001Z'", "DATE'2024-01-02'"),
    ),
    ColumnOfType(
        "local",
        "TIMESTAMP_NTZ",
        pa.timestamp("us"),
        [_local(3), _local(-900_000), None, _local(5) + timedelta(microseconds=999), _local(3)],
        ("TIMESTAMP_NTZ'2024-01-01 03:00:00'", "TIMESTAMP_NTZ'2024-01-01 04:00:00'", "DATE'2024-01-01'"),
    ),
    ColumnOfType(
        "months",
        "INTERVAL YEAR TO MONTH",
        pa.int32(),
        [14, None, 0, -5],
        ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL '3' YEAR"),
        delta="interval year to month",
    ),
    ColumnOfType(
        "span",
        "INTERVAL DAY TO SECOND",
        pa.int64(),
        [93_784_500_000, 0, None, -1],
        ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL '7' HOUR"),
        delta="interval day to second",
    ),
    ColumnOfType("doc", "VARIANT", VARIANT, [*_VARIANTS, None], delta="variant"),
    ColumnOfType(
        "ints",
        "ARRAY<INT>",
        pa.list_(pa.field("element", pa.int32())),
        [[1, 2], [], None, [None, 2], [1, 2], [0]],
        ("array(1, 2)", "array(9)", "array()", "array(NULL, 2)"),
    ),
    ColumnOfType(
        "pairs",
        "ARRAY<STRUCT<x: BIGINT, y: STRING>>",
        pa.list_(pa.field("element", _PAIR)),
        [[{"x": 1, "y": "a"}], [], None, [{"x": None, "y": "b"}, None], [{"x": 1, "y": "a"}]],
        ("array(named_struct('x', 1L, 'y', 'a'))",),
    ),
    ColumnOfType(
        "counts",
        "MAP<STRING, INT>",
        pa.map_(pa.string(), pa.field("value", pa.int32())),
        [[("a", 1)], [], None, [("b", None), ("a", 2)], [("a", 1)]],
    ),
    ColumnOfType(
        "st",
        "STRUCT<x: INT, y: STRING, deep: STRUCT<z: DOUBLE, w: ARRAY<STRING>>>",
        _STRUCT,
        [
            {"x": 1, "y": "a", "deep": {"z": 0.5, "w": ["a", None]}},
            None,
            {"x": None, "y": None, "deep": None},
            {"x": 2, "y": "ab", "deep": {"z": NAN, "w": None}},
            {"x": 1, "y": "a", "deep": {"z": 0.5, "w": ["a", None]}},
        ],
        ("named_struct('x', 1, 'y', 'a', 'deep', named_struct('z', 0.5D, 'w', array('a', NULL)))",),
    ),
    ColumnOfType("a.b", "INT", pa.int32(), [1, 2, None, 1], ("1", "3")),
    ColumnOfType("two words", "STRING", pa.string(), ["a", None, "b"], ("'a'", "'c'")),
    ColumnOfType("ü", "DOUBLE", pa.float64(), [0.5, 1.25, None], ("0.5D", "0.75D")),
    ColumnOfType("UPPER", "STRING", pa.string(), ["x", "X", None, "y"], ("'x'", "'Y'")),
    ColumnOfType("part", "INT", pa.int32(), [1, 1, 1, 1, 2, 2, 2, 2, None, None, None, None], ("1", "2", "3", "NULL")),
    ColumnOfType("kind", "STRING", pa.string(), [*["k"] * 4, *[None] * 4, *["l"] * 4], ("'k'", "'m'")),
)
PARTITIONS = ("part", "kind")
FILES = 3
ROWS = 12


@dataclass(frozen=True)
class Shape:
    """How a table comes to its rows: of the plain one's, `deleted` are the rows that are no longer there."""

    name: str
    files: int = FILES
    rows: int = ROWS
    deleted: tuple[int, ...] = ()
    partition_by: tuple[str, ...] = ()
    mapping: str | None = None
    statistics: bool = True
    row_group_size: int = 1000

    @property
    def live(self) -> list[int]:
        return [at for at in range(self.rows) if at not in self.deleted]


SHAPES = (
    Shape("full"),
    Shape("deleted", deleted=(1, 3, 8, 9, 10, 11), row_group_size=2),
    Shape("parted", partition_by=PARTITIONS),
    Shape("one", files=1, rows=1),
    Shape("empty", files=0, rows=0),
    Shape("emptied", files=1, rows=4, deleted=(0, 1, 2, 3)),
    Shape("mapped", mapping="name"),
    Shape("untold", statistics=False),
)


def column(name: str) -> ColumnOfType:
    (found,) = [column for column in COLUMNS if column.name == name]
    return found


def arrow_rows(numbers: Sequence[int], columns: Sequence[ColumnOfType] = COLUMNS) -> pa.Table:
    """The rows of these numbers."""
    arrays = [pa.array([of.values[at % len(of.values)] for at in numbers], of.arrow) for of in columns]
    return pa.Table.from_arrays(arrays, names=[of.name for of in columns])


def write_delta(root: Path, shape: Shape) -> str:
    """The table as Delta, one file a commit."""
    fields = [
        {
            "name": of.name,
            "type": of.delta or spark_type(of.arrow),
            "nullable": True,
            "metadata": dict(of.metadata),
        }
        for of in COLUMNS
    ]
    fields.append({"name": "nothing", "type": "void", "nullable": True, "metadata": {}})
    if shape.mapping:
        number = 100
        for field in fields:
            number = _map_inside(field["type"], number)
    built = DeltaBuilder(
        root / shape.name,
        {"type": "struct", "fields": fields},
        partition_by=shape.partition_by,
        features=["deletionVectors", "timestampNtz", "variantType"],
        mapping=shape.mapping,
    )
    stored = [of for of in COLUMNS if of.name not in shape.partition_by]
    size = max(1, shape.rows // max(1, shape.files))
    for file in range(shape.files):
        numbers = range(file * size, (file + 1) * size)
        values = {name: column(name).values[numbers[0] % len(column(name).values)] for name in shape.partition_by}
        added = built.append(
            arrow_rows(numbers, stored),
            partition={name: None if value is None else str(value) for name, value in values.items()},
            stats=shape.statistics,
            row_group_size=shape.row_group_size,
        )
        if gone := [at - numbers[0] for at in shape.deleted if at in numbers]:
            built.delete(added, gone)
    return built.path


def _map_inside(kind: Any, number: int) -> int:
    """Give the fields inside a type an id and the name that they have in files, which is their own."""
    if not isinstance(kind, dict):
        return number
    for field in kind.get("fields", ()):
        number += 1
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
        number = _map_inside(field["type"], number)
    for part in ("elementType", "keyType", "valueType"):
        number = _map_inside(kind.get(part), number)
    return number


def write_copy(rows: pa.Table, file: Path) -> None:
    """Plain Parquet with nothing to skip by: Spark would drop a NaN, which pyarrow leaves out of statistics."""
    pq.write_table(rows, file, write_statistics=False, use_dictionary=False)


def declare_copy(spark: SparkSession, root: Path, shape: Shape) -> str:
    """The same rows as Parquet, under a name of the session's catalog; gives the name of a view with all columns."""
    folder = root / f"{shape.name}_copy"
    folder.mkdir(parents=True)
    live = shape.live
    for at in range(0, len(live), 5):
        write_copy(arrow_rows(live[at : at + 5]), folder / f"part-{at}.parquet")
    columns = ", ".join(f"{of.quoted} {of.spark}" for of in COLUMNS)
    spark.sql(f"DROP TABLE IF EXISTS {shape.name}_copy")
    spark.sql(f"CREATE TABLE {shape.name}_copy ({columns}) USING parquet LOCATION '{folder}'")
    spark.sql(f"SELECT *, NULL AS nothing FROM {shape.name}_copy").createOrReplaceTempView(f"theirs_{shape.name}")
    return f"theirs_{shape.name}"


def declare(spark: SparkSession, root: Path, shape: Shape) -> None:
    """Both sides of a shape: the views `ours_<shape>` and `theirs_<shape>`."""
    path = write_delta(root, shape)
    lakescan.attach(spark, f"matrix_{shape.name}", path)
    spark.table(f"lake.matrix_{shape.name}").createOrReplaceTempView(f"ours_{shape.name}")
    declare_copy(spark, root, shape)
