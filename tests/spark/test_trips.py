"""How often Python and the JVM call each other to plan a query: each trip takes a tenth of a millisecond or more."""

from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from py4j.clientserver import ClientServerConnection
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

import lakescan
from lakescan.spark.bridge import Bridge, Proxy
from tests.tables import DeltaBuilder

pytestmark = pytest.mark.spark

WIDE = pa.schema([(f"column_{at}", pa.int64()) for at in range(40)])


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every command that Python sends from now on, but those by which Py4J lets go of objects."""
    sent: list[str] = []
    send = ClientServerConnection.send_command

    def counted(self: Any, command: str) -> Any:
        if not command.startswith("m\nd\n"):
            sent.append(command)
        return send(self, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", counted)
    return sent


def test_a_table_of_forty_columns_is_planned_in_no_more_trips_for_its_columns_than_one_of_two(
    spark: SparkSession, tmp_path: Path, trips: list[str]
) -> None:
    fewest = []
    for name, schema in {"narrow": pa.schema(list(WIDE)[:2]), "wide": WIDE}.items():
        built = DeltaBuilder(tmp_path / name, schema)
        built.append(pa.table({field.name: [1] for field in schema}))
        lakescan.attach(spark, name, built.path)
        counts = []
        for _ in range(3):
            # From the second time on every class is known.
            del trips[:]
            spark.sql(f"SELECT column_0 FROM lake.{name} WHERE column_1 = 1")._jdf.queryExecution().executedPlan()
            counts.append(len(trips))
        fewest.append(min(counts))
    # Other threads of the session may ask something meanwhile; a trip for each column would be 38 more.
    assert fewest[1] - fewest[0] < len(WIDE) - 2
    assert min(fewest) > 0


class Answers(Proxy):
    """Counts what it is asked."""

    ANSWERS_AT_FIRST = ("negate",)

    def __init__(self, bridge: Bridge, token: str = "answers") -> None:
        super().__init__(bridge)
        self.asked: list[str] = []
        self._token = token

    @property
    def token(self) -> str:
        self.asked.append("token")
        return self._token

    def negate(self) -> None:
        self.asked.append("negate")

    def test(self, _: object) -> bool:
        self.asked.append("test")
        return True

    class Java:
        implements = ("java.util.function.Predicate",)


def test_java_asks_python_once_for_what_does_not_change(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    answers = Answers(bridge)
    java = bridge.remembered(answers)
    assert [str(java.toString()) for _ in range(3)] == ["answers"] * 3
    assert answers.asked == ["token"]
    # Null is an answer too.
    assert [java.negate() for _ in range(3)] == [None] * 3
    assert answers.asked == ["token", "negate"]


def test_a_text_with_more_to_come_is_asked_for_again(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    answers = Answers(bridge, "more to come …")
    java = bridge.remembered(answers)
    assert [str(java.toString()) for _ in range(2)] == ["more to come …"] * 2
    answers._token = "all"
    assert [str(java.toString()) for _ in range(2)] == ["all"] * 2
    assert answers.asked == ["token"] * 3


def test_an_answer_that_holds_at_first_is_asked_for_again_once_java_has_told_something(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    answers = Answers(bridge)
    java = bridge.remembered(answers)
    java.negate()
    java.test("something")
    java.negate()
    java.negate()
    assert answers.asked == ["negate", "test", "negate", "negate"]


def test_objects_of_pythons_are_equal_by_their_text_and_are_found_again(spark: SparkSession) -> None:
    bridge = Bridge(spark)
    first, second, other = Answers(bridge), Answers(bridge), Answers(bridge, "others")
    java = bridge.remembered(first)
    assert java.equals(bridge.remembered(second))
    assert java.hashCode() == bridge.remembered(second).hashCode()
    assert not java.equals(bridge.remembered(other))
    assert not java.equals(None)
    assert bridge.python_object(java) is first


def test_settings_are_read_in_few_trips_with_and_without_sparks_prefix(spark: SparkSession, trips: list[str]) -> None:
    bridge = Bridge(spark)
    for name, value in {"lakescan.a": "1", "spark.lakescan.b": "x -> y", "other.lakescan.c": "2"}.items():
        spark.conf.set(name, value)
    try:
        bridge.confs("lakescan.")
        del trips[:]
        known = bridge.confs("lakescan.")
        assert len(trips) <= 4
        assert (known["lakescan.a"], known["spark.lakescan.b"]) == ("1", "x -> y")
        assert "other.lakescan.c" not in known
    finally:
        for name in ("lakescan.a", "spark.lakescan.b", "other.lakescan.c"):
            spark.conf.unset(name)


def test_a_columns_comment_and_notes_reach_spark_as_they_are_in_the_schema(spark: SparkSession) -> None:
    schema = (
        '{"type":"struct","fields":[{"name":"a","type":"long","nullable":false,'
        '"metadata":{"comment":"how many","delta.identity.start":7,"deep":{"er":[1,2]}}},'
        '{"name":"b","type":"string","nullable":true,"metadata":{}}]}'
    )
    first, second = Bridge(spark).columns(schema)
    assert (first.name(), first.nullable(), first.comment()) == ("a", False, "how many")
    notes = spark._jvm.org.apache.spark.sql.types.Metadata.fromJson(first.metadataInJSON())  # type: ignore[union-attr]
    assert notes.getLong("delta.identity.start") == 7
    assert list(notes.getMetadata("deep").getLongArray("er")) == [1, 2]
    assert not notes.contains("comment")
    assert (second.name(), second.comment(), second.metadataInJSON()) == ("b", None, "{}")
    assert second.dataType().json() == '"string"'


def test_rows_of_every_simple_type_are_those_that_spark_makes_of_them(spark: SparkSession) -> None:
    moment = datetime(1969, 12, 31, 23, 59, 59, 999_999)
    values: dict[str, tuple[pa.DataType, list[Any]]] = {
        "boolean": (pa.bool_(), [True, False, None]),
        "byte": (pa.int8(), [-128, 127, None]),
        "short": (pa.int16(), [-(2**15), 2**15 - 1, None]),
        "integer": (pa.int32(), [-(2**31), 2**31 - 1, None]),
        "long": (pa.int64(), [-(2**63), 2**63 - 1, None]),
        "float": (pa.float32(), [float("-inf"), 0.5, None]),
        "double": (pa.float64(), [1e308, 5e-324, None]),
        "decimal(9,2)": (pa.decimal128(9, 2), [Decimal("-1234567.89"), Decimal("0.01"), None]),
        "decimal(38,10)": (pa.decimal128(38, 10), [Decimal("9" * 28 + "." + "9" * 10), Decimal(0), None]),
        "string": (pa.string(), ["", "añ\0𝄞", None]),
        "binary": (pa.binary(), [b"", b"\xff\0", None]),
        "date": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), None]),
        "timestamp": (pa.timestamp("us", "UTC"), [moment.replace(tzinfo=timezone.utc), None, None]),
        "timestamp_ntz": (pa.timestamp("us"), [moment, datetime(9999, 12, 31), None]),
    }
    fields = [{"name": name, "type": name, "nullable": True, "metadata": {}} for name in values]
    schema = StructType.fromJson({"type": "struct", "fields": fields})
    rows = pa.table({name: pa.array(items, type_) for name, (type_, items) in values.items()})
    made = Bridge(spark).internal_rows(rows, schema)
    expected = spark.createDataFrame(rows, schema)._jdf.queryExecution().executedPlan().executeCollect()
    assert len(made) == len(expected) == 3
    assert [made[at].equals(expected[at]) for at in range(3)] == [True] * 3
    assert len(Bridge(spark).internal_rows(rows.slice(0, 0), schema)) == 0
