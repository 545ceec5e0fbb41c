"""Commit files as Arrow: the adds that survive among them, and every file that they mention.

Each commit is parsed by Arrow's JSON reader in one call, so a corrupt one is named. Among the actions for one
file the last one wins. What is left are the adds of the segment's commits; `touched` says which files of the
checkpoint they replace or remove. An action that is not whole is an error, and so is a file that stands twice in what
should be reconciled already (a compacted run of commits, a checkpoint in JSON).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import CorruptLog, MissingCommit, UnreadableCompaction
from lakescan.formats.delta.log.actions import (
    CENSUS,
    DELETION_VECTOR,
    ROW_TRACKING,
    ROWS,
    StatisticsRequest,
    adds_schema,
    keys,
)
from lakescan.formats.delta.log.commit_files import Commit
from lakescan.formats.delta.log.json_lines import parse_json, read_json_lines
from lakescan.formats.delta.log.log_filter import LogFilter
from lakescan.formats.delta.log.whole_actions import broken_action, marks, repeated
from lakescan.formats.delta.statistics.parsed import parse_statistics
from lakescan.formats.delta.statistics.writers import Writers
from lakescan.io.storage import Storage
from lakescan.scan.kept_columns import KEPT
from lakescan.types.columns import empty_structs, member

_READERS = 8
# So many bytes stand for the numbers of rows: no two lists of rows that anybody meets have the same.
_DIGEST = 16
_END_FIELD = pa.field("lakescan.end", pa.bool_())
_END = b'\n{"lakescan.end":true}\n'


@dataclass(frozen=True)
class CommitText:
    """A log file of JSON lines, as read."""

    file: str
    text: bytes
    reconciled: bool = False
    """Whether it comes from several commits, so that it speaks of each file, and of the table, once."""
    _parsed: dict[tuple[str, ...], pa.Table] = field(default_factory=dict, repr=False, compare=False)

    def file_lines(self, partition_names: Sequence[str]) -> pa.Table:
        """A row for each line, with its file action; parsed once, for a later version of the table needs it again."""
        key = tuple(partition_names)
        if key not in self._parsed:
            self._parsed[key] = _reconciled_lines(self, _json_schema(partition_names))
        return self._parsed[key]

    def corrupt(self, why: str) -> CorruptLog:
        return (UnreadableCompaction if self.reconciled else CorruptLog)(self.file, why)

    def actions(self, name: str) -> Iterator[Mapping[str, Any]]:
        """The few actions of one kind (protocol, metaData, ...), newest last, without parsing the other lines."""
        needle = f'"{name}"'.encode()
        at = self.text.find(needle)
        while at >= 0:
            start = self.text.rfind(b"\n", 0, at) + 1
            end = self.text.find(b"\n", at)
            end = len(self.text) if end < 0 else end
            try:
                action = parse_json(self.text[start:end])
            except ValueError as error:
                raise self.corrupt(f"not JSON ({error})") from error
            if not isinstance(action, dict):
                raise self.corrupt("a line of it is no JSON object")
            fields = action.get(name)
            if fields is not None and not isinstance(fields, dict):
                raise self.corrupt(f"its {name} action is no JSON object")
            if fields is not None:
                yield fields
            at = self.text.find(needle, end)


def read_commits(storage: Storage, commits: Sequence[Commit], version: int) -> list[CommitText]:
    """The commits' bytes, in their order."""

    def read(commit: Commit) -> CommitText:
        file = storage.full_path(commit.path)
        try:
            return CommitText(file, storage.read(commit.path), reconciled=commit.compacted)
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

    def matching(self, wanted: LogFilter) -> pa.Table:
        texts = self.adds["partition"].combine_chunks() if wanted.needs_partition else None
        known = None if wanted.by_partition else self.statistics(self.adds["row"].combine_chunks(), wanted.request)
        return self.adds.filter(wanted.keeps(texts, known, self.adds.num_rows))

    def parts(self) -> Sequence["CommitActions"]:
        return ()

    def marks(self) -> npt.NDArray[np.uint64]:
        return marks(self.adds["size"], self.adds["modification_time"])

    def census(self, live: Callable[[pa.Table], pa.Table] | None, counted: StatisticsRequest | None = None) -> pa.Table:
        adds = self.adds if live is None else live(self.adds)
        files = adds.select(CENSUS)
        if counted is None:
            return files
        rows = member(self.statistics(adds["row"].combine_chunks(), counted), "row_count")
        return files.append_column(ROWS, rows)

    def unnamed_adds(self, partition: bool) -> pa.Table:
        return self.adds

    def statistics(self, rows: pa.Array, wanted: StatisticsRequest) -> pa.StructArray:
        """Those of the adds with these `row` numbers; kept, for the next query mostly asks for the same."""
        key = (wanted, blake2b(rows.to_numpy(), digest_size=_DIGEST).digest())
        kept = KEPT.get(self._owner, key)
        if kept is None:
            parsed = parse_statistics(member(self._actions, "stats").take(rows), wanted)
            kept = self._writers.mark(parsed, rows, wanted)
            KEPT.put(self._owner, key, kept)
        return kept

    @cached_property
    def _owner(self) -> int:
        return KEPT.owner(self)

    def row_tracking(self, rows: pa.Array) -> pa.StructArray:
        actions = self._actions.take(rows).combine_chunks()
        return pa.StructArray.from_arrays(
            [member(actions, field.name) for field in ROW_TRACKING], fields=list(ROW_TRACKING)
        )


def file_actions(texts: Sequence[CommitText], partition_names: Sequence[str]) -> CommitActions:
    """Reconcile the commits, given in ascending order."""
    parsed = [text.file_lines(partition_names) for text in texts]
    table = pa.concat_tables(parsed or [_json_schema(partition_names).empty_table()])
    add = table["add"]
    added = add.is_valid()
    mentioned, key = _mentioned(table)
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
        raise text.corrupt("it is empty")
    try:
        # A block holds whole lines, and one line may be as long as the file.
        return read_json_lines(text.text, schema, block_size=len(text.text) + 1, threads=False)
    except pa.ArrowInvalid as error:
        raise text.corrupt(str(error)) from error


def file_lines(text: CommitText, schema: pa.Schema) -> pa.Table:
    """The same; an error where a file action is not whole."""
    table = parse_lines(text, schema)
    wrong = wrong_lines(table)
    if wrong is not None:
        raise text.corrupt(wrong)
    return table


def wrong_lines(table: pa.Table) -> str | None:
    """What is wrong with some lines of a commit, None where nothing is."""
    for kind in table.column_names:
        wrong = broken_action(kind, table[kind])
        if wrong is not None:
            return wrong
    if pc.any(pc.and_(table["add"].is_valid(), table["remove"].is_valid())).as_py():
        return "one of its lines is both an add and a remove action"
    return None


def lines_together(texts: Sequence[CommitText], schema: pa.Schema) -> list[pa.Table] | None:
    """`file_lines` of each text, by one call of Arrow's; None where that cannot tell them, or an error, apart.

    Small commits take longer to begin parsing than to parse. A line that no commit has stands behind each.
    """
    joined = b"".join(part for text in texts for part in (text.text, _END))
    try:
        table = read_json_lines(joined, schema.append(_END_FIELD), block_size=len(joined) + 1, threads=False)
    except pa.ArrowInvalid:
        return None
    ends = np.flatnonzero(table[_END_FIELD.name].is_valid().to_numpy())
    starts = np.concatenate([[0], ends[:-1] + 1])
    table = table.select(schema.names).combine_chunks()
    if len(ends) != len(texts) or np.any(starts == ends) or wrong_lines(table) is not None:
        return None
    return [table.slice(start, end - start) for start, end in zip(starts, ends, strict=True)]


def _reconciled_lines(text: CommitText, schema: pa.Schema) -> pa.Table:
    table = file_lines(text, schema)
    if not text.reconciled:
        return table
    _, key = _mentioned(table)
    twice = repeated(key)
    if twice is not None:
        raise text.corrupt(f"it speaks more than once of the file {twice.splitlines()[0]}")
    for name in ("protocol", "metaData"):
        if len(list(text.actions(name))) > 1:
            raise text.corrupt(f"it has more than one {name} action")
    return table


def _mentioned(table: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Which lines speak of a file, and the keys of these files."""
    add, remove = table["add"], table["remove"]
    path = pc.coalesce(member(add, "path"), member(remove, "path"))
    vector = pc.if_else(add.is_valid(), member(add, "deletionVector"), member(remove, "deletionVector"))
    mentioned = pc.is_valid(path)
    return mentioned, keys(path.filter(mentioned), vector.filter(mentioned))


def _last_of_each(key: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    encoded = key.combine_chunks().dictionary_encode()
    last = np.zeros(len(encoded.dictionary), dtype=np.int64)
    # Where an index repeats, numpy keeps the value assigned last: the newest action.
    last[encoded.indices.to_numpy()] = np.arange(len(encoded))
    return last
