"""The one door to hudi-rs: tables opened and slices merged, its failures turned into named errors.

hudi-rs resolves the timeline, the file slices and the merging of base and log files. It has one class of error;
what went wrong is only in its text, so the texts are told apart here and nowhere else.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import hudi
import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import (
    CorruptDataFile,
    CorruptLog,
    LakescanError,
    MissingDataFile,
    UnsupportedFeature,
    UnsupportedLocation,
)
from lakescan.hudi.names import PROPERTIES
from lakescan.storage import Storage

_BATCH_ROWS = 1 << 16
_ABOUT_SCHEMA = ("reconcile: column", "partial-update column", "Projection column not found", "different data types")
_SCHEMES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfss", "wasb": "abfs"}


def open_table(storage: Storage) -> Any:
    """hudi-rs' table, with its timeline as it is now."""
    with named_failures(storage, PROPERTIES):
        return hudi.HudiTable(uri(storage))


def uri(storage: Storage) -> str:
    """The location as hudi-rs names it."""
    scheme, colon, rest = storage.location.partition(":/")
    if not colon:
        return storage.location
    if scheme == "hdfs":
        raise UnsupportedLocation(storage.location, "hudi-rs has no HDFS client")
    return f"{_SCHEMES.get(scheme, scheme)}:/{rest}"


def merged(storage: Storage, instant: str, base: str, logs: list[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a slice at an instant, base and log files merged, with only these columns.

    hudi-rs merges in the table's newest schema, or in the base file's. The first brings columns that were added since
    the base file was written; the second reads an older instant whose files all have an older type. What neither can
    merge (types that changed between a slice's own files) is refused.
    """
    with named_failures(storage, base or logs[0]):
        merger = _merger(storage, instant)
        wanted = hudi.HudiReadOptions(projection=columns).with_batch_size(_BATCH_ROWS)
        try:
            batches = merger.by_table.read_file_slice_from_paths_stream(base, logs, wanted)
            first = next(batches, None)
        except Exception as error:
            if not base or not _is_about_schema(str(error)):
                raise
            batches = merger.by_base_file(storage, base, columns).read_file_slice_from_paths_stream(base, logs, wanted)
            first = next(batches, None)
        if first is not None:
            yield first
            yield from batches


@dataclass(frozen=True)
class _Merger:
    """hudi-rs' readers of slices: the one that its table makes knows the table's newest schema, the other does not."""

    by_table: Any
    alone: Any

    def by_base_file(self, storage: Storage, base: str, columns: list[str]) -> Any:
        """The reader in the base file's schema, which would leave out what only log files have."""
        with storage.open(base) as file:
            lost = sorted(set(columns) - set(pq.read_schema(file).names))
        if lost:
            raise UnsupportedFeature(
                storage.location,
                f"log files merged in a schema that is neither the newest nor the base file's (column {lost[0]})",
                "Read the newest instant, or one at which the table had been compacted.",
            )
        return self.alone


@lru_cache(maxsize=8)
def _merger(storage: Storage, instant: str) -> _Merger:
    table = hudi.HudiTable(uri(storage))
    options = hudi.HudiReadOptions().with_as_of_timestamp(instant)
    alone = hudi.HudiFileGroupReader(uri(storage), {"hoodie.read.end.timestamp": instant})
    return _Merger(table.create_file_group_reader_with_options(options), alone)


def _is_about_schema(text: str) -> bool:
    return any(part in text for part in _ABOUT_SCHEMA)


@contextmanager
def named_failures(storage: Storage, file: str) -> Iterator[None]:
    """Whatever hudi-rs raises, as the error that a user can act on; `file` is what was being read."""
    try:
        yield
    except LakescanError:
        raise
    except BaseException as error:
        # What hudi-rs has not implemented it panics at, which is no `Exception` in Python.
        if not type(error).__module__.startswith(("_internal", "hudi", "pyo3_runtime")):
            raise
        raise _named(storage, file, str(error)) from error


def _named(storage: Storage, file: str, text: str) -> LakescanError:
    name = storage.full_path(file)
    folded = text.lower()
    if "only support table version" in folded:
        found = text.rsplit(" ", 1)[-1]
        return UnsupportedFeature(storage.location, f"the Hudi table version {found}", "Lakescan reads 6, 8 and 9.")
    if _is_about_schema(text):
        return UnsupportedFeature(
            storage.location,
            f"log files merged with a base file of another schema, {name} ({text})",
            "Compact the table, or read it at an instant at which it had been compacted.",
        )
    if "unsupported" in folded or "only support" in folded or "not supported" in folded or "not yet" in folded:
        return UnsupportedFeature(storage.location, f"what hudi-rs refuses ({text})")
    if "not found" in folded or "notfound" in folded:
        return CorruptLog(name, text) if file == PROPERTIES else MissingDataFile(_path_in(text) or name)
    return CorruptLog(name, text) if file == PROPERTIES else CorruptDataFile(name, text)


def _path_in(text: str) -> str | None:
    """The path that an error of storage names."""
    for before, after in (('path: "', '"'), ("Object at location ", " not found")):
        if before in text:
            return text.split(before, 1)[1].split(after, 1)[0]
    return None
