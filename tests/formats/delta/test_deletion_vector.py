import struct
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64

import lakescan
from lakescan.errors import CorruptDeletionVector, LakescanError, MissingDeletionVector
from lakescan.formats.delta.deletion_vector import DeletedRows, DeletionVectors, relative_path
from lakescan.io.storage import Storage
from tests.examples import examples
from tests.tables import DeltaBuilder, encode85

POSITIONS = st.sets(st.one_of(st.integers(0, 200), st.integers(0, 2**33), st.integers(0, 2**63)), max_size=50)


@pytest.fixture
def builder(tmp_path: Path) -> DeltaBuilder:
    return DeltaBuilder(tmp_path, pa.schema([("id", pa.int64())]))


def read(builder: DeltaBuilder, descriptor: dict[str, Any]) -> DeletedRows:
    return DeletionVectors(Storage.at(builder.path)).deleted_rows({"offset": None, **descriptor})


@pytest.mark.parametrize("storage", ["u", "p", "i"])
@given(positions=POSITIONS)
@settings(max_examples=examples(25), deadline=None)
def test_any_positions_come_back_from_any_kind_of_storage(
    storage: str, positions: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    builder = DeltaBuilder(tmp_path_factory.mktemp("t"), pa.schema([("id", pa.int64())]))
    deleted = read(builder, builder.vector(positions, storage))
    assert len(deleted) == len(positions)
    assert list(deleted.bitmap) == sorted(positions)


@given(POSITIONS, st.integers(0, 2**33), st.integers(0, 300))
@settings(max_examples=examples(100), deadline=None)
def test_between_is_the_set_of_positions_in_the_range(positions: set[int], start: int, length: int) -> None:
    rows = DeletedRows(BitMap64(positions))
    for begin in (start, min(positions, default=0)):
        expected = sorted(position for position in positions if begin <= position < begin + length)
        assert rows.between(begin, begin + length).tolist() == expected


def test_dense_runs_and_bitmaps_are_read_as_well_as_single_positions(builder: DeltaBuilder) -> None:
    positions = [*range(100_000), *range(200_000, 300_000, 3), 5_000_000_000]
    runs = BitMap64(positions)
    runs.run_optimize()
    data = struct.pack("<i", 1681511377) + runs.serialize()
    inline = {"storageType": "i", "pathOrInlineDv": encode85(data), "sizeInBytes": len(data)}
    deleted = read(builder, {**inline, "cardinality": len(positions)})
    assert deleted.between(99_990, 200_010).tolist() == [p for p in positions if 99_990 <= p < 200_010]


def stored(builder: DeltaBuilder) -> tuple[dict[str, Any], Path]:
    descriptor = builder.vector([1, 5, 9])
    return descriptor, next(builder.root.glob("deletion_vector_*.bin"))


def test_a_wrong_checksum_is_an_error_that_names_the_file(builder: DeltaBuilder) -> None:
    descriptor, file = stored(builder)
    content = bytearray(file.read_bytes())
    content[-6] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptDeletionVector, match=rf"{file}.*checksum"):
        read(builder, descriptor)


def test_a_wrong_size_is_an_error_that_names_the_file(builder: DeltaBuilder) -> None:
    descriptor, file = stored(builder)
    with pytest.raises(CorruptDeletionVector, match=rf"{file}.*size"):
        read(builder, {**descriptor, "sizeInBytes": descriptor["sizeInBytes"] - 4})


def test_a_wrong_cardinality_is_an_error_that_names_the_file(builder: DeltaBuilder) -> None:
    descriptor, file = stored(builder)
    with pytest.raises(CorruptDeletionVector, match=rf"{file}.*should delete 4 rows and deletes 3"):
        read(builder, {**descriptor, "cardinality": 4})


def test_a_wrong_magic_number_is_an_error_that_names_the_file(builder: DeltaBuilder) -> None:
    descriptor, file = stored(builder)
    data = b"\0\0\0\0" + file.read_bytes()[10:-4]
    file.write_bytes(b"\x01\x00" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data)))
    with pytest.raises(CorruptDeletionVector, match=rf"{file}.*magic"):
        read(builder, descriptor)


def test_an_unknown_format_of_the_file_is_refused(builder: DeltaBuilder) -> None:
    descriptor, file = stored(builder)
    file.write_bytes(b"\x02" + file.read_bytes()[1:])
    with pytest.raises(CorruptDeletionVector, match=rf"{file}.*only format 1 is known"):
        read(builder, descriptor)


@pytest.mark.parametrize("length", [0, 1, 5, 20])
def test_a_file_cut_short_is_an_error_that_names_it(builder: DeltaBuilder, length: int) -> None:
    descriptor, file = stored(builder)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(CorruptDeletionVector, match=str(file)):
        read(builder, descriptor)


def test_a_missing_file_is_an_error_that_names_it(builder: DeltaBuilder) -> None:
    descriptor, file = stored(builder)
    file.unlink()
    with pytest.raises(MissingDeletionVector, match=str(file)):
        read(builder, descriptor)


@pytest.mark.parametrize(
    "descriptor",
    [
        {"storageType": "x", "pathOrInlineDv": "", "sizeInBytes": 1, "cardinality": 1},
        {"storageType": "i", "pathOrInlineDv": "\x7f\x7f", "sizeInBytes": 1, "cardinality": 1},
        {"storageType": "i", "pathOrInlineDv": "é", "sizeInBytes": 1, "cardinality": 1},
        {"storageType": "i", "pathOrInlineDv": "", "sizeInBytes": 0, "cardinality": 0},
        {"storageType": "i", "pathOrInlineDv": "0rr91", "sizeInBytes": None, "cardinality": 0},
        {"storageType": "u", "pathOrInlineDv": "too-short", "sizeInBytes": 40, "cardinality": 1},
        {"storageType": "u", "pathOrInlineDv": "", "sizeInBytes": 40, "cardinality": 1},
    ],
    ids=str,
)
def test_a_descriptor_that_makes_no_sense_is_a_named_error(builder: DeltaBuilder, descriptor: dict[str, Any]) -> None:
    with pytest.raises(CorruptDeletionVector, match="the table's log"):
        read(builder, descriptor)


@given(data=st.data())
@settings(max_examples=examples(100), deadline=None)
def test_damaged_inline_bytes_are_refused_or_still_delete_as_many_rows(data: st.DataObject) -> None:
    builder_vector = struct.pack("<i", 1681511377) + BitMap64([1, 70_000, 2**40]).serialize()
    damaged = bytearray(builder_vector)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(4, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    descriptor = {"storageType": "i", "pathOrInlineDv": encode85(bytes(damaged)), "sizeInBytes": len(damaged)}
    try:
        deleted = DeletionVectors(Storage("/nowhere")).deleted_rows({**descriptor, "cardinality": 3, "offset": None})
    except LakescanError:
        return
    assert len(list(deleted.bitmap)) == len(deleted) == 3


def test_a_relative_vector_may_be_in_a_folder() -> None:
    identity = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    encoded = encode85(identity.bytes)
    assert relative_path(encoded) == f"deletion_vector_{identity}.bin"
    assert relative_path(f"ab{encoded}") == f"ab/deletion_vector_{identity}.bin"


@pytest.mark.parametrize("as_uri", [False, True])
def test_an_absolute_path_is_decoded_once(tmp_path: Path, as_uri: bool) -> None:
    builder = DeltaBuilder(tmp_path / "a%20b c", pa.schema([("id", pa.int64())]))
    add = builder.append(pa.table({"id": [1, 2, 3]}))
    vector = builder.vector([1], "p")
    where = quote(vector["pathOrInlineDv"])
    vector["pathOrInlineDv"] = f"file://{where}" if as_uri else where
    builder.commit(builder.remove(add), {"add": {**add["add"], "deletionVector": vector}})
    assert lakescan.open(builder.path).snapshot().scan().build().to_arrow()["id"].to_pylist() == [1, 3]
