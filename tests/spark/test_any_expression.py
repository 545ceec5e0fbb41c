"""Whatever expression Spark's V2 translation can make, over columns of every type: the same answer with and without
pushdown, and never an error of ours."""

from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakescan
from lakescan.scan.settings import setting_names
from lakescan.spark.dsv2 import scan_builder
from lakescan.spark.dsv2.predicates import read_expressions
from lakescan.types.schema import VARIANT
from tests.examples import seeds
from tests.spark.expressions import FUNCTIONS, LITERALS, Words
from tests.tables import DeltaBuilder, spark_field

pytestmark = pytest.mark.spark
OFF = {name: False for name in setting_names() if ".pushdown." in name}
UTC = timezone.utc

INNER = pa.struct([pa.field("z", pa.int32(), nullable=False), pa.field("w", pa.float64())])
STRUCT = pa.struct(
    [
        pa.field("x", pa.int64(), nullable=False),
        pa.field("y", pa.string()),
        pa.field("inner", INNER, nullable=False),
        pa.field("ints", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("m", pa.decimal128(7, 2), nullable=False),
        pa.field("k", pa.bool_()),
    ]
)
ELEMENT = pa.struct([pa.field("x", pa.int64(), nullable=False), pa.field("y", pa.string())])
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("i", pa.int32()),
        ("h", pa.int16()),
        ("y", pa.int8()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("m", pa.decimal128(7, 2)),
        ("big", pa.decimal128(38, 10)),
        ("s", pa.string()),
        ("folded", pa.string()),
        ("c", pa.string()),
        ("vc", pa.string()),
        ("b", pa.binary()),
        ("t", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("k", pa.bool_()),
        ("ints", pa.list_(pa.field("element", pa.int32()))),
        ("structs", pa.list_(pa.field("element", ELEMENT, nullable=False))),
        ("map", pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
        ("st", STRUCT),
        pa.field("req", pa.struct([pa.field("n", pa.int32(), nullable=False)]), nullable=False),
        ("v", VARIANT),
    ]
)
PARTITIONS = pa.schema([("p", pa.int32()), ("q", pa.string()), ("r", pa.date32())])
# The number 5, and {"a": 1, "b": true}, as Spark encodes them.
VARIANTS = [
    {"value": b"\x0c\x05", "metadata": b"\x01\x00\x00"},
    None,
    {"value": b"\x02\x02\x00\x01\x00\x02\x03\x0c\x01\x04", "metadata": b"\x01\x02\x00\x01\x02ab"},
]


def _rows(file: int) -> pa.Table:
    ids = range(file * 6, file * 6 + 6)
    when = datetime(2024, 1, 1)
    texts = ["a", "ab", None, "bä", "  a ", "Ab" * (file + 1)]
    rows = [
        {
            "id": at,
            "i": None if at % 5 == 0 else at - 6,
            "h": at % 4,
            "y": None if at % 7 == 0 else at % 3,
            "f": [0.0, -0.0, 1.5, None, float("nan"), -2.25][at % 6],
            "d": [0.5, None, float("nan"), -0.0, 2.0, at / 3][at % 6],
            "m": Decimal(at - 5) / 4,
            "big": None if at % 6 == 1 else Decimal(at) / 8,
            "s": texts[at % 6],
            "folded": ["A", "a", "aB", None, "b", "Z"][at % 6],
            "c": ["a", "ab", None, "b", "abc", "z"][at % 6],
            "vc": texts[(at + 2) % 6],
            "b": [b"a", b"", None, b"\xff", b"ab", b"b"][at % 6],
            "t": None if at % 6 == 2 else date(2023, 12, 28) + timedelta(days=at * 9),
            "ts": None if at % 6 == 3 else (when + timedelta(hours=at * 7)).replace(tzinfo=UTC),
            "n": None if at % 6 == 4 else when + timedelta(hours=at * 5, microseconds=at),
            "k": [True, False, None][at % 3],
            "ints": [[1, at], [], None, [None, 2], [at], [0]][at % 6],
            "structs": [[{"x": at, "y": "a"}], [], None, [{"x": 1, "y": None}], [], []][at % 6],
            "map": [[("a", at)], [], None, [("b", 1), ("a", 2)], [], [("a", 0)]][at % 6],
            "st": None
            if at % 6 == 5
            else {
                "x": at - 3,
                "y": texts[at % 6],
                "inner": {"z": at % 5, "w": None if at % 2 else at / 2},
                "ints": None if at % 6 == 1 else [at],
                "m": Decimal(at),
                "k": at % 2 == 0,
            },
            "req": {"n": at % 3},
            "v": VARIANTS[at % 3],
        }
        for at in ids
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> str:
    fields = [spark_field(field) for field in [*SCHEMA, *PARTITIONS]]
    for field in fields:
        if field["name"] == "v":
            field["type"] = "variant"
        if field["name"] == "folded":
            field["metadata"] = {"__COLLATIONS": {"folded": "spark.UTF8_LCASE"}}
        if field["name"] in ("c", "vc"):
            kind = "char(4)" if field["name"] == "c" else "varchar(20)"
            field["metadata"] = {"__CHAR_VARCHAR_TYPE_STRING": kind}
    features = ["deletionVectors", "timestampNtz", "variantType"]
    schema = {"type": "struct", "fields": fields}
    built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, partition_by=["p", "q", "r"], features=features)
    for file in range(4):
        partition = {"p": [None, "1", "2", "1"][file], "q": ["a", "b", None, "ab"][file], "r": f"2024-0{file + 1}-01"}
        added = built.append(_rows(file), partition=partition, row_group_size=3)
        if file == 1:
            built.delete(added, [0, 3])
    return built.path


@pytest.fixture(scope="module")
def views(spark: SparkSession, table: str) -> tuple[str, str]:
    """The table with every pushdown and with none."""
    lakescan.read(spark, table).createOrReplaceTempView("any_on")
    lakescan.read(spark, table, options=OFF).createOrReplaceTempView("any_off")
    return "any_on", "any_off"


@pytest.fixture
def pushed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What kinds of expressions Spark pushes: names of functions, and of classes that have none."""
    seen: set[str] = set()
    read = read_expressions

    def walk(expression: Any) -> None:
        kind = str(expression.getClass().getSimpleName())
        seen.add(kind)
        if kind == "Extract":
            seen.add(str(expression.field()))
        elif kind in ("Predicate", "And", "Or", "Not", "GeneralScalarExpression"):
            seen.add(str(expression.name()))
        for child in expression.children():
            walk(child)

    def record(bridge: Any, expressions: Any) -> Any:
        for expression in expressions:
            walk(expression)
        return read(bridge, expressions)

    monkeypatch.setattr(scan_builder, "read_expressions", record)
    return seen


def _answer(query: Callable[[], DataFrame]) -> tuple[str, list[Any]]:
    """The rows, or the condition of the error that Spark raised; an error of ours is raised."""
    try:
        return "", sorted(repr(tuple(row)) for row in query().collect())
    except PySparkException as error:
        condition = error.getCondition() or str(error)[:80]
        if "LAKESCAN" in str(error):
            raise
        return condition, []


def _same(spark: SparkSession, views: tuple[str, str], query: str) -> bool:
    """Whether both answered; whatever Spark computes without pushdown it must also compute with it."""
    on, off = (lambda view=view: spark.sql(query.replace("TABLE", view)) for view in views)
    expected = _answer(off)
    if expected[0]:
        _answer(on)
        return False
    assert _answer(on) == expected, query
    return True


def test_every_function_of_the_translation_gives_the_same_rows_with_and_without_pushdown(
    spark: SparkSession, views: tuple[str, str], pushed: set[str]
) -> None:
    words = Words(7)
    filters = []
    for _, kind, text in FUNCTIONS:
        filled = words.plainly(text)
        filters.append(filled if kind == "bool" else f"{filled} <= {LITERALS[kind][0]}")
    # Spark evaluates the conditions as columns, with nothing to push: the rows that each must keep.
    columns = ", ".join(f"({text}) AS c{at}" for at, text in enumerate(filters))
    rows = spark.sql(f"SELECT id, {columns} FROM {views[1]}").collect()
    expected = {(at, row.id) for row in rows for at in range(len(filters)) if row[at + 1]}
    actual = set()
    for start in range(0, len(filters), 15):
        parts = [f"SELECT {at} AS at, id FROM {views[0]} WHERE {filters[at]}" for at in range(len(filters))]
        actual |= {tuple(row) for row in spark.sql(" UNION ALL ".join(parts[start : start + 15])).collect()}
    wrong = {filters[at] for at, _ in actual ^ expected}
    assert not wrong
    version = tuple(map(int, spark.version.split(".")[:2]))
    # Spark pushes a comparison with <> as the NOT of an equality, and takes an AND apart.
    wanted = {name for name, _, _ in FUNCTIONS} - {"", "<>", "AND", "GET_ARRAY_ITEM", "VARIANT_GET", "CAST"} | {"Cast"}
    wanted |= {"GetArrayItem"} if version >= (4, 1) else set()
    wanted |= {"VariantGet"} if version >= (4, 3) else set()
    assert wanted - pushed == set()


@pytest.mark.parametrize("seed", seeds(25))
def test_a_random_filter_gives_the_same_rows_with_and_without_pushdown(
    spark: SparkSession, views: tuple[str, str], seed: int
) -> None:
    words = Words(seed)
    condition = " AND ".join(
        words.expression("bool", words.random.randint(1, 4)) for _ in range(words.random.randint(1, 3))
    )
    _same(spark, views, f"SELECT id, st, structs FROM TABLE WHERE {condition}")


AGGREGATES = ["min({e})", "max({e})", "count({e})", "count(DISTINCT {e})"]


@pytest.mark.parametrize("seed", seeds(12))
def test_a_random_aggregate_or_group_gives_the_same_rows_with_and_without_pushdown(
    spark: SparkSession, views: tuple[str, str], seed: int
) -> None:
    words = Words(1000 + seed)
    depth = words.random.randint(0, 2)
    kind = words.random.choice(["int", "double", "decimal", "text", "date", "moment", "local", "bool", "folded"])
    inside = words.expression(kind, depth)
    if inside in LITERALS[kind]:
        # Spark hands COUNT(DISTINCT literal) over as COUNT(*), to every source: see docs/aggregates.md.
        inside = words.filled(f"{{{kind}}}", 0)
    functions = words.random.sample(AGGREGATES, words.random.randint(1, 3))
    if kind in ("int", "decimal"):
        functions.append(words.random.choice(["sum({e})", "avg({e})"]))
    given = ", ".join(function.replace("{e}", inside) for function in functions)
    key = words.expression(words.random.choice(["int", "text", "date", "bool"]), words.random.randint(0, 2))
    condition = words.random.choice(["true", words.expression("bool", 1)])
    grouped = words.random.choice(["", f" GROUP BY {key}"])
    keys = f"{key}, " if grouped else ""
    _same(spark, views, f"SELECT {keys}{given} FROM TABLE WHERE {condition}{grouped}")


@pytest.mark.parametrize("seed", seeds(8))
def test_a_random_order_gives_the_same_first_rows_with_and_without_pushdown(
    spark: SparkSession, views: tuple[str, str], seed: int
) -> None:
    words = Words(2000 + seed)
    kind = words.random.choice(
        ["int", "double", "decimal", "text", "date", "moment", "local", "bool", "folded", "bytes"]
    )
    by = words.expression(kind, words.random.randint(0, 2))
    direction = words.random.choice(["ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"])
    limit = words.random.choice([1, 3, 10])
    _same(spark, views, f"SELECT id, st.x FROM TABLE ORDER BY {by} {direction}, id LIMIT {limit}")


@pytest.mark.parametrize("seed", seeds(4))
def test_a_random_join_gives_the_same_rows_with_and_without_pushdown(
    spark: SparkSession, views: tuple[str, str], seed: int
) -> None:
    words = Words(3000 + seed)
    kind = words.random.choice(["int", "text", "date"])
    left, right = (words.expression(kind, depth) for depth in (0, words.random.randint(0, 1)))
    condition = words.expression("bool", 1)
    dimension = f"(SELECT id AS other, {right} AS key FROM TABLE WHERE {condition})"
    _same(spark, views, f"SELECT /*+ BROADCAST(b) */ id, other FROM TABLE JOIN {dimension} b ON {left} = b.key")
