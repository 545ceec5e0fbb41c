from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import AmbiguousColumn, InvalidFilter, UnknownColumn
from lakescan.predicate import Column, Comparison, In, IsNull, Literal, Not, StartsWith, bind, col, parse

from .strategies import SCHEMA

UTC = timezone.utc


def bound_literal(column: str, value: Any) -> Literal:
    bound = bind(col(column) == value, SCHEMA)
    assert isinstance(bound, Comparison)
    assert isinstance(bound.right, Literal)
    return bound.right


def bound_values(column: str, values: list[Any]) -> tuple[Literal, ...]:
    bound = bind(col(column).isin(values), SCHEMA)
    assert isinstance(bound, In)
    return bound.values


def test_names_take_the_spelling_of_the_schema_at_every_level() -> None:
    assert bind(col("BOX.Deep.S").is_null(), SCHEMA) == IsNull(Column(("box", "deep", "s")))


def test_an_exact_name_wins_over_one_that_differs_in_case() -> None:
    schema = pa.schema([("a", pa.int64()), ("A", pa.int64())])
    assert bind(col("A").is_null(), schema) == IsNull(Column(("A",)))


def test_a_name_that_fits_two_columns_is_ambiguous() -> None:
    schema = pa.schema(
        [("id", pa.int64()), ("Id", pa.int64()), ("box", pa.struct([("x", pa.int8()), ("X", pa.int8())]))]
    )
    with pytest.raises(AmbiguousColumn, match="id, Id"):
        bind(col("ID") == 1, schema)
    twice = pa.schema([("id", pa.int64()), ("id", pa.int64())])
    with pytest.raises(AmbiguousColumn):
        bind(col("id") == 1, twice)


@pytest.mark.parametrize("name", ["missing", "box.missing", "box.x.y", "i64.x", "box.deep.s.t"])
def test_a_name_that_fits_no_column_is_unknown(name: str) -> None:
    with pytest.raises(UnknownColumn, match=name):
        bind(col(name).is_null(), SCHEMA)


def test_an_unknown_field_is_told_what_its_struct_has() -> None:
    with pytest.raises(UnknownColumn, match=r"box\.x, box\.f, box\.deep"):
        bind(col("box.y").is_null(), SCHEMA)


@pytest.mark.parametrize(
    ("column", "text", "value", "kind"),
    [
        ("i8", " 5 ", 5, pa.int8()),
        ("i32", "-7", -7, pa.int32()),
        ("i8", "300", 300, pa.int64()),
        ("f32", "1.5", 1.5, pa.float64()),
        ("f64", "1e3d", 1000.0, pa.float64()),
        ("f64", "-Infinity", float("-inf"), pa.float64()),
        ("money", "0.1", 0.1, pa.float64()),
        ("flag", "Yes", True, pa.bool_()),
        ("flag", "0", False, pa.bool_()),
        ("y", "a", b"a", pa.binary()),
        ("day", "2020-2-9", date(2020, 2, 9), pa.date32()),
        ("day", "2020", date(2020, 1, 1), pa.date32()),
        ("day", "2020-02-29T99", date(2020, 2, 29), pa.date32()),
        ("tn", "2020-02-29 1:2", datetime(2020, 2, 29, 1, 2), pa.timestamp("us")),
        ("ts", "2020-02", datetime(2020, 2, 1, tzinfo=UTC), pa.timestamp("us", "UTC")),
        (
            "ts",
            "2020-02-29 05:03:02.1234567 UTC",
            datetime(2020, 2, 29, 5, 3, 2, 123456, UTC),
            pa.timestamp("us", "UTC"),
        ),
        ("ts", "2020-02-29T05:03:02+2:3", datetime(2020, 2, 29, 3, 0, 2, 0, UTC), pa.timestamp("us", "UTC")),
        ("ts", "2020-02-29T05:03:02-02", datetime(2020, 2, 29, 7, 3, 2, 0, UTC), pa.timestamp("us", "UTC")),
    ],
)
def test_a_string_is_read_as_the_columns_type_like_spark_does(
    column: str, text: str, value: Any, kind: pa.DataType
) -> None:
    assert bound_literal(column, text) == Literal(value, kind)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ("i64", "5.0"),
        ("i64", "five"),
        ("i64", "9223372036854775808"),
        ("i64", "\u0662"),
        ("f64", "1_0"),
        ("f64", "1e"),
        ("flag", "on"),
        ("day", "20200101"),
        ("day", "2020-13-01"),
        ("day", "2020-"),
        ("day", "123456-01-01"),
        ("ts", "2020-01-01 24:00:00"),
        ("ts", "2020-01-01 05:03Z"),
        ("ts", "2020-01-01 05:03:01-18:30"),
        ("ts", "2020-01-01 05:03:01 Europe/Paris"),
        ("tn", "2020-01-01 05:03:01Z"),
        ("ts", "yesterday"),
    ],
)
def test_a_string_that_is_no_value_of_the_columns_type_is_refused(column: str, text: str) -> None:
    with pytest.raises(InvalidFilter, match="is no "):
        bind(col(column) == text, SCHEMA)


def test_a_date_meets_a_timestamp_at_midnight_utc() -> None:
    assert bound_literal("ts", date(2020, 1, 1)) == Literal(datetime(2020, 1, 1, tzinfo=UTC), pa.timestamp("us", "UTC"))
    assert bound_literal("tn", date(2020, 1, 1)) == Literal(datetime(2020, 1, 1), pa.timestamp("us"))
    assert bound_literal("day", datetime(2020, 1, 1, 5)) == Literal(datetime(2020, 1, 1, 5), pa.timestamp("us"))


def test_timestamps_with_and_without_zone_meet_in_utc() -> None:
    assert bound_literal("ts", datetime(2020, 1, 1)).value == datetime(2020, 1, 1, tzinfo=UTC)
    assert bound_literal("tn", datetime(2020, 1, 1, tzinfo=UTC)).value == datetime(2020, 1, 1)


def test_a_float_column_meets_every_number_as_a_double() -> None:
    for value in (1, Decimal("0.1"), 0.1, 10**30):
        assert bound_literal("f32", value) == Literal(float(value), pa.float64())


def test_an_integer_column_meets_a_double_as_a_double() -> None:
    assert bound_literal("i64", 2.5) == Literal(2.5, pa.float64())


def test_whole_numbers_take_the_columns_type_when_they_fit() -> None:
    assert bound_literal("i8", 5) == Literal(5, pa.int8())
    assert bound_literal("i8", Decimal("5.00")) == Literal(5, pa.int8())
    assert bound_literal("money", 5) == Literal(Decimal("5.00"), pa.decimal128(9, 2))


def test_a_number_that_does_not_fit_the_column_stays_as_it_is() -> None:
    assert bound_literal("i8", 300) == Literal(300, pa.int64())
    assert bound_literal("i8", Decimal("0.5")) == Literal(Decimal("0.5"), pa.decimal128(1, 1))
    assert bound_literal("money", Decimal("0.005")) == Literal(Decimal("0.005"), pa.decimal128(3, 3))


def test_a_double_in_an_in_list_makes_the_whole_list_doubles() -> None:
    assert bound_values("i64", [1, 2.5, None]) == (
        Literal(1.0, pa.float64()),
        Literal(2.5, pa.float64()),
        Literal(None, pa.null()),
    )
    assert {value.type for value in bound_values("money", [1, "2"])} == {pa.float64()}


def test_a_string_in_an_in_list_is_read_as_the_type_of_the_whole_list() -> None:
    noon = datetime(2020, 1, 1, 12)
    assert [value.value for value in bound_values("day", [noon, "2020-01-01 12:00"])] == [noon, noon]
    assert [value.value for value in bound_values("i8", [1, "2"])] == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "box = 1",
        "box in (1)",
        "startswith(box, 'x')",
        "i64 like 'a%'",
        "i64 like '5'",
        "s = 5",
        "s = true",
        "s = date '2020-01-01'",
        "flag = 1",
        "i64 = true",
        "day = 5",
        "ts > 1.5",
        "i64 = X'61'",
        "i64 = s",
        "day = i64",
        "s = day",
        "box = box",
        "i64",
        "i64 in (1, true)",
        "i64 in ('1', 2.5)",
    ],
)
def test_what_cannot_be_compared_is_refused(text: str) -> None:
    with pytest.raises(InvalidFilter):
        bind(parse(text), SCHEMA)


def test_lists_and_maps_can_only_be_asked_for_null() -> None:
    schema = pa.schema([("l", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.int64()))])
    for name in ("l", "m"):
        assert bind(~col(name).is_null(), schema) == Not(IsNull(Column((name,))))
        with pytest.raises(InvalidFilter, match="IS NULL"):
            bind(col(name) == 1, schema)


def test_an_untyped_column_accepts_every_literal() -> None:
    for value in (1, "x", 1.5, date(2020, 1, 1), None):
        bind(col("nothing") == value, SCHEMA)
    assert bind(col("nothing").startswith("x"), SCHEMA) == StartsWith(Column(("nothing",)), "x")


def test_binding_twice_changes_nothing() -> None:
    once = bind(parse("I8 = 5 AND money IN (1, 2.5) AND (TS < '2020-01-01' OR NOT box.X <=> NULL)"), SCHEMA)
    assert bind(once, SCHEMA) == once
