"""Offsets as Delta Spark 4.4 wrote them into its checkpoints, and the ones that Lakescan writes for it."""

import json
from typing import Any

import pytest

from lakescan.errors import InvalidOffset
from lakescan.formats.delta.stream.offset import Position, StreamOffset, parse_offset
from lakescan.stream.offset import not_begun

TABLE = "dea61720-8587-4c1c-b135-a4ef35535b66"
# The lines of a checkpoint, each after the batch of two files before it: in the initial snapshot of version 1, behind
# it, at a renamed column, after the new schema was written down, inside version 3, behind it.
WRITTEN_BY_DELTA = [
    (f'{{"sourceVersion":1,"reservoirId":"{TABLE}","reservoirVersion":1,"index":1,"isStartingVersion":true}}',
     Position(1, 2, snapshot=True)),
    (f'{{"sourceVersion":1,"reservoirId":"{TABLE}","reservoirVersion":2,"index":-1,"isStartingVersion":false}}',
     Position(2)),
    (f'{{"sourceVersion":3,"reservoirId":"{TABLE}","reservoirVersion":2,"index":-20,"isStartingVersion":false}}',
     Position(2)),
    (f'{{"sourceVersion":3,"reservoirId":"{TABLE}","reservoirVersion":2,"index":-19,"isStartingVersion":false}}',
     Position(2)),
    (f'{{"sourceVersion":1,"reservoirId":"{TABLE}","reservoirVersion":3,"index":1,"isStartingVersion":false}}',
     Position(3, 2)),
    (f'{{"sourceVersion":1,"reservoirId":"{TABLE}","reservoirVersion":4,"index":-1,"isStartingVersion":false}}',
     Position(4)),
]  # fmt: skip


def delta(**fields: Any) -> dict[str, Any]:
    whole = {
        "sourceVersion": 1,
        "reservoirId": TABLE,
        "reservoirVersion": 7,
        "index": 0,
        "isStartingVersion": False,
    }
    return {name: value for name, value in {**whole, **fields}.items() if value is not None}


def parsed(fields: dict[str, Any]) -> StreamOffset:
    offset = parse_offset(fields)
    assert offset is not None
    return offset


@pytest.mark.parametrize(("text", "position"), WRITTEN_BY_DELTA)
def test_an_offset_that_delta_wrote_names_the_next_file(text: str, position: Position) -> None:
    offset = parsed(json.loads(text))
    assert (offset.table_id, offset.position, offset.origin, offset.by_delta) == (TABLE, position, None, True)


@pytest.mark.parametrize(
    ("form", "index", "position"),
    [
        (1, -1, Position(7)),
        (1, -100, Position(7)),
        (1, -20, Position(7)),
        (1, -19, Position(7)),
        (1, 0, Position(7, 1)),
        (3, -100, Position(7)),
        (3, -20, Position(7)),
        (3, -19, Position(7)),
        (3, 0, Position(7, 1)),
        (3, 12, Position(7, 13)),
    ],
)
def test_every_index_of_both_forms_is_understood(form: int, index: int, position: Position) -> None:
    assert parsed(delta(sourceVersion=form, index=index)).position == position
    at_start = parsed(delta(sourceVersion=form, index=index, isStartingVersion=True)).position
    assert at_start == Position(position.version, position.index, snapshot=True)


@pytest.mark.parametrize(
    "fields",
    [
        {"sourceVersion": 0},
        {"sourceVersion": 2},
        {"sourceVersion": 4},
        {"sourceVersion": "1"},
        {"sourceVersion": True},
        {"sourceVersion": 3, "index": -1},
        {"index": -2},
        {"index": -101},
        # Behind all files of a version: Delta keeps it to itself.
        {"index": 2**63 - 101},
        {"index": 2**63},
        {"index": 1.0},
        {"index": None},
        {"reservoirVersion": -1},
        {"reservoirVersion": "7"},
        {"reservoirVersion": None},
        {"reservoirId": None},
        {"isStartingVersion": None},
        {"isStartingVersion": 0},
    ],
)
def test_an_offset_that_delta_cannot_have_written_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidOffset, match="malformed"):
        parse_offset(delta(**fields))


@pytest.mark.parametrize(
    ("position", "index"),
    [
        (Position(4), -1),
        (Position(4, 1), 0),
        (Position(4, 9), 8),
        (Position(4, 0, snapshot=True), -1),
        (Position(4, 3, snapshot=True), 2),
    ],
)
@pytest.mark.parametrize("origin", [None, Position(2), Position(3, snapshot=True), Position(4)])
def test_a_written_offset_is_deltas_and_says_more_only_inside_of_a_version_or_before_anything_was_given(
    position: Position, index: int, origin: Position | None
) -> None:
    offset = StreamOffset(TABLE, origin, position)
    fields = json.loads(json.dumps(offset.to_json()))
    deltas = delta(reservoirVersion=4, index=index, isStartingVersion=position.snapshot)
    assert {name: fields[name] for name in deltas} == deltas
    if position.index or position == origin:
        assert parsed(fields) == offset
    else:
        assert fields == deltas
        assert parsed(fields) == StreamOffset(TABLE, None, position, by_delta=True)


@pytest.mark.parametrize("text", [text for text, position in WRITTEN_BY_DELTA if not position.index])
def test_an_offset_behind_a_version_is_deltas_letter_by_letter(text: str) -> None:
    written = json.dumps(parsed(json.loads(text)).to_json(), separators=(",", ":"))
    assert written == text.replace('"sourceVersion":3', '"sourceVersion":1').replace(":-20", ":-1").replace(
        ":-19", ":-1"
    )


def test_an_offset_of_a_release_that_had_a_form_of_its_own_goes_on() -> None:
    before = {"lakescanOffset": 1, "tableId": TABLE, "version": 5, "index": 2, "initialSnapshot": True}
    assert parsed(before) == StreamOffset(TABLE, None, Position(5, 2, snapshot=True))
    begun = parsed({**before, "initialSnapshot": False, "originVersion": 3, "originSnapshot": True})
    assert begun == StreamOffset(TABLE, Position(3, snapshot=True), Position(5, 2))
    assert parsed(begun.to_json()) == begun
    assert parsed({**before, "batch": {"files": 3}}) == parsed(before)
    assert parse_offset(not_begun()) is None


def test_what_goes_on_from_deltas_offset_is_lakescans_own() -> None:
    offset = parsed(delta()).at(Position(9, 4))
    assert not offset.by_delta
    assert not parsed(offset.to_json()).by_delta
