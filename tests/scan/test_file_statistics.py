import pyarrow as pa
import pytest

from lakescan.predicate import Bounds, Column
from lakescan.scan.file_statistics import FileStatistics, counts_of, has_bounds, statistics_type

FIELDS = [
    pa.field("id", pa.int64(), nullable=False),
    pa.field("s", pa.struct([pa.field("x", pa.string(), nullable=False), ("l", pa.list_(pa.int64()))])),
]


def statistics() -> FileStatistics:
    shape = statistics_type(FIELDS)
    struct = pa.array(
        [
            {
                "row_count": 5,
                "minimum": {"id": 1, "s": {"x": "a"}},
                "maximum": {"id": 9, "s": {"x": "z"}},
                "null_count": {"id": 0, "s": {"x": 2, "l": 1}},
            },
            None,
        ],
        shape,
    )
    return FileStatistics(struct, pa.array([{"p": "one"}, {"p": None}]))


def shown(bounds: Bounds | None) -> list[tuple[object, ...]]:
    assert bounds is not None
    columns = (bounds.minimum, bounds.maximum, bounds.null_count, bounds.row_count)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def test_every_field_of_statistics_may_be_unknown_even_where_the_column_may_not_be_null() -> None:
    shape = statistics_type(FIELDS)
    assert all(field.nullable for field in shape.field("minimum").type)
    assert shape.field("maximum").type.field("s").type.field("x").nullable
    assert counts_of(FIELDS) == pa.struct(
        [("id", pa.int64()), ("s", pa.struct([("x", pa.int64()), ("l", pa.int64())]))]
    )


def test_bounds_of_top_level_and_nested_columns_are_unknown_for_a_file_without_statistics() -> None:
    assert shown(statistics().bounds(Column(("id",)))) == [(1, 9, 0, 5), (None, None, None, None)]
    assert shown(statistics().bounds(Column(("s", "x")))) == [("a", "z", 2, 5), (None, None, None, None)]


def test_a_partition_value_is_its_own_bound() -> None:
    assert shown(statistics().bounds(Column(("p",)))) == [("one", "one", 0, 1), (None, None, 1, 1)]


def test_nothing_is_known_of_a_column_without_statistics() -> None:
    assert statistics().bounds(Column(("other",))) is None
    assert statistics().bounds(Column(("s", "other"))) is None
    assert len(statistics()) == 2


@pytest.mark.parametrize(
    ("type_", "ordered"), [(pa.int64(), True), (pa.string(), True), (pa.null(), False), (pa.list_(pa.int64()), False)]
)
def test_only_plain_types_have_bounds(type_: pa.DataType, ordered: bool) -> None:
    assert has_bounds(type_) is ordered
