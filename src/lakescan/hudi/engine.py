"""The one door to hudi-rs: tables opened and slices merged, its failures turned into named errors.

hudi-rs resolves the timeline, the file slices and the merging of base and log files. It has one class of error;
what went wrong is only in its text, so the texts are told apart here and nowhere else.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import hudi
import pyarrow as pa

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


def merged(
    storage: Storage, base: str, logs: list[str], options: Mapping[str, str], columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """The rows of a slice, base and log files merged, with only these columns."""
    with named_failures(storage, base):
        reader = hudi.HudiFileGroupReader(uri(storage), dict(options))
        wanted = hudi.HudiReadOptions(projection=columns)
        yield from reader.read_file_slice_from_paths_stream(base, logs, wanted)


@contextmanager
def named_failures(storage: Storage, file: str) -> Iterator[None]:
    """Whatever hudi-rs raises, as the error that a user can act on; `file` is what was being read."""
    try:
        yield
    except LakescanError:
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("_internal", "hudi")):
            raise
        raise _named(storage, file, str(error)) from error


def _named(storage: Storage, file: str, text: str) -> LakescanError:
    name = storage.full_path(file)
    folded = text.lower()
    if "only support table version" in folded:
        found = text.rsplit(" ", 1)[-1]
        return UnsupportedFeature(storage.location, f"the Hudi table version {found}", "Lakescan reads 6, 8 and 9.")
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
