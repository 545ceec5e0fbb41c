"""Delta tables written action by action, so that a test has exactly the log and the files it needs.

`DeltaBuilder` is the one place in the tests that writes tables by hand; tables by real engines come from
`tests/sample_tables.py` or from `deltalake`. It writes plain, valid Delta unless it is told otherwise.
"""

import base64
import json
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyroaring import BitMap64

import lakescan
from lakescan.formats.delta.table import DeltaTable

_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_NAMESPACE = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def open_delta(path: str | os.PathLike[str], **arguments: Any) -> DeltaTable:
    """The table at a path, opened as users do; with what only Delta tables have."""
    table = lakescan.open(path, **arguments)
    assert isinstance(table, DeltaTable)
    return table


def spark_type(type_: pa.DataType) -> Any:
    """An Arrow type as Delta's JSON writes it."""
    names = {
        pa.bool_(): "boolean",
        pa.int8(): "byte",
        pa.int16(): "short",
        pa.int32(): "integer",
        pa.int64(): "long",
        pa.float32(): "float",
        pa.float64(): "double",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.date32(): "date",
        pa.timestamp("us", "UTC"): "timestamp",
        pa.timestamp("us"): "timestamp_ntz",
        pa.null(): "void",
    }
    if type_ in names:
        return names[type_]
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_struct(type_):
        return {"type": "struct", "fields": [spark_field(field) for field in type_]}
    if pa.types.is_map(type_):
        key, value = spark_type(type_.key_type), spark_type(type_.item_type)
        nullable = type_.item_field.nullable
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": nullable}
    element = type_.value_field
    return {"type": "array", "elementType": spark_type(element.type), "containsNull": element.nullable}


def spark_field(field: pa.Field) -> dict[str, Any]:
    return {"name": field.name, "type": spark_type(field.type), "nullable": field.nullable, "metadata": {}}


def spark_schema(schema: pa.Schema) -> dict[str, Any]:
    return {"type": "struct", "fields": [spark_field(field) for field in schema]}


def statistics_of(table: pa.Table, tight: bool | None = None) -> dict[str, Any]:
    """Delta's statistics of a file's columns and of the fields of its structs, as Delta Spark writes them."""
    low, high, nulls = _bounds_of(table)
    statistics: dict[str, Any] = {"numRecords": table.num_rows, "minValues": low, "maxValues": high, "nullCount": nulls}
    return statistics if tight is None else {**statistics, "tightBounds": tight}


def _bounds_of(table: pa.Table) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name]
        kind = column.type
        if pa.types.is_struct(kind) and kind.num_fields and all(not field.metadata for field in kind):
            members = [pc.struct_field(column, [at]) for at in range(kind.num_fields)]
            inside = pa.Table.from_arrays(members, names=[field.name for field in kind])
            low[name], high[name], nulls[name] = _bounds_of(inside)
            continue
        nulls[name] = column.null_count
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_boolean(kind) or pa.types.is_null(kind):
            continue
        if column.null_count == len(column):
            continue
        bounds = pc.min_max(column).as_py()
        low[name], high[name] = _json_value(bounds["min"]), _json_value(bounds["max"])
    return low, high, nulls


def _json_value(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        text = value.isoformat(timespec="milliseconds") if hasattr(value, "hour") else value.isoformat()
        return text.replace("+00:00", "Z")
    return float(value) if type(value).__name__ == "Decimal" else value


class DeltaBuilder:
    """A Delta table under `root`, one commit a call."""

    def __init__(
        self,
        root: Path,
        schema: pa.Schema | Mapping[str, Any],
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        features: Sequence[str] | None = None,
        mapping: str | None = None,
        create: bool = True,
    ) -> None:
        self.root, self.log = root, root / "_delta_log"
        self.log.mkdir(parents=True, exist_ok=True)
        self.version = -1
        self.schema = spark_schema(schema) if isinstance(schema, pa.Schema) else dict(schema)
        self.partition_by = list(partition_by)
        self.properties = dict(properties or {})
        self.features = features
        self._files = 0
        self._cleaned: dict[int, str] = {}
        if mapping:
            self.map_columns(mapping)
        if create:
            self.commit(self.protocol(), self.metadata())

    @property
    def path(self) -> str:
        return str(self.root)

    def map_columns(self, mode: str) -> None:
        """Column mapping from the next metadata action on; columns that have no physical name get one."""
        self.properties = {**self.properties, "delta.columnMapping.mode": mode}
        self.schema = _with_physical_names(self.schema)
        self.features = sorted({*(self.features or []), "columnMapping"})

    # Actions

    def protocol(self) -> dict[str, Any]:
        if self.features is None:
            return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
        features = list(self.features)
        named = {"readerFeatures": features, "writerFeatures": features}
        return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **named}}

    def metadata(self) -> dict[str, Any]:
        return {
            "metaData": {
                "id": str(uuid5(_NAMESPACE, self.path)),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(self.schema),
                "partitionColumns": self.partition_by,
                "configuration": self.properties,
                "createdTime": 0,
            }
        }

    def add(
        self,
        table: pa.Table,
        partition: Mapping[str, str | None] | None = None,
        stats: bool | Mapping[str, Any] | str = True,
        vector: Mapping[str, Any] | None = None,
        name: str | None = None,
        **parquet: Any,
    ) -> dict[str, Any]:
        """Write a data file and give its add action; columns and partition values in logical names."""
        self._files += 1
        path = name or f"part-{self._files:05d}.parquet"
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        physical = self._physical(table)
        pq.write_table(physical, file, **parquet)
        action: dict[str, Any] = {
            "path": quote(path, safe="/="),
            "partitionValues": {self._physical_name(key): value for key, value in (partition or {}).items()},
            "size": file.stat().st_size,
            "modificationTime": 1_700_000_000_000 + self._files,
            "dataChange": True,
        }
        if isinstance(stats, str):
            action["stats"] = stats
        elif stats is True:
            action["stats"] = json.dumps(statistics_of(physical, tight=None if vector is None else False))
        elif stats:
            action["stats"] = json.dumps(stats)
        if vector is not None:
            action["deletionVector"] = dict(vector)
        return {"add": action}

    def remove(self, add: Mapping[str, Any]) -> dict[str, Any]:
        fields = add["add"]
        action = {"path": fields["path"], "deletionTimestamp": 1_700_000_000_000, "dataChange": True}
        if "deletionVector" in fields:
            action["deletionVector"] = fields["deletionVector"]
        return {"remove": action}

    def vector(self, rows: Iterable[int], storage: str = "u") -> dict[str, Any]:
        """A deletion vector for these rows, stored in a file of its own (u, p) or inline (i)."""
        positions = BitMap64(rows)
        data = struct.pack("<i", 1681511377) + positions.serialize()
        descriptor: dict[str, Any] = {"storageType": storage, "sizeInBytes": len(data), "cardinality": len(positions)}
        if storage == "i":
            return {**descriptor, "pathOrInlineDv": encode85(data)}
        identity = uuid5(
            _NAMESPACE, f"{self.path}/{self.version}/{self._files}/{sorted(positions)[:5]}/{len(positions)}"
        )
        file = self.root / f"deletion_vector_{identity}.bin"
        # A vector need not be the first in its file: the odd byte keeps offsets honest.
        file.write_bytes(b"\x01\x00" + struct.pack(">i", len(data)) + data + struct.pack(">I", zlib.crc32(data)))
        where = encode85(identity.bytes) if storage == "u" else str(file)
        return {**descriptor, "pathOrInlineDv": where, "offset": 2}

    def delete(self, add: Mapping[str, Any], rows: Iterable[int], storage: str = "u") -> dict[str, Any]:
        """Commit the deletion of some rows of a file (all that are to be deleted), by a vector; gives the new add."""
        new = {"add": {**add["add"], "deletionVector": self.vector(rows, storage)}}
        self.commit(self.remove(add), new)
        return new

    # Commits

    def commit(self, *actions: Mapping[str, Any]) -> int:
        self.version += 1
        lines = [json.dumps(action) for action in actions]
        (self.log / f"{self.version:020d}.json").write_text("\n".join(lines) + "\n")
        return self.version

    def append(self, table: pa.Table, **arguments: Any) -> dict[str, Any]:
        """Commit one new file; gives its add action."""
        added = self.add(table, **arguments)
        self.commit(added)
        return added

    def set_time(self, version: int, seconds: float) -> None:
        """Let a commit's file look as if it was written then."""
        os.utime(self.log / f"{version:020d}.json", (seconds, seconds))

    def clean_log(self, before: int) -> None:
        """Remove the commits and checkpoints before a version, as Delta's log retention does."""
        for file in self.log.iterdir():
            if file.name[:20].isdigit() and int(file.name[:20]) < before:
                if file.suffix == ".json":
                    self._cleaned[int(file.name[:20])] = file.read_text()
                file.unlink()

    # Shortcuts through the log

    def live_actions(self, first: int = 0, last: int | None = None) -> list[dict[str, Any]]:
        """What the commits from `first` to `last` come to, one action a file: adds, removes, protocol, metadata."""
        newest: dict[Any, dict[str, Any]] = {}
        for version in range(first, (self.version if last is None else last) + 1):
            file = self.log / f"{version:020d}.json"
            for line in (self._cleaned.get(version) or file.read_text()).splitlines():
                action = json.loads(line)
                kind, fields = next(iter(action.items()))
                vector = fields.get("deletionVector") or {}
                place = (fields.get("path"), vector.get("pathOrInlineDv"), vector.get("offset"))
                key = place if kind in ("add", "remove") else kind
                newest.pop(key, None)
                newest[key] = action
        return [action for action in newest.values() if "commitInfo" not in action]

    def compact(self, first: int, last: int) -> Path:
        """Write a log compaction file for these commits."""
        file = self.log / f"{first:020d}.{last:020d}.compacted.json"
        file.write_text("\n".join(map(json.dumps, self.live_actions(first, last))) + "\n")
        return file

    def checksum(self) -> Path:
        """Write the newest version's checksum file."""
        file = self.log / f"{self.version:020d}.crc"
        adds = [action["add"] for action in self.live_actions() if "add" in action]
        vectors = [add["deletionVector"] for add in adds if add.get("deletionVector")]
        content = {
            "tableSizeBytes": sum(add["size"] for add in adds),
            "numFiles": len(adds),
            "numMetadata": 1,
            "numProtocol": 1,
            "numDeletedRecordsOpt": sum(vector["cardinality"] for vector in vectors),
            "numDeletionVectorsOpt": len(vectors),
            "allFiles": adds,
        }
        file.write_text(json.dumps({**content, **self.protocol(), "metadata": self.metadata()["metaData"]}))
        return file

    def checkpoint(
        self,
        parts: int | None = None,
        top: str | None = None,
        sidecars: int = 2,
        stats: str = "json",
        parsed: pa.Schema | None = None,
        row_group_size: int | None = None,
    ) -> list[Path]:
        """Write a checkpoint of the newest version: one file, several parts, or V2 with a top in `json` or `parquet`.

        `stats` is json, parsed or both; parsed statistics are of the columns in `parsed`, in physical names.
        """
        actions = [_checkpoint_row(action, stats, parsed) for action in self.live_actions()]
        schema, name = _checkpoint_schema(parsed), f"{self.version:020d}.checkpoint"
        if top is None:
            count = parts or 1
            files = [self.log / f"{name}.{n:010d}.{count:010d}.parquet" for n in range(1, count + 1)]
            files = files if parts else [self.log / f"{name}.parquet"]
            for at, file in enumerate(files):
                pq.write_table(pa.Table.from_pylist(actions[at::count], schema), file, row_group_size)
            return files
        folder, identity = self.log / "_sidecars", uuid5(_NAMESPACE, f"{self.path}/{self.version}/{top}")
        folder.mkdir(exist_ok=True)
        adds = [row for row in actions if "add" in row or "remove" in row]
        files = [folder / f"{name}.{n:010d}.{identity}.parquet" for n in range(sidecars)]
        for at, file in enumerate(files):
            pq.write_table(pa.Table.from_pylist(adds[at::sidecars], schema), file, row_group_size)
        rows = [row for row in actions if row not in adds] + ([] if sidecars else adds)
        rows.append({"checkpointMetadata": {"version": self.version}})
        for file in files:
            rows.append({"sidecar": {"path": file.name, "sizeInBytes": file.stat().st_size, "modificationTime": 0}})
        main = self.log / f"{name}.{identity}.{top}"
        if top == "json":
            main.write_text("\n".join(map(json.dumps, rows)) + "\n")
        else:
            pq.write_table(pa.Table.from_pylist(rows, schema), main)
        return [main, *files]

    def _physical_name(self, name: str) -> str:
        for field in self.schema["fields"]:
            if field["name"] == name:
                physical: str = field["metadata"].get("delta.columnMapping.physicalName", name)
                return physical
        return name

    def _physical(self, table: pa.Table) -> pa.Table:
        """Top-level columns under their physical names, with field ids where the table has them."""
        fields = []
        for field in table.schema:
            known = next((declared for declared in self.schema["fields"] if declared["name"] == field.name), None)
            field_id = known and known["metadata"].get("delta.columnMapping.id")
            metadata = {b"PARQUET:field_id": str(field_id).encode()} if field_id else None
            fields.append(field.with_name(self._physical_name(field.name)).with_metadata(metadata))
        return pa.Table.from_arrays(table.columns, schema=pa.schema(fields, table.schema.metadata))


def encode85(data: bytes) -> str:
    padded = data + b"\0" * (-len(data) % 4)
    return base64.b85encode(padded).translate(bytes.maketrans(_B85, _Z85)).decode()


def _with_physical_names(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = []
    for number, field in enumerate(schema["fields"], 1):
        metadata = {
            "delta.columnMapping.id": number,
            "delta.columnMapping.physicalName": f"col-{uuid5(_NAMESPACE, field['name'])}",
        }
        fields.append({**field, "metadata": {**metadata, **field["metadata"]}})
    return {**schema, "fields": fields}


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


def _counts(fields: Iterable[pa.Field]) -> pa.DataType:
    """A count for each column, and for each field of a struct."""
    kinds = [(field.name, _counts(field.type) if pa.types.is_struct(field.type) else pa.int64()) for field in fields]
    return pa.struct(kinds)


def _checkpoint_schema(parsed: pa.Schema | None) -> pa.Schema:
    add = [
        ("path", pa.string()),
        ("partitionValues", _TEXTS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
        ("deletionVector", _VECTOR),
    ]
    if parsed is not None:
        bounds = pa.struct(list(parsed))
        counts = _counts(parsed)
        kinds = [("numRecords", pa.int64()), ("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)]
        add.append(("stats_parsed", pa.struct(kinds)))
    remove = [("path", pa.string()), ("deletionTimestamp", pa.int64()), ("deletionVector", _VECTOR)]
    protocol = [("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())]
    features = [(name, pa.list_(pa.string())) for name in ("readerFeatures", "writerFeatures")]
    metadata = [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _TEXTS),
        ("createdTime", pa.int64()),
    ]
    sidecar = [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]
    return pa.schema(
        [
            ("protocol", pa.struct(protocol + features)),
            ("metaData", pa.struct(metadata)),
            ("add", pa.struct(add)),
            ("remove", pa.struct(remove)),
            ("sidecar", pa.struct(sidecar)),
            ("checkpointMetadata", pa.struct([("version", pa.int64())])),
        ]
    )


def _checkpoint_row(action: dict[str, Any], stats: str, parsed: pa.Schema | None) -> dict[str, Any]:
    if "add" not in action or stats == "json" or parsed is None:
        return action
    statistics = json.loads(action["add"].get("stats") or "null")
    names = parsed.names
    kept = statistics and {
        key: {name: value[name] for name in names if name in value} if isinstance(value, dict) else value
        for key, value in statistics.items()
    }
    add = {**action["add"], "stats_parsed": kept}
    return {"add": add if stats == "both" else {key: value for key, value in add.items() if key != "stats"}}
