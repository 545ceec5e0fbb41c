"""Rows in each form, as they arrive."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakescan.cli.answers import FORMATS, write_rows

ROWS = pa.table(
    {
        "id": pa.array([1, None], pa.int64()),
        "text": ['a,"b"\n', "\x1b[31mred"],
        "at": pa.array([datetime(2024, 1, 1, tzinfo=timezone.utc), None], pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "tags": pa.array([[("k", [1])], None], pa.map_(pa.string(), pa.list_(pa.int32()))),
        "bytes": [b"\x00\xff", None],
        "nan": [float("nan"), 1.5],
    }
)


def written(form: str, path: Path) -> str:
    assert write_rows(ROWS.schema, ROWS.to_batches(), form, str(path)) == 2
    return path.read_text(encoding="utf-8") if form != "parquet" else ""


def test_csv_holds_the_values_as_they_are(tmp_path: Path) -> None:
    header, first, second = csv.reader(io.StringIO(written("csv", tmp_path / "rows"), newline=""))
    assert header == ROWS.schema.names
    assert first == ["1", 'a,"b"\n', "2024-01-01 00:00:00+00:00", "1.50", '{"k": [1]}', "00ff", "nan"]
    assert second == ["", "\x1b[31mred", "", "", "", "", "1.5"]


def test_json_is_an_object_a_line(tmp_path: Path) -> None:
    first, second = map(json.loads, written("json", tmp_path / "rows").splitlines())
    assert (first["id"], first["price"], first["tags"], first["nan"]) == (1, "1.50", {"k": [1]}, "nan")
    assert second["text"] == "\x1b[31mred"


def test_a_table_shows_what_a_terminal_would_act_on_by_its_codes(tmp_path: Path) -> None:
    header, rule, first, second = written("table", tmp_path / "rows").splitlines()
    assert header.split() == ROWS.schema.names
    assert set(rule) == {"─", " "}
    assert 'a,"b"\\n' in first
    assert "\\x1b[31mred" in second
    assert second.lstrip().startswith("NULL")


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    written("parquet", tmp_path / "rows")
    assert pq.read_table(tmp_path / "rows").slice(1).equals(ROWS.slice(1))


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_is_there_only_when_it_is_whole(form: str, tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(ROWS.schema, failing(), form, str(tmp_path / "rows"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_written_while_others_are_still_to_come(form: str, tmp_path: Path) -> None:
    many = pa.table({"id": pa.array(range(200_000), pa.int64())})
    written: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in many.to_batches(max_chunksize=20_000):
            written.append((tmp_path / "rows.part").stat().st_size)
            yield batch

    assert write_rows(many.schema, batches(), form, str(tmp_path / "rows")) == 200_000
    assert 0 < written[5] < written[-1] < (tmp_path / "rows").stat().st_size
