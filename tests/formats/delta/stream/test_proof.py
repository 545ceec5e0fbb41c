"""A start whose snapshot cannot be rebuilt, where the state in force there is still proven; and where it is not."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakescan.errors import StartNotRebuilt
from tests.formats.delta.stream.engine import Engine
from tests.tables import DeltaBuilder, spark_schema


def ids(first: int, last: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, last + 1), pa.int64())})


def cleaned(root: Path, changes_at: int | None = None) -> DeltaBuilder:
    """0: the table; 1 to 5: one id each; a checkpoint at 5. The commits 0 to 2 are gone, so 3 cannot be rebuilt."""
    built = DeltaBuilder(root, pa.schema([("id", pa.int64())]))
    for number in range(1, 6):
        if number == changes_at:
            built.schema = spark_schema(pa.schema([("id", pa.int64()), ("extra", pa.string())]))
            built.commit(built.metadata(), built.add(ids(number, number)))
        else:
            built.append(ids(number, number))
    built.checkpoint()
    for version in range(3):
        (built.log / f"{version:020d}.json").unlink()
    return built


def checksum(built: DeltaBuilder, version: int, **other: Any) -> None:
    fields = {**built.protocol(), "metadata": {**built.metadata()["metaData"], **other}}
    (built.log / f"{version:020d}.crc").write_text(json.dumps(fields))


def old_schema() -> dict[str, Any]:
    return {"schemaString": json.dumps(spark_schema(pa.schema([("id", pa.int64())])))}


def given(built: DeltaBuilder, start: int) -> list[int]:
    engine = Engine(built.path, {"startingVersion": start})
    engine.drain()
    return sorted(row["id"] for row in engine.rows)


def test_a_newer_checkpoint_proves_a_start_where_no_commit_between_changes_the_state(tmp_path: Path) -> None:
    assert given(cleaned(tmp_path), 3) == [3, 4, 5]


def test_a_start_after_which_the_metadata_changed_is_refused_where_nothing_proves_it(tmp_path: Path) -> None:
    with pytest.raises(StartNotRebuilt, match=r"cannot read version 3 in startingVersionMode exact"):
        given(cleaned(tmp_path, changes_at=5), 3)


@pytest.mark.parametrize("version", [2, 3])
def test_a_checksum_of_the_version_or_of_the_one_before_proves_a_start(tmp_path: Path, version: int) -> None:
    built = cleaned(tmp_path, changes_at=5)
    checksum(built, version, **old_schema())
    assert given(built, 3) == [3, 4, 5]


def test_a_commit_that_says_protocol_and_metadata_itself_proves_its_start(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(1, 1))
    built.commit(built.protocol(), built.metadata(), built.add(ids(2, 2)))
    built.append(ids(3, 3))
    built.checkpoint()
    built.clean_log(2)
    assert given(built, 2) == [2, 3]


def test_a_checksum_that_says_another_schema_than_the_commits_proves_nothing(tmp_path: Path) -> None:
    built = DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))
    built.append(ids(1, 1))
    # This commit has a metadata of its own; the protocol is known only from its checksum, which has another metadata.
    built.commit(built.metadata(), built.add(ids(2, 2)))
    built.commit({"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}})
    built.checkpoint()
    built.clean_log(2)
    checksum(built, 2)
    assert given(built, 2) == [2]
    checksum(built, 2, partitionColumns=["id"])
    with pytest.raises(StartNotRebuilt):
        given(built, 2)


def test_witnesses_that_disagree_prove_nothing(tmp_path: Path) -> None:
    built = cleaned(tmp_path)
    checksum(built, 3, partitionColumns=["id"])
    with pytest.raises(StartNotRebuilt):
        given(built, 3)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"protocol": 1, "metadata": 2}', "[" * 100_000])
def test_a_damaged_checksum_proves_nothing(tmp_path: Path, text: str) -> None:
    built = cleaned(tmp_path, changes_at=5)
    (built.log / f"{3:020d}.crc").write_text(text)
    with pytest.raises(StartNotRebuilt):
        given(built, 3)
