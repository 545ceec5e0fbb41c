"""Commit files as Arrow: the adds that survive among them, and every file that they mention.

Each commit is parsed by Arrow's JSON reader in one call, so a corrupt one is named. Among the actions for one
file the last one wins. What is left are the adds of the segment's commits; `touched` says which files of the
checkpoint they replace or remove.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.columns import empty_structs, member
from lakescan.delta.actions import DELETION_VECTOR, ROW_TRACKING, StatisticsRequest, adds_schema, keys
from lakescan.delta.json_lines import read_json_lines
from lakescan.delta.log_segment import Commit
from lakescan.delta.statistics import parse_statistics
from lakescan.delta.writers import Writers
from lakescan.errors import CorruptLog, MissingCommit
from lakescan.storage import Storage

_READERS = 8


@dataclass(frozen=True)
class CommitText:
    """A log file of JSON lines, as read."""

    file: str
    text: bytes

    def actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The few actions of one kind (protocol, metaData, ...), newest last, without parsing the other lines."""
        needle = f'"{name}"'.encode()
        at = self.text.find(needle)
        while at >= 0:
            start = self.text.rfind(b"\n", 0, at) + 1
            end = self.text.find(b"\n", at)
            end = len(self.text) if end < 0 else end
            try:
                action = json.loads(self.text[start:end])
            except ValueError as error:
                raise CorruptLog(self.file, f"not JSON ({error})") from error
            if isinstance(action, dict) and isinstance(action.get(name), dict):
                yield action[name]
            at = self.text.find(needle, end)


def read_commits(storage: Storage, commits: Sequence[Commit], version: int) -> list[CommitText]:
    """The commits' bytes, in their order."""

    def read(commit: Commit) -> CommitText:
        file = storage.full_path(commit.path)
        try:
            return CommitText(file, storage.read(commit.path))
        except FileNotFoundError as error:
            raise MissingCommit(file, version, "it was listed and then removed") from error

    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(read, commits))


@dataclass(frozen=True)
class CommitActions:
    """The file actions of a run of commits, reconciled."""

    adds: pa.Table
    touched: pa.ChunkedArray
    _actions: pa.ChunkedArray
    """The add of each line, null where the line is another action."""
    _writers: Writers

    @property
    def num_rows(self) -> int:
        return len(self._actions)

    def first_adds(self, rows: int) -> pa.Table:
        return self.adds

    def statistics(self, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        found = parse_statistics(member(self._actions, "stats").take(rows), wanted)
        return self._writers.mark(found, rows, wanted)

    def row_tracking(self, rows: pa.Array) -> pa.StructArray:
        found = self._actions.take(rows).combine_chunks()
        return pa.StructArray.from_arrays(
            [member(found, field.name) for field in ROW_TRACKING], fields=list(ROW_TRACKING)
        )


def file_actions(texts: Sequence[CommitText], partition_names: Sequence[str]) -> CommitActions:
    """Reconcile the commits, given in ascending order."""
    schema = _json_schema(partition_names)
    parsed = [_file_lines(text, schema) for text in texts]
    table = pa.concat_tables(parsed or [schema.empty_table()])
    add, remove = table["add"], table["remove"]
    added = pc.is_valid(member(add, "path"))
    path = pc.coalesce(member(add, "path"), member(remove, "path"))
    vector = pc.if_else(added, member(add, "deletionVector"), member(remove, "deletionVector"))
    mentioned = pc.is_valid(path)
    key = keys(path.filter(mentioned), vector.filter(mentioned))
    rows = np.flatnonzero(mentioned.to_numpy())[_last_of_each(key)]
    rows = pa.array(np.sort(rows))
    rows = rows.filter(added.take(rows).combine_chunks())
    live = add.take(rows)
    names = adds_schema(partition_names)
    adds = pa.table(
        [
            member(live, "path"),
            member(live, "size"),
            member(live, "modificationTime"),
            member(live, "partitionValues") if partition_names else empty_structs(len(rows)),
            member(live, "deletionVector"),
            rows,
        ],
        schema=names,
    )
    writers = Writers(tuple(texts), np.cumsum([part.num_rows for part in parsed]), member(add, "deletionVector"))
    return CommitActions(adds, key, add, writers)


def _json_schema(partition_names: Sequence[str]) -> pa.Schema:
    add = [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("stats", pa.string()),
        ("deletionVector", DELETION_VECTOR),
        *((field.name, field.type) for field in ROW_TRACKING),
    ]
    if partition_names:
        add.append(("partitionValues", pa.struct([(name, pa.string()) for name in partition_names])))
    remove = [("path", pa.string()), ("deletionVector", DELETION_VECTOR)]
    return pa.schema([("add", pa.struct(add)), ("remove", pa.struct(remove))])


def parse_lines(text: CommitText, schema: pa.Schema) -> pa.Table:
    """A row for each line; what the schema does not name is left out."""
    if not text.text.strip():
        raise CorruptLog(text.file, "it is empty")
    try:
        # A block holds whole lines, and one line may be as long as the file.
        return read_json_lines(text.text, schema, block_size=len(text.text) + 1, threads=False)
    except pa.ArrowInvalid as error:
        raise CorruptLog(text.file, str(error)) from error


def _file_lines(text: CommitText, schema: pa.Schema) -> pa.Table:
    table = parse_lines(text, schema)
    for action, needed in (("add", "path"), ("add", "size"), ("remove", "path")):
        if table[action].null_count != member(table[action], needed).null_count:
            raise CorruptLog(text.file, f"it has {'an' if action == 'add' else 'a'} {action} action without a {needed}")
    return table


def _last_of_each(key: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    encoded = key.combine_chunks().dictionary_encode()
    last = np.zeros(len(encoded.dictionary), dtype=np.int64)
    # Where an index repeats, numpy keeps the value assigned last: the newest action.
    last[encoded.indices.to_numpy()] = np.arange(len(encoded))
    return last
