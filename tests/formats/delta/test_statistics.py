import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakescan.formats.delta.log.actions import StatisticsRequest
from lakescan.formats.delta.statistics.parsed import parse_statistics, typed_statistics

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def parsed(texts: list[str | None], schema: pa.Schema, physical: pa.Schema | None = None) -> list[dict[str, Any]]:
    statistics = parse_statistics(pa.array(texts, pa.string()), StatisticsRequest(schema, physical or schema))
    statistics.validate(full=True)
    rows: list[dict[str, Any]] = statistics.to_pylist()
    return rows


def bounds(low: Any, high: Any, kind: pa.DataType) -> tuple[Any, Any]:
    """The bounds of a column that a writer gave these in JSON."""
    text = json.dumps({"numRecords": 5, "minValues": {"c": low}, "maxValues": {"c": high}}, ensure_ascii=False)
    (row,) = parsed([text], pa.schema([("c", kind)]))
    return row["minimum"]["c"], row["maximum"]["c"]


def cut_as_delta_does(low: str, high: str, style: str) -> tuple[str, str]:
    """Minimum and maximum of a file as Delta Spark writes them, by the three rules it has had."""
    if style == "utf16":
        units_low, units_high = low.encode("utf-16-le")[:64], high.encode("utf-16-le")[:64]
        # Java writes half of a pair as a question mark.
        first = _from_java(units_low)
        return first, high if len(high.encode("utf-16-le")) <= 64 else _from_java(units_high) + "\ufffd"
    last = "\ufffd" if style == "characters" else "\U0010ffff"
    return low[:32], high if len(high) <= 32 else high[:32] + last


def _from_java(units: bytes) -> str:
    return units.decode("utf-16-le", errors="surrogatepass").encode("utf-8", errors="replace").decode()


TEXTS = st.text(
    st.one_of(st.sampled_from("aab?\ufffd\U0010ffff😀"), st.characters(exclude_categories=["Cs"])), max_size=45
)


@pytest.mark.parametrize("style", ["utf16", "characters", "last"])
@given(first=TEXTS, second=TEXTS)
@settings(max_examples=60, deadline=None)
def test_bounds_of_text_hold_every_value_however_they_were_cut(style: str, first: str, second: str) -> None:
    low, high = sorted([first, second], key=str.encode)
    lower, upper = bounds(*cut_as_delta_does(low, high, style), pa.string())
    assert lower.encode() <= low.encode()
    assert upper.encode() >= high.encode()


@given(st.integers(-(10**16), 10**16), st.integers(0, 10**12))
@settings(max_examples=60, deadline=None)
def test_bounds_of_times_hold_every_microsecond_though_they_were_cut_to_milliseconds(start: int, length: int) -> None:
    low, high = EPOCH + timedelta(microseconds=start), EPOCH + timedelta(microseconds=start + length)
    first, last = (moment.isoformat(timespec="milliseconds").replace("+00:00", "Z") for moment in (low, high))
    lower, upper = bounds(first, last, pa.timestamp("us", "UTC"))
    assert lower <= low
    assert upper >= high
    local_low, local_high = bounds(first[:-1], last[:-1], pa.timestamp("us"))
    assert local_low <= low.replace(tzinfo=None)
    assert local_high >= high.replace(tzinfo=None)


@given(st.integers(-(10**30) + 1, 10**30 - 1), st.integers(-(10**30) + 1, 10**30 - 1), st.sampled_from([0, 2, 10, 30]))
@settings(max_examples=100, deadline=None)
def test_bounds_of_decimals_hold_every_value_though_they_were_rounded_to_doubles(
    one: int, two: int, scale: int
) -> None:
    low, high = sorted(Decimal(number).scaleb(-scale) for number in (one, two))
    kind = pa.decimal128(30, scale)
    for written in ((float(low), float(high)), (_Exact(low), _Exact(high))):
        text = f'{{"minValues": {{"c": {written[0]!r}}}, "maxValues": {{"c": {written[1]!r}}}}}'
        (row,) = parsed([text], pa.schema([("c", kind)]))
        lower, upper = row["minimum"]["c"], row["maximum"]["c"]
        assert lower is None or lower <= low
        assert upper is None or upper >= high


class _Exact(Decimal):
    def __repr__(self) -> str:
        return format(self, "f")


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        (pa.int32(), 1, 5, (1, 5)),
        (pa.int64(), -(2**63), 2**63 - 1, (-(2**63), 2**63 - 1)),
        (pa.float64(), -1.5, 1e300, (-1.5, 1e300)),
        (pa.bool_(), False, True, (False, True)),
        (pa.date32(), "2024-01-01", "2024-12-31", (date(2024, 1, 1), date(2024, 12, 31))),
        (pa.decimal128(10, 2), 1.5, 2, (Decimal("1.50"), Decimal("2.00"))),
        (pa.string(), "a", "b", ("a", "b")),
        (pa.binary(), "a", "b", (None, None)),
        (pa.int32(), 2**40, 5, (None, 5)),
        (pa.int32(), "one", 5, (None, 5)),
        (pa.date32(), "yesterday", "2024-12-31", None),
        (pa.timestamp("us", "UTC"), "2024", 5, (None, None)),
    ],
    ids=str,
)
def test_a_bound_is_a_value_of_the_columns_type_or_unknown(
    kind: pa.DataType, low: Any, high: Any, expected: Any
) -> None:
    actual = bounds(low, high, kind)
    # One odd date may cost the others theirs; it may not become a date.
    assert actual[0] is None if expected is None else actual == expected


WHOLE = '{"numRecords": 5, "minValues": {"a": 1}, "maxValues": {"a": 9}, "nullCount": {"a": 0}}'
ODD = [
    None,
    "",
    "  ",
    "null",
    " null ",
    "{}",
    "{} null",
    "[]",
    "5",
    '"text"',
    "{",
    "not JSON",
    '{"numRecords": 5}{"numRecords": 6}',
    '{"numRecords": null}',
    '{"numRecords": "NaN"}',
    '{"minValues": {"a": "NaN"}}',
    '{"minValues": {"a": {"b": 1}}}',
    '{"minValues": [1], "maxValues": 5}',
    '{"minValues": {"a": 1e400}}',
    '{"minValues": {"a": "\\ud83d"}}',
    '{"maxValues": {"a": 99999999999999999999999}}',
    "\ufeff{}",
]


@given(st.lists(st.sampled_from(ODD), max_size=5), st.lists(st.sampled_from(ODD), max_size=5))
@settings(max_examples=60, deadline=None)
def test_odd_statistics_are_unknown_and_cost_no_other_file_its_own(before: list[Any], after: list[Any]) -> None:
    schema = pa.schema([("a", pa.int64())])
    statistics = parsed([*before, WHOLE, *after], schema)
    assert len(statistics) == len(before) + 1 + len(after)
    whole = {"row_count": 5, "minimum": {"a": 1}, "maximum": {"a": 9}, "null_count": {"a": 0}}
    assert {key: statistics[len(before)][key] for key in whole} == whole
    for row in statistics[: len(before)] + statistics[len(before) + 1 :]:
        assert (row["minimum"] or {}).get("a") is None
        assert (row["maximum"] or {}).get("a") is None


def test_pretty_printed_statistics_are_read() -> None:
    text = json.dumps(json.loads(WHOLE), indent=2).replace("\n", "\r\n")
    assert parsed([text, WHOLE], pa.schema([("a", pa.int64())]))[0]["minimum"] == {"a": 1}


def test_nan_as_a_bound_does_not_cost_the_file_its_other_bounds() -> None:
    text = '{"numRecords": 2, "minValues": {"d": 1.5, "a": 1}, "maxValues": {"d": "NaN", "a": 2}}'
    (row,) = parsed([text], pa.schema([("a", pa.int64()), ("d", pa.float64())]))
    assert row["minimum"] == {"a": 1, "d": 1.5}
    assert row["maximum"]["a"] == 2
    assert row["maximum"]["d"] is None or row["maximum"]["d"] != row["maximum"]["d"]


def test_statistics_are_found_in_physical_names_at_every_depth() -> None:
    logical = pa.schema([("s", pa.struct([("x.y", pa.int64())])), ("none", pa.int64())])
    physical = pa.schema([("c1", pa.struct([("c2", pa.int64())])), ("c3", pa.int64())])
    text = '{"minValues": {"c1": {"c2": 1}, "s": 7, "none": 7}, "nullCount": {"c1": {"c2": 3}}}'
    (row,) = parsed([text], logical, physical)
    assert row["minimum"] == {"s": {"x.y": 1}, "none": None}
    assert row["null_count"] == {"s": {"x.y": 3}, "none": None}


def test_parsed_statistics_of_a_checkpoint_are_widened_alike() -> None:
    moment = datetime(2024, 1, 1, 0, 0, 0, 123_000)
    statistics = pa.array([{"numRecords": 3, "minValues": {"t": moment, "i": 1}, "maxValues": {"t": moment, "i": 2}}])
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("i", pa.int32())])
    (row,) = typed_statistics(statistics, StatisticsRequest(schema, schema)).to_pylist()
    utc = moment.replace(tzinfo=timezone.utc)
    assert row["minimum"]["t"] <= utc
    assert row["maximum"]["t"] >= utc + timedelta(microseconds=999)
    assert (row["minimum"]["i"], row["maximum"]["i"], row["null_count"]) == (1, 2, None)


def test_no_files_have_no_statistics() -> None:
    assert parsed([], pa.schema([("a", pa.int64())])) == []
    assert [row["row_count"] for row in parsed([WHOLE, None], pa.schema([]))] == [5, None]
