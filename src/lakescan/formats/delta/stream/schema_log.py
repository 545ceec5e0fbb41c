"""The schemas that a stream has come through, one file each, in a folder that the user gave, as Delta Spark keeps them.

A file is numbered, appears whole or not at all, and is never changed. The last is the schema that the stream is at.
Each names its table by the table's id, and a log of another table is refused: its columns would be read as nulls.
"""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pyarrow as pa

from lakescan.errors import CorruptLog, LakescanError, OtherSchemaLog, StorageFailure
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.formats.delta.log.schema_json import read_schema
from lakescan.io.configuration import FROM_ENVIRONMENT, StorageConfiguration
from lakescan.io.locations import file_system, locate
from lakescan.io.storage import Storage

_FORM = "v1"
_NAME = re.compile(r"^\d+$")
# As releases before Lakescan took Delta's form named them: by version, and straight in the user's folder.
_OWN_NAME = re.compile(r"^(\d{20})\.schema\.json$")


@dataclass(frozen=True)
class SchemaFolder:
    """What a user says of where a stream keeps its schemas."""

    location: str
    tracking_id: str | None = None

    def of(self, table_id: str, configuration: StorageConfiguration = FROM_ENVIRONMENT) -> "SchemaLog":
        """The log of a table's stream."""
        own = self.location if self.tracking_id is None else f"{self.location.rstrip('/')}/{self.tracking_id}"
        name = f"_schema_log_{table_id}" + ("" if self.tracking_id is None else f"_{self.tracking_id}")
        return SchemaLog(
            Storage.at(f"{self.location.rstrip('/')}/{name}", configuration), Storage.at(own, configuration)
        )


@dataclass(frozen=True)
class _Entry:
    version: int
    metadata: Metadata
    source: str
    """The folder of the stream's checkpoint that is the source's own; empty where it was not known."""
    before: int | None = None
    """The number of the entry before it, where that is not the last one."""


@dataclass(frozen=True)
class SchemaLog:
    """One stream's log; its folder is a local path or a URI that `pyarrow.fs` knows."""

    storage: Storage
    older: Storage
    """Where releases that had a form of their own have left schemas."""

    def newest(self) -> tuple[int, Metadata] | None:
        """The schema that the stream is at and the version it began with; None where the stream is new."""
        numbers = self._numbers()
        if numbers:
            entry = self._read(numbers[-1])
            return entry.version, entry.metadata
        versions = self._older_versions()
        return (versions[-1], self._read_older(versions[-1])) if versions else None

    def newest_change(self) -> tuple[int, Metadata, Metadata] | None:
        """The version at which the stream last went from one schema to the next, and both; None where it has not."""
        numbers = self._numbers()
        older = [self._read_older(version) for version in self._older_versions()]
        if not numbers:
            return (self._older_versions()[-1], older[-2], older[-1]) if len(older) > 1 else None
        entry = self._read(numbers[-1])
        before = entry.before if entry.before is not None else numbers[-2] if len(numbers) > 1 else -1
        if before >= 0:
            return entry.version, self._read(before).metadata, entry.metadata
        return (entry.version, older[-1], entry.metadata) if older else None

    def refuse_other_table(self, metadata: Metadata, location: str, table_id: str) -> None:
        if metadata.table_id != table_id:
            raise OtherSchemaLog(self.storage.location, metadata.table_id, location, table_id)

    def append(self, version: int, metadata: Metadata, source: str = "") -> None:
        """Write down that the stream goes on with this schema; again with the same version is the same as once.

        `source` is the folder of the stream's checkpoint that is the source's own: Delta Spark goes on with no other.
        """
        numbers = self._numbers()
        last = self._read(numbers[-1]) if numbers else None
        if last is not None and last.version >= version:
            return
        made = _Entry(version, metadata, source or (last.source if last else ""))
        self._write(str(numbers[-1] + 1 if numbers else 0), f"{_FORM}\n{json.dumps(_fields(made))}")

    def _numbers(self) -> list[int]:
        return sorted(int(name) for name in _names(self.storage) if _NAME.match(name))

    def _read(self, number: int) -> _Entry:
        file = self.storage.full_path(str(number))
        try:
            form, text = self.storage.read(str(number)).decode().split("\n", 1)
            if form != _FORM:
                raise ValueError(f"its form is {form} and not {_FORM}")
            return _entry(json.loads(text), file)
        except LakescanError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptLog(file, f"no schema of a stream ({error!r})") from error

    def _older_versions(self) -> list[int]:
        return sorted(int(match[1]) for name in _names(self.older) if (match := _OWN_NAME.match(name)))

    def _read_older(self, version: int) -> Metadata:
        file = f"{version:020d}.schema.json"
        try:
            fields = json.loads(self.older.read(file))
            return Metadata(
                str(fields["id"]),
                fields["schema"],
                tuple(fields["partitionColumns"]),
                dict(fields["configuration"]),
                bool(fields["mapsColumns"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptLog(self.older.full_path(file), f"no schema of a stream ({error!r})") from error

    def _write(self, name: str, text: str) -> None:
        folder = self.storage.location
        try:
            place = locate(folder)
            filesystem, store = file_system(place.store, folder, self.storage.configuration)
            root = store + place.path
            filesystem.create_dir(root, recursive=True)
            made = f"{root}/.{uuid4()}.tmp"
            with filesystem.open_output_stream(made) as out:
                out.write(text.encode())
            filesystem.move(made, f"{root}/{name}")
        except StorageFailure:
            raise
        except (OSError, pa.ArrowInvalid) as error:
            raise StorageFailure(folder, str(error)) from error


def _names(storage: Storage) -> list[str]:
    try:
        return [os.path.basename(entry.name) for entry in storage.list_from("")]
    except FileNotFoundError:
        return []


def _fields(entry: _Entry) -> dict[str, Any]:
    """The entry as Delta Spark writes it; without the protocol, for which Delta takes the table's own."""
    metadata = entry.metadata
    columns = {field["name"]: field for field in metadata.schema_json["fields"]}
    partition = {"type": "struct", "fields": [columns[name] for name in metadata.partition_columns]}
    return {
        "tableId": metadata.table_id,
        "deltaCommitVersion": entry.version,
        "dataSchemaJson": json.dumps(dict(metadata.schema_json)),
        "partitionSchemaJson": json.dumps(partition),
        "sourceMetadataPath": entry.source,
        "tableConfigurations": dict(metadata.properties),
    }


def _entry(fields: Mapping[str, Any], file: str) -> _Entry:
    properties = dict(fields.get("tableConfigurations") or {})
    told = fields.get("protocolJson")
    if told is None:
        maps = properties.get("delta.columnMapping.mode", "none") != "none"
    else:
        maps = Protocol.of(json.loads(told)["protocol"], file).maps_columns
    metadata = Metadata(
        str(fields["tableId"]),
        read_schema(fields["dataSchemaJson"]),
        tuple(str(field["name"]) for field in json.loads(fields["partitionSchemaJson"])["fields"]),
        properties,
        maps,
    )
    before = fields.get("previousMetadataSeqNum")
    return _Entry(
        int(fields["deltaCommitVersion"]),
        metadata.checked(file),
        str(fields.get("sourceMetadataPath") or ""),
        None if before is None else int(before),
    )
