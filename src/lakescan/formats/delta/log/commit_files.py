"""The files of a log's commits, in columns.

A log may have hundreds of thousands of commits, of which a query needs the newest few: only those that are asked for
become objects. Versions are Java's longs; a file whose name has a greater number is no commit.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.formats.delta.log.names import LOG_FOLDER, commit_name
from lakescan.scan.identity import LogFile

_DIGITS = 20
_LAST_VERSION = f"{2**63 - 1:0{_DIGITS}d}"


class Commit(NamedTuple):
    """The file of one commit, or of a run of commits compacted into one that ends with this version."""

    version: int
    file: LogFile
    compacted: bool = False

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def modified_ms(self) -> int:
        return self.file.modified_ms


@dataclass(frozen=True)
class CommitFiles(Sequence[Commit]):
    """Commits in ascending order of version, each once."""

    versions: pa.Int64Array
    sizes: pa.Int64Array
    modified_ms: pa.Int64Array

    @staticmethod
    def of(files: pa.Table) -> "CommitFiles":
        """Of files that are commits, in order of name."""
        return CommitFiles(versions_of(files), *(files[name].combine_chunks() for name in ("size", "modified_ms")))

    def __len__(self) -> int:
        return len(self.versions)

    @overload
    def __getitem__(self, at: int) -> Commit: ...
    @overload
    def __getitem__(self, at: slice) -> "CommitFiles": ...
    def __getitem__(self, at: int | slice) -> "Commit | CommitFiles":
        if isinstance(at, slice):
            return CommitFiles(*(column[at] for column in self._columns))
        return _commit(*(column[at].as_py() for column in self._columns))

    def __iter__(self) -> Iterator[Commit]:
        return map(_commit, *(column.to_pylist() for column in self._columns))

    @property
    def _columns(self) -> tuple[pa.Int64Array, pa.Int64Array, pa.Int64Array]:
        return self.versions, self.sizes, self.modified_ms

    def between(self, first: int, last: int) -> "CommitFiles":
        """Those from one version to another, both included."""
        # In Python's numbers: whoever asks may ask for a version beyond Java's longs.
        begin = bisect_left(self.versions, first, key=pa.Int64Scalar.as_py)
        end = bisect_right(self.versions, last, key=pa.Int64Scalar.as_py)
        return self[begin : max(begin, end)]

    @property
    def newest_run(self) -> "CommitFiles":
        """The newest one and those before it up to a version that is missing."""
        gaps = np.flatnonzero(np.diff(np.asarray(self.versions)) != 1)
        return self[int(gaps[-1]) + 1 :] if len(gaps) else self


def _commit(version: int, size: int, modified_ms: int) -> Commit:
    return Commit(version, LogFile(f"{LOG_FOLDER}/{commit_name(version)}", size, modified_ms))


def are_of_versions(names: pa.ChunkedArray, ending: str) -> pa.ChunkedArray:
    """Which names are a version's number and this ending."""
    spelled = pc.match_substring_regex(names, rf"^\d{{{_DIGITS}}}\.{ending}$")
    return pc.and_(spelled, pc.less_equal(names, f"{_LAST_VERSION}.{ending}"))


def versions_of(files: pa.Table) -> pa.Int64Array:
    """The numbers with which the files' names begin."""
    return pc.cast(pc.utf8_slice_codeunits(files["name"], 0, _DIGITS), pa.int64()).combine_chunks()
