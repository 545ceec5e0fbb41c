"""Text that a file stores by dictionary: the same rows as of any other file, and damage that is named."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakescan
from lakescan.errors import CorruptDataFile
from lakescan.io.storage import Storage
from lakescan.predicate import TRUE, Column
from lakescan.reader.aggregation import Aggregate, Aggregation
from lakescan.reader.dictionaries import decoded, with_dictionary
from lakescan.reader.parquet_file import ParquetRows
from tests.examples import examples
from tests.tables import DeltaBuilder

TEXTS = st.lists(st.none() | st.sampled_from(["", "a", "ab", "b", "ä"]), min_size=1, max_size=40)
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
FILTERS = [
    "s = 'ab'",
    "s <> 'a'",
    "NOT (s <=> 'a')",
    "s <=> NULL",
    "s IS NULL OR s > 'a'",
    "s IN ('a', NULL)",
    "NOT (s IN ('a', 'zz'))",
    "s LIKE 'a%' AND id > 2",
    "s = 'never'",
]


def rows_of(file: Path, filtered: frozenset[str]) -> list[pa.RecordBatch]:
    rows = ParquetRows.open(Storage.at(file.parent), file.name, SCHEMA, SCHEMA, by_dictionary=filtered)
    return [batch for group in rows.groups(0, 1 << 62, TRUE) for batch in rows.batches(group)]


@pytest.mark.parametrize("filter_", FILTERS)
@given(texts=TEXTS, deleted=st.booleans())
@settings(max_examples=examples(15), deadline=None)
def test_a_filter_gives_the_rows_that_it_gives_of_plain_text(
    filter_: str, texts: list[str | None], deleted: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    texts = texts * 3
    found = []
    for by_dictionary in (True, False):
        built = DeltaBuilder(tmp_path_factory.mktemp("t"), SCHEMA, features=["deletionVectors"])
        ids = pa.array(range(len(texts)), pa.int64())
        rows = pa.table({"id": ids, "s": pa.array(texts, pa.string())})
        added = built.append(rows, use_dictionary=by_dictionary, row_group_size=50)
        if deleted:
            built.delete(added, [0])
        found.append(lakescan.open(built.path).snapshot().scan().filter(filter_).build().to_arrow())
    assert found[0].equals(found[1])


@given(texts=TEXTS, where=st.sampled_from(["TRUE", "s <> 'a'", "id > 1 OR s IS NULL", "id > 4"]))
@settings(max_examples=examples(60), deadline=None)
def test_groups_by_text_are_those_of_plain_text(
    texts: list[str | None], where: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    how = Aggregation(
        (Column(("s",)), Column(("p",))), (Aggregate("sum", Column(("id",))), Aggregate("max", Column(("s",))))
    )
    found = []
    for by_dictionary in (True, False):
        schema = pa.schema([*SCHEMA, ("p", pa.string())])
        built = DeltaBuilder(tmp_path_factory.mktemp("t"), schema, partition_by=["p"])
        for at, part in enumerate((texts, texts[::-1], ["only here", None])):
            rows = pa.table({"id": pa.array(range(len(part)), pa.int64()), "s": pa.array(part, pa.string())})
            built.append(rows, partition={"p": "xy"[at % 2]}, use_dictionary=by_dictionary, row_group_size=7)
        plan = lakescan.open(built.path).snapshot().scan().filter(where).aggregate(how).build()
        found.append(plan.to_arrow().to_pylist())
    assert found[0] == found[1]
    assert {row["key_0"] for row in found[0]} == {row["value_1"] for row in found[0]}


def test_only_what_a_file_stores_by_dictionary_comes_so(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array(range(100), pa.int64()), "s": pa.array(["x", None] * 50)}, SCHEMA)
    for name, written, filtered, coded in (
        ("a", {"use_dictionary": True}, {"s", "id"}, True),
        ("b", {"use_dictionary": ["id"]}, {"s"}, False),
        ("c", {"use_dictionary": True}, set(), False),
    ):
        pq.write_table(table, tmp_path / name, **written)
        (batch,) = rows_of(tmp_path / name, frozenset(filtered))
        assert isinstance(batch["s"], pa.DictionaryArray) == coded
        assert decoded(batch).equals(table.to_batches()[0])


def test_text_of_many_values_is_not_read_by_dictionary(tmp_path: Path) -> None:
    texts = [f"{at:040d}" for at in range(60_000)]
    pq.write_table(pa.table({"id": pa.array(range(60_000), pa.int64()), "s": texts}, SCHEMA), tmp_path / "f")
    batch = rows_of(tmp_path / "f", frozenset({"s"}))[0]
    assert batch.schema == SCHEMA


@pytest.mark.parametrize("index", [2, -1])
def test_an_index_that_is_in_no_dictionary_is_damage(index: int) -> None:
    damaged = pa.DictionaryArray.from_arrays(pa.array([0, index], pa.int32()), pa.array(["a", "b"]), safe=False)
    batch = pa.record_batch({"id": [1, 2], "s": ["", ""]}, SCHEMA)
    with pytest.raises(CorruptDataFile, match="its column s has indices that are in no dictionary"):
        with_dictionary("file.parquet", batch, 1, damaged)
