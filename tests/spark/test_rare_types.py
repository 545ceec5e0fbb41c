"""Types that few tables have, through Spark SQL: CHAR inside nested types, intervals, and columns with odd names."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakescan
from tests.tables import DeltaBuilder, spark_field

pytestmark = pytest.mark.spark
_NOTE = "__CHAR_VARCHAR_TYPE_STRING"


def _chars(root: Path) -> str:
    """Values as some writers leave them, without the blanks that a CHAR has."""
    inner = pa.struct([("a", pa.string()), ("b", pa.string())])
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("s", inner),
            ("l", pa.list_(pa.field("element", pa.string()))),
            ("m", pa.map_(pa.string(), pa.string())),
        ]
    )
    fields = [spark_field(field) for field in schema]
    raw = {"s": "struct<a:char(4),b:varchar(4)>", "l": "array<char(3)>", "m": "map<char(2),varchar(9)>"}
    for field in fields[1:]:
        field["metadata"] = {_NOTE: raw[field["name"]]}
    table = DeltaBuilder(root, {"type": "struct", "fields": fields})
    rows = [
        {"id": 1, "s": {"a": "x", "b": "x"}, "l": ["a", None], "m": [("k", "v")]},
        {"id": 2, "s": None, "l": None, "m": []},
    ]
    table.append(pa.Table.from_pylist(rows, schema=schema))
    return table.path


# As Delta Spark 4.4 shows the same table.
CHARS = [(1, ("x   ", "x"), ["a  ", None], {"k ": "v"}), (2, None, None, {})]


def test_a_char_inside_a_struct_array_or_map_is_padded_as_delta_spark_pads_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = _chars(tmp_path)
    actual = lakescan.open(path).snapshot().scan().build().to_arrow().to_pylist()
    assert [row["s"] and (row["s"]["a"], row["s"]["b"]) for row in actual] == [("x   ", "x"), None]
    assert [row["l"] for row in actual] == [["a  ", None], None]
    assert [dict(row["m"]) for row in actual] == [{"k ": "v"}, {}]
    rows = spark.sql(f"SELECT * FROM delta.`{path}` ORDER BY id").collect()
    assert [(row.id, row.s and tuple(row.s), row.l, row.m) for row in rows] == CHARS
    assert spark.sql(f"SELECT s.b, l FROM delta.`{path}` WHERE id = 1").collect() == [("x", ["a  ", None])]
    assert spark.sql(f"SELECT max(s.a) FROM delta.`{path}`").collect() == [("x   ",)]


def test_intervals_are_sparks_intervals(spark: SparkSession, tmp_path: Path) -> None:
    kinds = {"ym": "interval year to month", "y": "interval year", "dt": "interval day to second", "h": "interval hour"}
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    inside: dict[str, Any] = {"type": "struct", "fields": fields}
    schema = {"type": "struct", "fields": [*fields, {"name": "s", "type": inside, "nullable": True, "metadata": {}}]}
    stored = [("ym", pa.int32()), ("y", pa.int32()), ("dt", pa.int64()), ("h", pa.int64())]
    row = {"ym": 14, "y": 36, "dt": 93_784_500_000, "h": 25_200_000_000}
    nothing = dict.fromkeys([*row, "s"])
    table = DeltaBuilder(tmp_path, schema)
    # As Spark writes them: plain integers.
    table.append(
        pa.Table.from_pylist([{**row, "s": row}, nothing], pa.schema([*stored, ("s", pa.struct(stored))])), stats=False
    )
    names = [*kinds, *(f"s.{name}" for name in kinds)]
    shown = ", ".join(f"CAST({name} AS STRING)" for name in names)
    texts = (
        "INTERVAL '1-2' YEAR TO MONTH",
        "INTERVAL '3' YEAR",
        "INTERVAL '1 02:03:04.5' DAY TO SECOND",
        "INTERVAL '07' HOUR",
    )
    view = f"delta.`{table.path}`"
    rows = sorted(map(tuple, spark.sql(f"SELECT {shown} FROM {view}").collect()), key=repr)
    assert rows == sorted([(*texts, *texts), (None,) * 8], key=repr)
    for name, text in zip(kinds, texts, strict=True):
        for query, expected in [
            (f"SELECT count(*) FROM {view} WHERE {name} = {text}", "1"),
            (f"SELECT count(*) FROM {view} WHERE {name} > {text}", "0"),
            (f"SELECT count(*) FROM {view} WHERE {name} IS NULL", "1"),
            (f"SELECT CAST(max({name}) = {text} AS STRING) FROM {view}", "true"),
            (f"SELECT CAST(sum({name}) = {text} AS STRING) FROM {view}", "true"),
            (f"SELECT CAST({name} IS NULL AS STRING) FROM {view} ORDER BY {name} DESC LIMIT 1", "false"),
        ]:
            ((answer,),) = spark.sql(query).collect()
            assert str(answer) == expected, query


NAMES = [
    "a.b",
    "a`b",
    " ",
    "ä",
    "A B",
    "é",
    "a b,c",
    "`",
    ".",
    "select",
    "x[0]",
    "日本",
    "a\nb",
    "'q'",
    '"d"',
    "null",
    "*",
]


def test_columns_with_any_name_can_be_filtered_sorted_grouped_and_counted(spark: SparkSession, tmp_path: Path) -> None:
    inner = pa.struct([pa.field(name, pa.int64(), nullable=False) for name in NAMES])
    schema = pa.schema([*[(name, pa.int64()) for name in NAMES], ("s", inner)])
    table = DeltaBuilder(tmp_path, schema)
    for start in (0, 2):
        rows = [
            {**{name: start + row + at for at, name in enumerate(NAMES)}, "s": dict.fromkeys(NAMES, start + row)}
            for row in range(2)
        ]
        table.append(pa.Table.from_pylist(rows, schema=schema))
    for at, name in enumerate(NAMES):
        quoted = "`" + name.replace("`", "``") + "`"
        for column, value in ((quoted, at + 2), (f"s.{quoted}", 2)):
            queries = [
                f"SELECT {column} AS v FROM TABLE WHERE {column} = {value}",
                f"SELECT {column} AS v FROM TABLE WHERE {column} IN ({value}, -1, -2, -3, -4, -5)",
                f"SELECT max({column}) - 1 AS v FROM TABLE",
                f"SELECT {column} AS v FROM TABLE WHERE {column} > {value} - 1 ORDER BY {column} LIMIT 1",
                f"SELECT {column} AS v FROM TABLE GROUP BY {column} HAVING {column} = {value}",
            ]
            text = " UNION ALL ".join(f"({query})" for query in queries).replace("TABLE", f"delta.`{table.path}`")
            assert spark.sql(text).collect() == [(value,)] * len(queries), name


def test_names_are_found_in_any_case_and_exactly_where_the_session_says_so(spark: SparkSession, tmp_path: Path) -> None:
    schema = pa.schema([("Id", pa.int64()), ("S", pa.struct([pa.field("X", pa.int64(), nullable=False)]))])
    table = DeltaBuilder(tmp_path, schema)
    table.append(pa.Table.from_pylist([{"Id": 1, "S": {"X": 5}}, {"Id": 2, "S": None}], schema=schema))
    view = f"delta.`{table.path}`"
    assert spark.sql(f"SELECT iD FROM {view} WHERE s.x = 5 AND ID < 2").collect() == [(1,)]
    assert spark.sql(f"SELECT max(s.x), min(id) FROM {view}").collect() == [(5, 1)]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert spark.sql(f"SELECT Id FROM {view} WHERE S.X = 5").collect() == [(1,)]
        with pytest.raises(PySparkException, match="UNRESOLVED_COLUMN"):
            spark.sql(f"SELECT id FROM {view}").collect()
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


@pytest.mark.parametrize("kind", ["geometry(OGC:CRS84)", "geography(OGC:CRS84, SPHERICAL)"])
def test_shapes_on_the_earth_are_refused_by_name(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    fields = [{"name": "g", "type": kind, "nullable": True, "metadata": {}}]
    table = DeltaBuilder(tmp_path, {"type": "struct", "fields": fields})
    with pytest.raises(PySparkException, match=r"\[LAKESCAN_UNSUPPORTED_TYPE\] Column g has the type geo"):
        spark.sql(f"SELECT * FROM delta.`{table.path}`").collect()
