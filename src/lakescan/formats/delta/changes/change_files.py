"""What a commit changed, as files to read: which rows of which file, and what happened to them.

A commit that wrote change files is read from these alone. In any other commit a file only added is inserted rows,
a file only removed is deleted rows, and a file that is both has a new deletion vector: rows that only the new one
drops are deleted, rows that only the old one drops came back. Files that only moved rows (`dataChange` is false)
changed nothing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import UnsupportedFeature
from lakescan.formats.delta.data_files import DeltaFiles
from lakescan.formats.delta.deletion_vector import DeletedRows as Deleted
from lakescan.formats.delta.deletion_vector import DeletionVectors
from lakescan.formats.delta.log.actions import DELETION_VECTOR, keys
from lakescan.formats.delta.log.commit_range import TableCommit
from lakescan.io.storage import Storage
from lakescan.reader.read_plan import DeletedRows, undeleted_files

if TYPE_CHECKING:
    from pyroaring import BitMap64

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"
# A file's own vector drops rows; with `only` just these rows are read, less those of `except`.
VECTOR = pa.struct([*DELETION_VECTOR, pa.field("only", DELETION_VECTOR), pa.field("except", DELETION_VECTOR)])
_MERGED_ROWS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_MOMENT = pa.timestamp("us", "UTC")


def commit_fields() -> list[pa.Field]:
    """The columns that are the same for all rows of a commit."""
    return [pa.field(COMMIT_VERSION, pa.int64()), pa.field(COMMIT_TIMESTAMP, _MOMENT)]


def change_files(commit: TableCommit, partition: Sequence[pa.Field]) -> pa.Table:
    """The files that hold the commit's changes, as a snapshot's files and in the order in which the commit names them.

    `partition` are the columns' final fields.
    """
    if commit.cdc.num_rows:
        return _files(commit, commit.cdc, None, partition)
    if _merged_nothing(commit):
        return _files(commit, commit.cdc, None, partition)
    adds = commit.adds.append_column("stats", commit.statistics_texts(commit.adds)).filter(commit.adds["data_change"])
    removes = commit.removes.filter(commit.removes["data_change"])
    added, removed = _plain_paths(adds), _plain_paths(removes)
    again, before = pc.is_in(added, value_set=removed), pc.is_in(removed, value_set=added)
    new = adds.filter(again)
    old = removes.take(pc.index_in(added.filter(again), value_set=removed))
    parts = [
        (adds.filter(pc.invert(again)), "insert"),
        (removes.filter(pc.invert(before)), "delete"),
        (_between(new, old), "delete"),
        (_between(old, new), "insert"),
    ]
    files = pa.concat_tables([_files(commit, part, change, partition) for part, change in parts])
    if not removes.num_rows:
        return files
    return files.take(pc.sort_indices(pa.chunked_array([chunk for part, _ in parts for chunk in part["row"].chunks])))


def inserted_files(commit: TableCommit, files: pa.Table) -> pa.Table:
    """Files of the snapshot at the commit's version, as if it had inserted all their rows."""
    return _files(commit, files, "insert", commit.partition_fields)


def _plain_paths(files: pa.Table) -> pa.Array:
    paths = keys(files["path"], pa.chunked_array([pa.nulls(files.num_rows, DELETION_VECTOR)]))
    return paths.combine_chunks()


def _between(files: pa.Table, others: pa.Table) -> pa.Table:
    """The rows that the vectors of `files` drop and those of `others`, file by file, do not."""
    only, besides = files["deletion_vector"].combine_chunks(), others["deletion_vector"].combine_chunks()
    nothing = [pa.nulls(files.num_rows, field.type) for field in DELETION_VECTOR]
    vector = pa.StructArray.from_arrays([*nothing, only, besides], fields=list(VECTOR))
    at = files.schema.get_field_index("deletion_vector")
    return files.set_column(at, "deletion_vector", vector).filter(only.is_valid())


def _files(commit: TableCommit, files: pa.Table, change: str | None, partition: Sequence[pa.Field]) -> pa.Table:
    count = files.num_rows
    stats = files["stats"] if "stats" in files.column_names else pa.nulls(count, pa.string())
    return pa.table(
        {
            "path": files["path"],
            "size": pc.fill_null(files["size"], 0),
            "modification_time": files["modification_time"],
            "partition": _partition(commit, files, partition),
            "deletion_vector": _vector(files["deletion_vector"].combine_chunks()),
            "change_type": pa.repeat(pa.scalar(change, pa.string()), count),
            "stats": stats,
        }
    )


def _vector(vector: pa.Array) -> pa.Array:
    if vector.type.equals(VECTOR):
        return vector
    own = vector.flatten()
    besides = [pa.nulls(len(vector), DELETION_VECTOR)] * 2
    return pa.StructArray.from_arrays([*own, *besides], fields=list(VECTOR), mask=vector.is_null())


def _partition(commit: TableCommit, files: pa.Table, fields: Sequence[pa.Field]) -> pa.Array:
    """The partition values in their final names and types, and the commit's version and time."""
    partition = files["partition"].combine_chunks()
    if fields and partition.null_count:
        raise UnsupportedFeature(
            commit.text.file,
            "the partition values of a changed file, which the log does not give",
            "Read the changes of other versions, or the whole table at both versions.",
        )
    values = [member.cast(field.type) for member, field in zip(partition.flatten(), fields, strict=True)]
    version = pa.repeat(pa.scalar(commit.version, pa.int64()), files.num_rows)
    moment = pa.repeat(pa.scalar(commit.timestamp_ms * 1000, pa.int64()), files.num_rows).cast(_MOMENT)
    named = [field.with_nullable(True) for field in fields]
    return pa.StructArray.from_arrays([*values, version, moment], fields=[*named, *commit_fields()])


def _merged_nothing(commit: TableCommit) -> bool:
    """A merge may rewrite files and change no row of them; as in Delta, its own count of rows says so."""
    if commit.info.get("operation") != "MERGE":
        return False
    counts = commit.typed_info.map("operationMetrics")
    return all(str(counts.get(name)) == "0" for name in _MERGED_ROWS)


@dataclass(frozen=True)
class ChangeFiles:
    """Implements `reader.DataFiles` for files that hold changes."""

    storage: Storage

    def path(self, file: Mapping[str, Any]) -> str:
        return DeltaFiles(self.storage).path(file)

    def source(self, file: Mapping[str, Any], source: pa.Schema) -> pa.Schema:
        return source

    def merged_rows(self, file: Mapping[str, Any], source: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        return None

    def plain_files(self, pieces: pa.Table) -> pa.Table:
        # A vector of these says which rows changed.
        whole = pieces.set_column(
            pieces.schema.get_field_index("deletion_vector"), "deletion_vector", pa.nulls(pieces.num_rows)
        )
        paths = DeltaFiles(self.storage).plain_files(whole)["path"]
        return undeleted_files(pc.if_else(pieces["deletion_vector"].is_null(), paths, None))

    def deleted_rows(self, file: Mapping[str, Any]) -> DeletedRows | None:
        vector = file["deletion_vector"]
        if vector is None or vector["only"] is None:
            return DeltaFiles(self.storage).deleted_rows(file)
        vectors = DeletionVectors(self.storage)
        wanted = vectors.deleted_rows(vector["only"]).bitmap
        if vector["except"] is not None:
            wanted = wanted - vectors.deleted_rows(vector["except"]).bitmap
        return AllBut(wanted)


@dataclass(frozen=True)
class AllBut:
    """Every row of a file but these. Implements `reader.DeletedRows`."""

    wanted: "BitMap64"

    @property
    def last(self) -> int | None:
        return Deleted(self.wanted).last

    def between(self, start: int, stop: int) -> npt.NDArray[np.uint64]:
        every = np.arange(start, stop, dtype=np.uint64)
        kept = Deleted(self.wanted).between(start, stop)
        return np.delete(every, (kept - np.uint64(start)).astype(np.int64)) if len(kept) else every


@dataclass(frozen=True)
class ChangeType:
    """What happened to a row: as the planner says for the whole file, or as a change file says row by row."""

    def needs(self, wanted: pa.Field) -> Collection[str]:
        return {"change_type"}

    def stored(self, wanted: pa.Field) -> pa.Schema:
        return pa.schema([(CHANGE_TYPE, pa.string())])

    def values(
        self, wanted: pa.Field, file: Mapping[str, Any], positions: pa.Array, stored: Sequence[pa.Array]
    ) -> pa.Array:
        known = file["change_type"]
        return stored[0] if known is None else pa.repeat(pa.scalar(known, pa.string()), len(positions))
