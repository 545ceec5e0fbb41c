"""The schemas that a stream has come through, one JSON file each, in a folder that the user gave.

A file is named by the version whose schema it holds, appears whole or not at all, and is never changed. The
newest is the schema that the stream is at. Each names its table by the table's id, and a log of another table is
refused: its columns would be read as nulls.
"""

import json
import os
import re
from dataclasses import dataclass
from uuid import uuid4

import pyarrow as pa

from lakescan.errors import CorruptLog, OtherSchemaLog, StorageFailure
from lakescan.formats.delta.log.protocol import Metadata
from lakescan.io.configuration import FROM_ENVIRONMENT, StorageConfiguration
from lakescan.io.locations import file_system, locate
from lakescan.io.storage import Storage

_NAME = re.compile(r"^(\d{20})\.schema\.json$")


@dataclass(frozen=True)
class SchemaLog:
    """The folder; a local path or a URI that `pyarrow.fs` knows."""

    storage: Storage

    @staticmethod
    def at(location: str | os.PathLike[str], configuration: StorageConfiguration = FROM_ENVIRONMENT) -> "SchemaLog":
        return SchemaLog(Storage.at(location, configuration))

    def newest(self) -> tuple[int, Metadata] | None:
        """The schema that the stream is at and the version it began with; None where the stream is new."""
        versions = self._versions()
        return (versions[-1], self._read(versions[-1])) if versions else None

    def newest_change(self) -> tuple[int, Metadata, Metadata] | None:
        """The version at which the stream last went from one schema to the next, and both; None where it has not."""
        versions = self._versions()
        return (versions[-1], self._read(versions[-2]), self._read(versions[-1])) if len(versions) > 1 else None

    def _versions(self) -> list[int]:
        try:
            names = [entry.name for entry in self.storage.list_from("")]
        except FileNotFoundError:
            return []
        return sorted(int(match[1]) for name in names if (match := _NAME.match(name)))

    def _read(self, version: int) -> Metadata:
        file = f"{version:020d}.schema.json"
        try:
            fields = json.loads(self.storage.read(file))
            return Metadata(
                str(fields["id"]),
                fields["schema"],
                tuple(fields["partitionColumns"]),
                dict(fields["configuration"]),
                bool(fields["mapsColumns"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptLog(self.storage.full_path(file), f"no schema of a stream ({error!r})") from error

    def refuse_other_table(self, metadata: Metadata, location: str, table_id: str) -> None:
        if metadata.table_id != table_id:
            raise OtherSchemaLog(self.storage.location, metadata.table_id, location, table_id)

    def append(self, version: int, metadata: Metadata) -> None:
        """Write down that the stream goes on with this schema; again with the same version is the same as once."""
        text = json.dumps(
            {
                "id": metadata.table_id,
                "schema": metadata.schema_json,
                "partitionColumns": metadata.partition_columns,
                "configuration": dict(metadata.properties),
                "mapsColumns": metadata.maps_columns,
            }
        )
        folder = self.storage.location
        try:
            place = locate(folder)
            filesystem, store = file_system(place.store, folder, self.storage.configuration)
            root = store + place.path
            filesystem.create_dir(root, recursive=True)
            made = f"{root}/.{uuid4()}.tmp"
            with filesystem.open_output_stream(made) as out:
                out.write(text.encode())
            filesystem.move(made, f"{root}/{version:020d}.schema.json")
        except StorageFailure:
            raise
        except (OSError, pa.ArrowInvalid) as error:
            raise StorageFailure(folder, str(error)) from error
