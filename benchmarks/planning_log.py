"""Delta logs of any size and shape, from a seed: a checkpoint, and commits after it. No data file is written.

The same shape and seed give the same bytes, up to Parquet's own version. Files stand in no order, as in the checkpoints
that Spark writes: neither days nor ids of neighbours are near each other.
"""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS_PER_FILE = 1000
DAYS = 365
CITIES = ("Amsterdam", "Berlin", "Chicago", "Delhi", "Edinburgh")
_ROW_GROUP = 250_000
_TEXTS = pa.map_(pa.string(), pa.string())
_VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_BOUNDS = pa.struct([("id", pa.int64()), ("amount", pa.float64()), ("city", pa.string())])
_COUNTS = pa.struct([(field.name, pa.int64()) for field in _BOUNDS])
_PARSED = pa.struct(
    [("numRecords", pa.int64()), ("minValues", _BOUNDS), ("maxValues", _BOUNDS), ("nullCount", _COUNTS)]
)
_PROTOCOL = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", pa.list_(pa.string())),
        ("writerFeatures", pa.list_(pa.string())),
    ]
)
_METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _TEXTS),
        ("createdTime", pa.int64()),
    ]
)
_SIDECAR = pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())])
_REMOVE = pa.struct([("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())])


@dataclass(frozen=True)
class LogShape:
    """What a log is like."""

    files: int
    """Files in the checkpoint."""
    statistics: str = "json"
    """`json` (text), `parsed` (columns), or `both`."""
    commits: int = 10
    """Commits after the checkpoint, each of so many files:"""
    files_per_commit: int = 100
    partitions: int = DAYS
    vectors: float = 0.0
    """The share of files with a deletion vector."""
    sidecars: int = 0
    """Above none: a V2 checkpoint with that many."""
    checksum: bool = True
    seed: int = 7

    @property
    def name(self) -> str:
        parts = [f"{self.files}", self.statistics, f"{self.commits}x{self.files_per_commit}", f"{self.partitions}days"]
        parts += [f"{self.vectors}vectors"] if self.vectors else []
        parts += [f"{self.sidecars}sidecars"] if self.sidecars else []
        return "planning_" + "_".join(parts) + ("" if self.checksum else "_unproven") + f"_{self.seed}"

    @property
    def total(self) -> int:
        return self.files + self.commits * self.files_per_commit

    @property
    def middle_id(self) -> int:
        """An id that is in one file."""
        return self.total // 2 * ROWS_PER_FILE + 5


def build(folder: Path, shape: LogShape) -> Path:
    """The table of that shape, written once and kept: a half-written one never gets the final name."""
    path = folder / shape.name
    if path.exists():
        return path
    unfinished = path.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    log = unfinished / "_delta_log"
    log.mkdir(parents=True)
    adds = _adds(shape)
    (log / f"{0:020d}.json").write_text(_lines({"protocol": _protocol(shape)}, {"metaData": _metadata(shape)}))
    _write_checkpoint(log, shape, adds.slice(0, shape.files))
    for at in range(shape.commits):
        first = shape.files + at * shape.files_per_commit
        added = adds.slice(first, shape.files_per_commit).to_pylist()
        info = {"commitInfo": {"timestamp": 1_700_000_000_000 + at, "operation": "WRITE", "operationParameters": {}}}
        (log / f"{at + 2:020d}.json").write_text(_lines(info, *({"add": _json_add(add)} for add in added)))
    if shape.checksum:
        (log / f"{shape.commits + 1:020d}.crc").write_text(json.dumps(_checksum(shape, adds)))
    unfinished.rename(path)
    return path


def _adds(shape: LogShape) -> pa.StructArray:
    """The add actions of all files, those of the checkpoint first."""
    random = np.random.default_rng(shape.seed)
    count = shape.total
    numbers = random.permutation(count)
    days = pa.array(np.datetime64("2024-01-01") + random.integers(0, shape.partitions, count)).cast(pa.string())
    low, high = numbers * ROWS_PER_FILE, numbers * ROWS_PER_FILE + ROWS_PER_FILE - 1
    cities = pa.array(CITIES).take(pa.array(random.integers(0, len(CITIES), count)))
    amounts = random.integers(0, 100_000, count) / 100
    name = pc.binary_join_element_wise(
        "day=", days, "/part-", _padded(numbers % 200, 5), "-", _hex(random, count), ".c000.snappy.parquet", ""
    )
    known: dict[str, Any] = {
        "path": name,
        "partitionValues": _day_maps(days),
        "size": pa.array(random.integers(1 << 20, 1 << 28, count)),
        "modificationTime": pa.array(1_600_000_000_000 + random.integers(0, 10**11, count)),
        "dataChange": pa.array(np.zeros(count, np.bool_)),
        "deletionVector": _vectors(random, shape, count),
    }
    if shape.statistics != "parsed":
        known["stats"] = _texts(low, high, amounts, cities)
    if shape.statistics != "json":
        known["stats_parsed"] = _parsed(low, high, amounts, cities)
        known["partitionValues_parsed"] = pa.StructArray.from_arrays([days.cast(pa.date32())], names=["day"])
    return pa.StructArray.from_arrays(list(known.values()), names=list(known))


def _texts(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], amounts: Any, cities: pa.Array) -> pa.Array:
    least, greatest = (pa.array(bound).cast(pa.string()) for bound in (low, high))
    first, last = (pa.array(amounts + by).cast(pa.string()) for by in (0, 500))
    return pc.binary_join_element_wise(
        f'{{"numRecords":{ROWS_PER_FILE},"minValues":{{"id":',
        *(least, ',"amount":', first, ',"city":"', cities, '"},"maxValues":{"id":', greatest, ',"amount":', last),
        *(',"city":"Zurich"},"nullCount":{"id":0,"amount":0,"city":0}}', ""),
    )


def _parsed(low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], amounts: Any, cities: pa.Array) -> pa.Array:
    count = len(low)
    last = pa.array(["Zurich"]).take(pa.array(np.zeros(count, np.int64)))
    none = pa.array(np.zeros(count, np.int64))
    bounds = [
        pa.StructArray.from_arrays([pa.array(ids), pa.array(sums), towns], fields=list(_BOUNDS))
        for ids, sums, towns in ((low, amounts, cities), (high, amounts + 500, last))
    ]
    nulls = pa.StructArray.from_arrays([none, none, none], fields=list(_COUNTS))
    rows = pa.array(np.full(count, ROWS_PER_FILE))
    return pa.StructArray.from_arrays([rows, *bounds, nulls], fields=list(_PARSED))


def _vectors(random: np.random.Generator, shape: LogShape, count: int) -> pa.Array:
    if not shape.vectors:
        return pa.nulls(count, _VECTOR)
    deleted = random.integers(1, ROWS_PER_FILE, count)
    names = pa.array(["ab^-aqEH.-t@S}K{vb[*k^"]).take(pa.array(np.zeros(count, np.int64)))
    stored = pa.array(["u"]).take(pa.array(np.zeros(count, np.int64)))
    columns = [stored, names, np.arange(count, dtype=np.int32), np.full(count, 40, np.int32), deleted]
    whole = [pa.array(column, field.type) for column, field in zip(columns, _VECTOR, strict=True)]
    without = pa.array(random.random(count) >= shape.vectors)
    return pa.StructArray.from_arrays(whole, fields=list(_VECTOR), mask=without)


def _day_maps(days: pa.Array) -> pa.MapArray:
    offsets = pa.array(np.arange(len(days) + 1), pa.int32())
    return pa.MapArray.from_arrays(offsets, pa.array(["day"]).take(pa.array(np.zeros(len(days), np.int64))), days)


def _hex(random: np.random.Generator, count: int) -> pa.Array:
    """Texts like those of UUIDs."""
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[random.integers(0, 16, (count, 36), dtype=np.uint8)]
    digits[:, [8, 13, 18, 23]] = ord("-")
    offsets = pa.py_buffer(np.arange(count + 1, dtype=np.int32) * 36)
    return pa.StringArray.from_buffers(count, offsets, pa.py_buffer(np.ascontiguousarray(digits)))


def _padded(numbers: npt.NDArray[np.int64], width: int) -> pa.Array:
    return pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width, "0")


def _write_checkpoint(log: Path, shape: LogShape, adds: pa.StructArray) -> None:
    of_version_2 = [("sidecar", _SIDECAR), ("checkpointMetadata", pa.struct([("version", pa.int64())]))]
    schema = pa.schema(
        [
            ("protocol", _PROTOCOL),
            ("metaData", _METADATA),
            ("add", adds.type),
            ("remove", _REMOVE),
            *(of_version_2 if shape.sidecars else []),
        ]
    )
    head = [{"protocol": _protocol(shape)}, {"metaData": _metadata(shape)}]
    if not shape.sidecars:
        rows = pa.concat_tables([pa.Table.from_pylist(head, schema), _rows(adds, schema)])
        pq.write_table(rows, log / f"{1:020d}.checkpoint.parquet", _ROW_GROUP)
    else:
        (log / "_sidecars").mkdir()
        each = -(-len(adds) // shape.sidecars)
        for at in range(shape.sidecars):
            file = log / "_sidecars" / f"{at:08d}-0000-4000-8000-000000000000.parquet"
            rows = _rows(adds.slice(at * each, each), pa.schema([schema.field("add"), schema.field("remove")]))
            pq.write_table(rows, file, _ROW_GROUP)
            head.append({"sidecar": {"path": file.name, "sizeInBytes": file.stat().st_size, "modificationTime": 1}})
        head.append({"checkpointMetadata": {"version": 1}})
        name = f"{1:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet"
        pq.write_table(pa.Table.from_pylist(head, schema), log / name)
    (log / f"{1:020d}.json").write_text(_lines({"commitInfo": {"timestamp": 1_690_000_000_000, "operation": "WRITE"}}))
    if not shape.sidecars:
        (log / "_last_checkpoint").write_text(json.dumps({"version": 1, "size": len(adds) + 2}))


def _rows(adds: pa.StructArray, schema: pa.Schema) -> pa.Table:
    return pa.table(
        [adds if field.name == "add" else pa.nulls(len(adds), field.type) for field in schema], schema=schema
    )


def _json_add(add: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in add.items() if value is not None and not name.endswith("_parsed")}
    kept["partitionValues"] = dict(add["partitionValues"])
    if "stats" not in kept:
        kept["stats"] = json.dumps(add["stats_parsed"])
    return kept


def _checksum(shape: LogShape, adds: pa.StructArray) -> dict[str, Any]:
    return {
        "tableSizeBytes": pc.sum(adds.field("size")).as_py(),
        "numFiles": len(adds),
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": _protocol(shape),
        "metadata": _metadata(shape),
    }


def _protocol(shape: LogShape) -> dict[str, Any]:
    features = ["deletionVectors"] * bool(shape.vectors) + ["v2Checkpoint"] * bool(shape.sidecars)
    if not features:
        return {"minReaderVersion": 1, "minWriterVersion": 2}
    return {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}


def _metadata(shape: LogShape) -> dict[str, Any]:
    types = {"id": "long", "amount": "double", "city": "string", "day": "date"}
    fields = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in types.items()]
    return {
        "id": f"planning-{shape.seed}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": ["day"],
        "configuration": {"delta.checkpointPolicy": "v2"} if shape.sidecars else {},
        "createdTime": 1_600_000_000_000,
    }


def _lines(*actions: dict[str, Any]) -> str:
    return "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
