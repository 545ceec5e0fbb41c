"""Log replay: a segment's protocol, metadata and live files.

The newest action for a file wins, where a file is its path together with its deletion vector. Commits are
reconciled among themselves first; then a checkpoint's add stands unless some commit speaks of the same file.
The live files stay Arrow columns throughout. A checkpoint or a compacted file that cannot be read, or that the
version's checksum refutes, is passed over, with a warning, where the log can rebuild the version without it. Replay
goes from the newest actions to the oldest, so whoever needs only some of the files (`partial_replays`) need not read
the rest of a long log.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import (
    CheckpointIgnored,
    ChecksumMismatch,
    CompactionIgnored,
    CorruptLog,
    MissingCommit,
    UnreadableCheckpoint,
    UnreadableCompaction,
    VersionNotFound,
)
from lakescan.formats.delta.log.actions import CENSUS, ActionSource
from lakescan.formats.delta.log.census import census, census_with_rows, not_touched, unnamed
from lakescan.formats.delta.log.checkpoint import CheckpointFiles
from lakescan.formats.delta.log.checksum import Checksum, FileSums, read_checksum
from lakescan.formats.delta.log.commit_files import Commit
from lakescan.formats.delta.log.commits import CommitActions, CommitText, file_actions, read_commits
from lakescan.formats.delta.log.live_files import LiveFiles, numbered
from lakescan.formats.delta.log.log_filter import LogFilter
from lakescan.formats.delta.log.log_pieces import LogPieces, counted, divided
from lakescan.formats.delta.log.log_segment import LogSegment
from lakescan.formats.delta.log.names import LOG_FOLDER
from lakescan.formats.delta.log.opened_once import side_by_side
from lakescan.formats.delta.log.protocol import Metadata, Protocol
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.formats.delta.log.whole_actions import repeated_file
from lakescan.io.storage import Storage
from lakescan.scan.executors import Executors

_T = TypeVar("_T")
_SHORTCUT_FAILED = (UnreadableCheckpoint, UnreadableCompaction, ChecksumMismatch)
# The newest commits, as many as are read in one go, may name files enough, or else the first rows of a checkpoint.
# They are worth a try where the rest of the log is many times as long.
_NEWEST_COMMITS = 8
_FIRST_ROWS = 4096
_MANY_ROWS = 16 * _FIRST_ROWS
# What a replay has read of its checkpoint, and what of that depends on the partition columns.
_OF_THE_CHECKPOINT, _OF_ITS_FILES = ("_checkpoint",), ("_checkpoint_sources",)


class Replay:
    """One segment, read as far as it has been asked for.

    It remembers what it read and, once a checkpoint or a compacted file failed, the replay that does without it.
    """

    def __init__(self, storage: Storage, segment: LogSegment, before: "Replay | None" = None) -> None:
        self.storage = storage
        self.segment = segment
        self._fallback: Replay | None = None
        self._proven = False
        self._texts: dict[Commit, CommitText] = {}
        self._earlier: LiveFiles | None = None
        self._totals: FileSums | None = None
        if before is not None and before._fallback is None and segment.is_of_one_log(before.segment):
            self._go_on_from(before)

    @staticmethod
    def of_state(storage: Storage, version: int, protocol: Protocol, metadata: Metadata) -> "Replay":
        """A version whose state is known, and which lists no files: pieces of the log have those."""
        replay = Replay(storage, LogSegment(version, None, ()))
        replay.__dict__["_state"] = protocol, metadata
        return replay

    def _go_on_from(self, before: "Replay") -> None:
        """Share what another version has read: its commits and, of the same checkpoint, what was read of that."""
        needed = set(self.segment.commits)
        # A copy: whoever reads the other version may be reading more of its commits.
        self._texts = {commit: text for commit, text in before._texts.copy().items() if commit in needed}
        if before.segment.checkpoint is None or before.segment.checkpoint != self.segment.checkpoint:
            return
        self.__dict__ |= {name: before.__dict__[name] for name in _OF_THE_CHECKPOINT if name in before.__dict__}
        if before.metadata.physical_partition_names != self.metadata.physical_partition_names:
            return
        self.__dict__ |= {name: before.__dict__[name] for name in _OF_ITS_FILES if name in before.__dict__}
        known = before.segment.commits
        if self.segment.commits[: len(known)] == known:
            self._earlier = before.__dict__.get("live_files")

    def __eq__(self, other: object) -> bool:
        """Replays of one segment give the same, whatever they have read so far."""
        return isinstance(other, Replay) and (self.storage, self.segment) == (other.storage, other.segment)

    def __hash__(self) -> int:
        return hash((self.storage, self.segment))

    @cached_property
    def commits(self) -> list[CommitText]:
        return [*self._older_commits, *self._newest_commits]

    @cached_property
    def _older_commits(self) -> list[CommitText]:
        return self._read(self.segment.commits[:-_NEWEST_COMMITS])

    @cached_property
    def _newest_commits(self) -> list[CommitText]:
        return self._read(self.segment.commits[-_NEWEST_COMMITS:])

    def _read(self, commits: Sequence[Commit]) -> list[CommitText]:
        new = [commit for commit in commits if commit not in self._texts]
        self._texts.update(zip(new, read_commits(self.storage, new, self.segment.version), strict=True))
        return [self._texts[commit] for commit in commits]

    @property
    def protocol(self) -> Protocol:
        return self._state[0]

    @property
    def metadata(self) -> Metadata:
        return self._state[1]

    @cached_property
    def _state(self) -> tuple[Protocol, Metadata]:
        """Protocol and metadata are the log's own; a checksum only proves or refutes them."""
        return self._or_without(self._read_state, lambda replay: replay._state)

    def domain(self, name: str) -> str | None:
        """What the table says under a name of its domain metadata, None where it says nothing."""
        return self._or_without(lambda: self._read_domain(name), lambda replay: replay.domain(name))

    def _read_domain(self, name: str) -> str | None:
        for action, file in self._newest_first("domainMetadata"):
            if action.get("domain") == name:
                removed = bool(action.get("removed"))
                return None if removed else TypedAction("domainMetadata", action, file).text("configuration")
        return None

    @cached_property
    def live_files(self) -> LiveFiles:
        return self._or_without(self._every_file, lambda replay: replay.live_files)

    def partial_replays(self) -> Iterator[LiveFiles]:
        """Some of the live files, then more: the newest, each time without reading the rest of a long log."""
        if self._fallback is not None:
            yield from self._fallback.partial_replays()
            return
        try:
            if len(self.segment.commits) > _NEWEST_COMMITS or self.has_large_checkpoint:
                newest = file_actions(self._newest_commits, self.metadata.physical_partition_names)
                yield self._live([newest], [newest.adds])
            if self.has_large_checkpoint:
                yield self._reconciled(_FIRST_ROWS)
        except _SHORTCUT_FAILED:
            # Whoever asks for all the files is told, or gets them without the checkpoint.
            return

    def matching(self, wanted: LogFilter) -> LiveFiles | None:
        """The live files that a filter keeps, without listing the others.

        None where listing all is as fast, or has been done, or where the checkpoint fails: then whoever lists them all
        is told, or gets them without the checkpoint.
        """
        try:
            if not self._need_not_list:
                return None
            self._prove()
            return None if self._fallback is not None else self._matching(wanted)
        except _SHORTCUT_FAILED:
            return None

    def without_paths(self, partition: bool) -> LiveFiles | None:
        """The live files without their paths and, unless they are wanted, partition values; None as above, and where
        only paths can tell which files of the checkpoint are live."""
        try:
            if not self._need_not_list or self._checksum is None:
                return None
            parts = unnamed(self._commit_actions, self._checkpoint_sources, self._checksum, partition)
            self._proven = self._proven or parts is not None
            return None if parts is None else self._live([self._commit_actions, *self._checkpoint_sources], parts)
        except _SHORTCUT_FAILED:
            return None

    @property
    def _need_not_list(self) -> bool:
        """Whether it pays to do without a list of all files: there are many, and they are not listed already."""
        if self._fallback is not None or "live_files" in self.__dict__ or not self.has_large_checkpoint:
            return False
        return self._checksum is None or self._checksum.listed is None

    def _matching(self, wanted: LogFilter) -> LiveFiles:
        touched = self._commit_actions.touched
        parts = side_by_side(lambda source: not_touched(source.matching(wanted), touched), self._checkpoint_sources)
        live = self._live(
            [self._commit_actions, *self._checkpoint_sources], [self._commit_actions.matching(wanted), *parts]
        )
        twice = repeated_file(live.table)
        if twice is not None:
            raise self._has_twice(twice)
        return live

    def pieces(self, at_least: int, executors: Executors) -> tuple[list[LiveFiles], LogPieces, FileSums] | None:
        """The live files in pieces, where the checkpoint has so many: those that are here, those that are not, and what
        is counted of all. None where all are listed already, or the checkpoint fails: then as above."""
        if self._fallback is not None or "live_files" in self.__dict__:
            return None
        try:
            if sum(source.num_rows for source in self._checkpoint_sources) < at_least:
                return None
            return self._divided(executors)
        except _SHORTCUT_FAILED:
            return None

    def _divided(self, executors: Executors) -> tuple[list[LiveFiles], LogPieces, FileSums] | None:
        here, pieces = divided(
            self._commit_actions, self._checkpoint_sources, self.segment.version, len(self.segment.commits)
        )
        if not len(pieces):
            return None
        if self._totals is None:
            if self._checksum is not None and self._checksum.listed is not None:
                # It lists every file, so there are few.
                Replay(self.storage, self.segment, self)._every_file()
            self._totals = counted(pieces, here, self._checksum, executors, self._log)
        return None if self._totals is None else (here, pieces, self._totals)

    def together(self, files: pa.Table) -> LiveFiles:
        """Some of the live files, as pieces have listed them; an error where one is there twice."""
        twice = repeated_file(files)
        if twice is not None:
            raise self._has_twice(twice)
        return self._of_sources([self._commit_actions, *self._checkpoint_sources], files)

    def _of_sources(self, sources: Sequence[ActionSource], files: pa.Table) -> LiveFiles:
        return LiveFiles(dict(enumerate(sources)), files, self.segment.version, len(self.segment.commits))

    @cached_property
    def census(self) -> pa.Table:
        """Size and deletion vector of every live file; their paths are looked at only where commits name some."""
        return self._or_without(self._counted, lambda replay: replay.census)

    def _counted(self) -> pa.Table:
        if "live_files" in self.__dict__ or not self.has_large_checkpoint:
            return self.live_files.table.select(CENSUS)
        return census(self._commit_actions, self._checkpoint_sources)

    def census_with_rows(self) -> pa.Table | None:
        """The same with the rows of each; None where listing all files is as fast, has been done, or has to be done
        because the checkpoint fails or the version's checksum lists them."""
        try:
            if not self._need_not_list:
                return None
            return census_with_rows(self._commit_actions, self._checkpoint_sources, self._checksum, self._log)
        except _SHORTCUT_FAILED:
            return None

    def _prove(self) -> None:
        """An error where the version's checksum counts other files than there are."""
        if self._checksum is None or self._proven:
            return
        # Where no commit names a file of the checkpoint the sums are right at once, and no path has to be looked at.
        # Where one does they are not, unless other files of just as many bytes are missing.
        parts = [source.census(None) for source in (self._commit_actions, *self._checkpoint_sources)]
        if not self._checksum.agrees_on_sums(pa.concat_tables(parts)):
            self._checksum.refuse_other_files(self.census, self._log)
        self._proven = True

    def _has_twice(self, path: str) -> CorruptLog:
        why = f"version {self.segment.version} has the file {path} twice"
        if self.segment.checkpoint is not None:
            return UnreadableCheckpoint(self.storage.full_path(self.segment.checkpoint.paths[0]), why)
        return CorruptLog(self._log, why)

    def _every_file(self) -> LiveFiles:
        live = self._reconciled()
        twice = repeated_file(live.table)
        if twice is not None:
            raise self._has_twice(twice)
        if self._checksum is not None:
            self._checksum.refuse_other_files(live.table, self._log)
        return live

    def _reconciled(self, enough: int | None = None) -> LiveFiles:
        """All live files; or of the checkpoint's only so many, those in the first rows of its first files."""
        commits = self._commit_actions
        if enough is None and self._earlier is not None:
            return self._advanced(self._earlier)
        if enough is None:
            every = self._checkpoint_sources
            untouched = side_by_side(lambda source: not_touched(source.adds, commits.touched), every)
            return self._live([commits, *every], [commits.adds, *untouched])
        sources: list[ActionSource] = [commits]
        parts = [commits.adds]
        for source in self._checkpoint_sources:
            sources.append(source)
            parts.append(not_touched(source.first_adds(enough), commits.touched))
            if sum(part.num_rows for part in parts) >= enough:
                break
        return self._live(sources, parts)

    def _advanced(self, earlier: LiveFiles) -> LiveFiles:
        """An earlier version's files of the same checkpoint, without those that the commits since then name."""
        commits, known = self._commit_actions, earlier.commits
        of_checkpoint = earlier.table.filter(pc.greater(earlier.table["source"], 0))
        since = file_actions(self.commits[known:], self.metadata.physical_partition_names)
        left = not_touched(of_checkpoint, since.touched)
        self._earlier = None
        added = numbered([commits.adds])
        return self._of_sources([commits, *self._checkpoint_sources], pa.concat_tables([added, left]))

    def _live(self, sources: Sequence[ActionSource], parts: Sequence[pa.Table]) -> LiveFiles:
        return self._of_sources(sources, numbered(parts))

    @cached_property
    def _commit_actions(self) -> CommitActions:
        return file_actions(self.commits, self.metadata.physical_partition_names)

    @cached_property
    def _checkpoint(self) -> CheckpointFiles | None:
        return None if self.segment.checkpoint is None else CheckpointFiles(self.storage, self.segment.checkpoint)

    @cached_property
    def _checkpoint_sources(self) -> list[ActionSource]:
        return [] if self._checkpoint is None else self._checkpoint.sources(self.metadata.physical_partition_names)

    @property
    def has_large_checkpoint(self) -> bool:
        """Whether it has many rows; no more of its files are opened than it takes to know."""
        counted = accumulate(source.num_rows for source in self._checkpoint_sources)
        return any(rows >= _MANY_ROWS for rows in counted)

    @property
    def _log(self) -> str:
        return f"{self.storage.location}/{LOG_FOLDER}"

    @cached_property
    def _checksum(self) -> Checksum | None:
        if self.segment.checksum is None:
            return None
        return read_checksum(self.storage, self.segment.checksum.path, self.segment.version)

    def _read_state(self) -> tuple[Protocol, Metadata]:
        protocol = Protocol.of(*self._newest("protocol"))
        protocol.refuse_unsupported(self.storage.location)
        action, file = self._newest("metaData")
        metadata = Metadata.of(action, protocol, file)
        if self._checksum is not None:
            self._checksum.refuse_other_state(protocol, metadata, self._log)
        return protocol, metadata

    def _newest(self, name: str) -> tuple[Mapping[str, Any], str]:
        """The action in force, and the file that it stands in."""
        for newest in self._newest_first(name):
            return newest
        checkpoint = self.segment.checkpoint
        # Only one in JSON can be cut and still be read; a whole one without such an action is its writer's.
        if checkpoint is not None and checkpoint.paths[0].endswith(".json"):
            raise UnreadableCheckpoint(self.storage.full_path(checkpoint.paths[0]), f"it has no {name} action")
        raise CorruptLog(self._log, f"no {name} action up to version {self.segment.version}")

    def _newest_first(self, name: str) -> Iterator[tuple[Mapping[str, Any], str]]:
        for text in reversed(self._newest_commits):
            yield from ((action, text.file) for action in reversed(list(text.actions(name))))
        for text in reversed(self._older_commits):
            yield from ((action, text.file) for action in reversed(list(text.actions(name))))
        if self._checkpoint is not None:
            yield from self._checkpoint.named_actions(name)

    def _or_without(self, ask: Callable[[], _T], ask_other: "Callable[[Replay], _T]") -> _T:
        """What is asked of this segment or, where its checkpoint or a compacted file fails, of one without that."""
        if self._fallback is not None:
            return ask_other(self._fallback)
        try:
            return ask()
        except _SHORTCUT_FAILED as error:
            for path in self._suspects(error):
                other = self._answering_without(path, ask_other)
                if other is not None:
                    self._fallback = other
                    self._warn(path, error)
                    return ask_other(other)
            raise

    def _suspects(self, error: CorruptLog) -> Sequence[str]:
        """Which of the segment's files may be at fault: one that is named, or any."""
        named = [path for path in self.segment.shortcuts if self.storage.full_path(path) == error.file]
        checkpoint = self.segment.checkpoint
        if isinstance(error, UnreadableCheckpoint) and checkpoint is not None:
            # The file at fault may be another part, or a sidecar.
            named = [checkpoint.paths[0]]
        return named if isinstance(error, UnreadableCheckpoint | UnreadableCompaction) else self.segment.shortcuts

    def _answering_without(self, path: str, ask: "Callable[[Replay], Any]") -> "Replay | None":
        """The same version without a file, None where the log cannot do without or is refuted then too."""
        if self.segment.without is None:
            return None
        try:
            other = Replay(self.storage, self.segment.without(path))
            ask(other)
        except (MissingCommit, VersionNotFound, ChecksumMismatch):
            return None
        return other

    def _warn(self, path: str, error: CorruptLog) -> None:
        file = error.file if isinstance(error, UnreadableCheckpoint) else self.storage.full_path(path)
        ignored = (
            CompactionIgnored if any(path == commit.path for commit in self.segment.commits) else CheckpointIgnored
        )
        warnings.warn(ignored(file, self.segment.version, error.why), stacklevel=4)
