"""A large checkpoint in pieces, some row groups of one of its files each: what executors are told of a log.

A piece gives the live files among its adds, all or those that a filter keeps, when it is asked. It takes with it the
keys of the files that later commits name, so no more of the log is read for it than its row groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lakescan.formats.delta.log.actions import ActionSource
from lakescan.formats.delta.log.census import not_touched
from lakescan.formats.delta.log.checksum import Checksum, FileSums, file_sums
from lakescan.formats.delta.log.commits import CommitActions
from lakescan.formats.delta.log.live_files import LiveFiles
from lakescan.formats.delta.log.log_filter import LogFilter
from lakescan.formats.delta.log.whole_actions import marks, repeated
from lakescan.scan.executors import Executors

# As many marks of files are compared at a time: 128 MB of them.
_MARKS = 16_000_000
# With as many files of the same size and time as others, their paths are not compared.
_MOST_SUSPECTS = 1_000_000


@dataclass(frozen=True)
class LogPiece:
    """The live files in some row groups of a checkpoint's file."""

    number: int
    """Which of the version's sources the file is."""
    source: ActionSource
    touched: pa.ChunkedArray
    version: int
    commits: int

    @cached_property
    def live_files(self) -> LiveFiles:
        return self._live(self.source.adds)

    def matching(self, wanted: LogFilter) -> LiveFiles:
        """Those that a filter keeps."""
        return self._live(self.source.matching(wanted))

    def _live(self, adds: pa.Table) -> LiveFiles:
        left = not_touched(adds, self.touched)
        numbers = pa.array(np.full(left.num_rows, self.number, np.int32))
        return LiveFiles({self.number: self.source}, left.append_column("source", numbers), self.version, self.commits)


def divided(
    commits: CommitActions, checkpoint: Sequence[ActionSource], version: int, count: int
) -> tuple[list[LiveFiles], "LogPieces"]:
    """The live files that are read already, those of so many commits, and pieces of a checkpoint's files."""
    here = [LogPiece(0, commits, commits.touched[:0], version, count).live_files]
    # Taken together: a slice would travel with all that it is cut from.
    touched = pa.chunked_array([commits.touched.combine_chunks()])
    elsewhere: list[tuple[int, ActionSource]] = []
    for at, source in enumerate(checkpoint, 1):
        parts = source.parts()
        elsewhere += [(at, part) for part in parts]
        if not parts:
            here.append(LogPiece(at, source, touched, version, count).live_files)
    return here, LogPieces(tuple(elsewhere), touched, version, count)


@dataclass(frozen=True)
class LogPieces:
    """All pieces. They pickle together to the names of files and the keys that commits touch."""

    sources: tuple[tuple[int, ActionSource], ...]
    touched: pa.ChunkedArray
    version: int
    commits: int

    def __len__(self) -> int:
        return len(self.sources)

    def piece(self, at: int) -> LogPiece:
        return LogPiece(*self.sources[at], self.touched, self.version, self.commits)

    def sums(self, boundaries: tuple[int, ...] | None, by_path: bool, at: int) -> FileSums:
        """What a checksum counts of a piece: of its live files, or, without looking at paths, of all its adds."""
        looks = by_path and len(self.touched)
        live = partial(not_touched, touched=self.touched) if looks else None
        return file_sums(self.sources[at][1].census(live), boundaries)

    def marks(self, rounds: int, turn: int, at: int) -> npt.NDArray[np.uint64]:
        """One mark in so many of a piece's files."""
        numbers = self.sources[at][1].marks()
        return numbers[numbers % np.uint64(rounds) == turn] if rounds > 1 else numbers

    def paths(self, suspects: npt.NDArray[np.uint64], at: int) -> pa.Array:
        """The live files of a piece with one of these marks."""
        return marked_paths(self.piece(at).live_files.table, suspects)


def marked_paths(files: pa.Table, suspects: npt.NDArray[np.uint64]) -> pa.Array:
    """The paths of the files with one of these marks."""
    of_files = marks(files["size"], files["modification_time"])
    return files["path"].filter(pa.array(np.isin(of_files, suspects))).combine_chunks()


def counted(
    pieces: LogPieces, here: Sequence[LiveFiles], checksum: Checksum | None, executors: Executors, log: str
) -> FileSums | None:
    """What is counted of all live files, once no file is known to be there twice; None where that cannot be told.

    A checksum that counts the same proves it. Without one, files of the same size and time are compared by path.
    """
    boundaries, places = None if checksum is None else checksum.boundaries, range(len(pieces))

    def sums(by_path: bool) -> FileSums:
        given = executors.run(partial(pieces.sums, boundaries, by_path), places)
        total, *others = [file_sums(live.table, boundaries) for live in here] + given
        for other in others:
            total += other
        return total

    if checksum is not None:
        # Where no commit names a file of the checkpoint the sums are right at once, and no path has to be looked at.
        every = sums(by_path=False)
        if checksum.agrees_with(every):
            return every
    live = sums(by_path=True)
    if checksum is not None:
        checksum.refuse_other_sums(live, log)
        if checksum.agrees_with(live):
            return live
    return live if _has_each_once(pieces, here, live.files, executors) else None


def _has_each_once(pieces: LogPieces, here: Sequence[LiveFiles], files: int, executors: Executors) -> bool:
    places, rounds = range(len(pieces)), -(-files // _MARKS) or 1
    known = [marks(live.table["size"], live.table["modification_time"]) for live in here]
    for turn in range(rounds):
        given = executors.run(partial(pieces.marks, rounds, turn), places)
        numbers = np.concatenate([*(one[one % np.uint64(rounds) == turn] for one in known), *given])
        numbers.sort()
        suspects = np.unique(numbers[1:][numbers[1:] == numbers[:-1]])
        if len(suspects) > _MOST_SUSPECTS:
            return False
        if len(suspects):
            found = executors.run(partial(pieces.paths, suspects), places)
            ours = [marked_paths(live.table, suspects) for live in here]
            if repeated(pa.chunked_array([*ours, *found], pa.string())) is not None:
                return False
    return True
