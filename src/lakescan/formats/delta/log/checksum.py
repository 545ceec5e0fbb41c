"""Version checksum files (`.crc`): they prove or refute what was replayed from the log, and never replace it.

Whatever a checksum says of its version is compared: protocol, metadata, number and bytes of the files, deleted rows,
sizes, and the files themselves where it lists them. A difference is an error that names both. A checksum that is
damaged, or gone since the log was listed, proves nothing and stops nobody; the first is worth a warning.
"""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import ChecksumIgnored, ChecksumMismatch, CorruptLog, StorageFailure
from lakescan.formats.delta.log.actions import DELETION_VECTOR, keys
from lakescan.formats.delta.log.json_lines import parse_json
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.formats.delta.log.schema_json import read_schema
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.io.storage import Storage
from lakescan.scan.packing import total_bytes
from lakescan.types.columns import member

_KIND = "checksum"
_NAMED = 3


@dataclass(frozen=True)
class _State:
    """What a checksum says of metadata."""

    table_id: str
    schema: Mapping[str, Any]
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]


@dataclass(frozen=True)
class _Sizes:
    """How many files have a size from one boundary to the next, and their bytes."""

    boundaries: tuple[int, ...]
    files: tuple[int, ...]
    bytes: tuple[int, ...]


@dataclass(frozen=True)
class FileSums:
    """What is counted of files. Those of parts of them add up."""

    files: int
    bytes: int
    deleted_rows: int
    vectors: int
    sizes: _Sizes | None

    def __add__(self, other: "FileSums") -> "FileSums":
        sizes = None
        if self.sizes is not None and other.sizes is not None:
            files = tuple(map(sum, zip(self.sizes.files, other.sizes.files, strict=True)))
            sums = tuple(map(sum, zip(self.sizes.bytes, other.sizes.bytes, strict=True)))
            sizes = _Sizes(self.sizes.boundaries, files, sums)
        return FileSums(
            self.files + other.files,
            self.bytes + other.bytes,
            self.deleted_rows + other.deleted_rows,
            self.vectors + other.vectors,
            sizes,
        )


def file_sums(files: pa.Table, boundaries: tuple[int, ...] | None) -> FileSums:
    """What is counted of files by size and deletion vector; also how many are of each size where boundaries say so."""
    sizes, deleted = files["size"].to_numpy(), member(files["deletion_vector"], "cardinality")
    return FileSums(
        files.num_rows,
        total_bytes(sizes),
        pc.sum(deleted).as_py() or 0,
        len(deleted) - deleted.null_count,
        None if boundaries is None else _histogram(sizes, boundaries),
    )


@dataclass(frozen=True)
class Checksum:
    """What a checksum file says; None where it says nothing."""

    file: str
    version: int
    protocol: Protocol | None
    metadata: _State | None
    files: int | None
    bytes: int | None
    deleted_rows: int | None
    deletion_vectors: int | None
    sizes: _Sizes | None
    listed: tuple[Mapping[str, Any], ...] | None

    def refuse_other_state(self, protocol: Protocol, metadata: Metadata, log: str) -> None:
        """An error where the log's protocol or metadata is another."""
        if self.protocol is not None and self.protocol != protocol:
            raise self._refuted(log, f"it has the protocol {self.protocol} and the log {protocol}")
        then = self.metadata
        if then is None:
            return
        if then.partition_columns != metadata.partition_columns:
            ours, theirs = (
                ", ".join(columns) or "none" for columns in (metadata.partition_columns, then.partition_columns)
            )
            raise self._refuted(log, f"it has the partition columns {theirs} and the log {ours}")
        if then.schema != metadata.schema_json:
            raise self._refuted(log, "it has another schema than the log")
        if then.properties != metadata.properties:
            differing = sorted(
                name
                for name in {*then.properties, *metadata.properties}
                if then.properties.get(name) != metadata.properties.get(name)
            )
            raise self._refuted(log, f"it has another value than the log for the property {', '.join(differing)}")
        if then.table_id != metadata.table_id:
            raise self._refuted(log, f"it has the table id {then.table_id} and the log {metadata.table_id}")

    def agrees_on_sums(self, files: pa.Table) -> bool:
        """Whether it counts just these files and their bytes, and nothing else that it says speaks against them."""
        return self.agrees_with(file_sums(files, self.boundaries))

    def agrees_with(self, sums: FileSums) -> bool:
        """The same of what is counted of all files."""
        counted = self.files is not None and self.bytes is not None and self.listed is None
        return counted and next(self._differing_sums(sums), None) is None

    def refuse_other_sums(self, sums: FileSums, log: str) -> None:
        """An error where it counts otherwise."""
        why = next(self._differing_sums(sums), None)
        if why is not None:
            raise self._refuted(log, why)

    @property
    def boundaries(self) -> tuple[int, ...] | None:
        """Where the sizes are cut of which it counts the files, where it does."""
        return None if self.sizes is None else self.sizes.boundaries

    def refuse_other_files(self, files: pa.Table, log: str) -> None:
        """An error where the version's files, all of them, are others."""
        why = next(self._differences(files), None)
        if why is not None:
            raise self._refuted(log, why)

    def _differences(self, files: pa.Table) -> Iterator[str]:
        if self.listed is not None:
            yield from _differing(self.listed, files)
        yield from self._differing_sums(file_sums(files, self.boundaries))

    def _differing_sums(self, sums: FileSums) -> Iterator[str]:
        if self.files is not None and self.files != sums.files:
            yield f"it counts {self.files} files and the log {sums.files}"
        if self.bytes is not None and self.bytes != sums.bytes:
            yield f"it counts {self.bytes} bytes in its files and the log {sums.bytes}"
        if self.deleted_rows is not None and self.deleted_rows != sums.deleted_rows:
            yield f"it counts {self.deleted_rows} deleted rows and the log {sums.deleted_rows}"
        if self.deletion_vectors is not None and self.deletion_vectors != sums.vectors:
            yield f"it counts {self.deletion_vectors} deletion vectors and the log {sums.vectors}"
        if self.sizes is not None and sums.sizes != self.sizes:
            yield "its files have other sizes than the log's"

    def _refuted(self, log: str, why: str) -> ChecksumMismatch:
        return ChecksumMismatch(self.file, log, self.version, why)


def read_checksum(storage: Storage, path: str, version: int) -> Checksum | None:
    """The checksum at a path, None where it is of no use."""
    file = storage.full_path(path)
    try:
        fields = parse_json(storage.read(path))
        if not isinstance(fields, dict):
            raise ValueError("it is no JSON object")
        return _parsed(TypedAction(_KIND, fields, file), version)
    except FileNotFoundError:
        return None
    except CorruptLog as error:
        why = error.why
    except (ValueError, StorageFailure) as error:
        why = str(error)
    warnings.warn(ChecksumIgnored(file, version, why), stacklevel=2)
    return None


def _parsed(checksum: TypedAction, version: int) -> Checksum:
    protocol, metadata = checksum.map("protocol"), checksum.map("metadata")
    listed = checksum.fields.get("allFiles")
    if listed is not None and not (isinstance(listed, list) and all(isinstance(file, dict) for file in listed)):
        raise checksum.malformed("allFiles", "a list of files")
    return Checksum(
        checksum.file,
        version,
        Protocol.of(protocol, checksum.file) if protocol else None,
        _state(TypedAction("metadata", metadata, checksum.file)) if metadata else None,
        checksum.integer("numFiles"),
        checksum.integer("tableSizeBytes"),
        checksum.integer("numDeletedRecordsOpt"),
        checksum.integer("numDeletionVectorsOpt"),
        _sizes(checksum.map("fileSizeHistogram") or checksum.map("histogramOpt")),
        None if listed is None else tuple(listed),
    )


def _state(metadata: TypedAction) -> _State:
    return _State(
        metadata.text("id") or "",
        read_schema(metadata.text("schemaString")),
        metadata.texts("partitionColumns"),
        metadata.text_map("configuration"),
    )


def _sizes(histogram: Mapping[str, Any]) -> _Sizes | None:
    if not histogram:
        return None
    lists = [histogram.get(name) for name in ("sortedBinBoundaries", "fileCounts", "totalBytes")]
    whole = all(isinstance(one, list) and all(type(number) is int for number in one) for one in lists)
    if not whole or not lists[0] or lists[0][0] != 0 or len({len(one) for one in lists if one is not None}) != 1:
        raise ValueError("its histogram of sizes is malformed")
    boundaries, files, sums = (tuple(one or ()) for one in lists)
    return _Sizes(boundaries, files, sums)


def _histogram(sizes: "np.ndarray[Any, Any]", boundaries: tuple[int, ...]) -> _Sizes:
    at = np.searchsorted(np.array(boundaries, np.int64), sizes, side="right") - 1
    files = np.bincount(at, minlength=len(boundaries))
    # Exact as long as a bin has fewer than 2**53 bytes, eight million gigabytes.
    sums = np.bincount(at, weights=sizes, minlength=len(boundaries))
    return _Sizes(boundaries, tuple(files.tolist()), tuple(map(int, sums.tolist())))


def _differing(listed: tuple[Mapping[str, Any], ...], files: pa.Table) -> Iterator[str]:
    """How the files that a checksum lists are not these."""
    try:
        paths = pa.chunked_array([pa.array([file["path"] for file in listed], pa.string())])
        vectors = pa.chunked_array([pa.array([file.get("deletionVector") for file in listed], DELETION_VECTOR)])
    except (KeyError, pa.ArrowException):
        return
    theirs, ours = keys(paths, vectors), keys(files["path"], files["deletion_vector"])
    lost = paths.filter(pc.invert(pc.is_in(theirs, value_set=ours)))
    if len(lost):
        yield f"it lists {_names(lost)} and the log does not"
    more = files["path"].filter(pc.invert(pc.is_in(ours, value_set=theirs)))
    if len(more):
        yield f"the log has {_names(more)} and it does not"
    said = {
        key: (file.get("size"), file.get("partitionValues") or {})
        for key, file in zip(theirs.to_pylist(), listed, strict=True)
    }
    rows = zip(ours.to_pylist(), *(files[name].to_pylist() for name in ("path", "size", "partition")), strict=True)
    for key, path, size, partition in rows:
        expected_size, values = said.get(key, (None, {}))
        if expected_size is not None and expected_size != size:
            yield f"it has {expected_size} bytes for {path} and the log {size}"
        for name, value in (partition or {}).items():
            if (values.get(name) or None) != (value or None):
                yield f"it has another value than the log for the partition column {name} of {path}"


def _names(paths: pa.ChunkedArray) -> str:
    more = len(paths) - _NAMED
    return ", ".join(paths.slice(0, _NAMED).to_pylist()) + (f" and {more} more files" if more > 0 else "")
