"""What a table's commits say of themselves: JSON, or Avro where the timeline has a folder of its own.

Written by hand because hudi-rs takes a file's word for how much is in it: a count that one damaged byte made huge ends
the whole process. So every commit is read and checked here before hudi-rs is asked anything: what leaves this module
has the types that it should have.
"""

import io
import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

import fastavro

from lakescan.errors import CorruptLog
from lakescan.io.storage import Entry, Storage

Commit: TypeAlias = Mapping[str, Any]
_READERS = 8
_AVRO = b"Obj\x01"
_CODECS = ("null", "deflate")
_TEXTS = ("path", "prevCommit")
_COUNTS = ("numWrites", "numDeletes", "fileSizeInBytes")


def read_commits(
    storage: Storage, folder: str, files: Mapping[str, Entry], is_avro: bool, known: Mapping[Entry, Commit]
) -> dict[Entry, Commit]:
    """The commits in these files, by their entries; `known` are not read again."""

    def read(file: Entry) -> Commit:
        path = f"{folder}/{file.name}"
        return known[file] if file in known else _commit(storage.read(path), storage.full_path(path), is_avro)

    entries = list(files.values())
    with ThreadPoolExecutor(_READERS) as pool:
        return dict(zip(entries, pool.map(read, entries), strict=True))


def _commit(content: bytes, file: str, is_avro: bool) -> Commit:
    try:
        commit = _from_avro(content) if is_avro else json.loads(content)
    except Exception as error:
        # Whatever the decoders stumble over, from a wrong count to too deep a nesting, is the file's fault.
        raise CorruptLog(file, f"it is no commit ({type(error).__name__}: {error})") from error
    fault = next(_faults(commit), None)
    if fault is not None:
        raise CorruptLog(file, f"it is no commit: {fault}")
    return dict(commit)


def _from_avro(content: bytes) -> Any:
    if not content.startswith(_AVRO):
        raise ValueError("it is no Avro file")
    reader = fastavro.reader(io.BytesIO(content))
    codec = reader.metadata.get("avro.codec", "null")
    if codec not in _CODECS:
        raise ValueError(f"the codec {codec!r}")
    (commit,) = list(reader)
    return commit


def _faults(commit: Any) -> Iterator[str]:
    """What is of another type than it should be."""
    if not isinstance(commit, dict):
        yield "it is no record"
        return
    for name in ("partitionToWriteStats", "partitionToReplaceFileIds", "extraMetadata"):
        if not isinstance(commit.get(name), (dict, type(None))):
            yield f"{name} is no map"
            return
    if not isinstance(commit.get("operationType"), (str, type(None))):
        yield "operationType is no text"
    if not isinstance((commit.get("extraMetadata") or {}).get("schema"), (str, type(None))):
        yield "its schema is no text"
    for folder, stats in (commit.get("partitionToWriteStats") or {}).items():
        if not isinstance(stats, list):
            yield f"partitionToWriteStats has no list for {folder!r}"
            continue
        yield from (fault for stat in stats for fault in _faults_of_file(stat))
    for folder, groups in (commit.get("partitionToReplaceFileIds") or {}).items():
        if not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
            yield f"partitionToReplaceFileIds has no list of texts for {folder!r}"


def _faults_of_file(stat: Any) -> Iterator[str]:
    if not isinstance(stat, dict) or not isinstance(stat.get("fileId"), str):
        yield "a file that it wrote has no fileId"
        return
    for name in _TEXTS:
        if not isinstance(stat.get(name), (str, type(None))):
            yield f"{name} of {stat['fileId']} is no text"
    for name in _COUNTS:
        count = stat.get(name)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 1 << 62):
            yield f"{name} of {stat['fileId']} is {count!r}"
