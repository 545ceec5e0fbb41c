"""Delete blocks: their keys come with a value that Hudi writes in one of thirteen types, by a number.

`tests/data/hudi/make_healthy.py` had Hudi's own classes write a block of each.
"""

import json

import pytest

from lakescan.formats.hudi.slices.log_blocks import DELETE_BLOCK, LogBlock
from lakescan.formats.hudi.slices.log_records import records_in
from tests.sample_tables import DATA

BLOCKS: dict[str, str] = json.loads((DATA / "hudi" / "delete_blocks.json").read_text())
ALONE = ["null", "boolean", "int", "long", "float", "double", "bytes", "string", "date", "decimal", "time", "timestamp"]


def block(content: bytes) -> LogBlock:
    return LogBlock(DELETE_BLOCK, {0: "20240101000000000"}, content)


def test_there_is_a_block_for_every_branch_of_hudis_unions() -> None:
    """The last of the first union is the array; that has a type more."""
    assert set(BLOCKS) == {*ALONE, *(f"array of {kind}" for kind in [*ALONE, "local date"])}
    branches = {bytes.fromhex(text)[20] // 2 for kind, text in BLOCKS.items() if kind in ALONE}
    assert branches == set(range(12))
    in_arrays = {bytes.fromhex(text)[23] // 2 for kind, text in BLOCKS.items() if kind not in ALONE}
    assert in_arrays == set(range(13))


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_delete_that_is_ordered_by_any_type_is_whole(kind: str) -> None:
    assert records_in(block(bytes.fromhex(BLOCKS[kind]))) == 1


@pytest.mark.parametrize("kind", BLOCKS)
def test_a_delete_block_whose_length_or_branch_is_another_is_not(kind: str) -> None:
    whole = bytearray.fromhex(BLOCKS[kind])
    for at, value in ((7, whole[7] + 1), (20, 26)):
        damaged = bytes([*whole[:at], value, *whole[at + 1 :]])
        with pytest.raises((ValueError, IndexError, EOFError)):
            records_in(block(damaged))
    with pytest.raises((ValueError, IndexError, EOFError)):
        records_in(block(bytes([*whole[:7], whole[7] + 1, *whole[8:], 0])))
