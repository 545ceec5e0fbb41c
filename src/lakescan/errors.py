"""Every error a user of Lakescan can cause or meet, one class each.

Each message says what is wrong, with which file or name, and what to do about it. `LakescanError` is the
base of all of them; where Python has a class for the same thing (a missing file, a wrong value) the error is
that too, so that ordinary `except` clauses work. `condition` is the name that Spark users see in brackets.
"""

import re
from collections.abc import Sequence
from typing import Any

from lakescan.io.secrets import masked
from lakescan.show.text import shown_lines


class LakescanError(Exception):
    """Base of every error that Lakescan raises on purpose.

    Its message has no secret of a location or of an answer, and no character that a terminal would act on.
    """

    def __init__(self, message: str) -> None:
        super().__init__(shown_lines(masked(message)))

    @property
    def condition(self) -> str:
        return "LAKESCAN_" + re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).upper()

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the class with the message, and most of these are made of something else.
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[LakescanError], arguments: tuple[Any, ...], state: dict[str, Any]) -> LakescanError:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    error.__dict__.update(state)
    return error


class TableNotFound(LakescanError, FileNotFoundError):
    """The location holds no table of a format that Lakescan knows."""

    def __init__(self, location: str, signs: Sequence[str]) -> None:
        lacking = f"holds neither {' nor '.join(signs)}" if len(signs) > 1 else f"lacks {signs[0]}"
        super().__init__(
            f"No table at {location}: the folder is missing or {lacking}. Check the path and that this process "
            "may read it."
        )


class UnsupportedLocation(LakescanError, ValueError):
    """A path whose scheme Arrow has no file system for, or that is not well formed."""

    def __init__(self, location: str, why: str) -> None:
        super().__init__(
            f"{location} cannot be opened: {why}. Lakescan reads local paths and the stores that pyarrow.fs knows: "
            "s3, gs, abfs and hdfs."
        )


class StorageFailure(LakescanError, OSError):
    """Storage answered with a failure: no permission, no network, a broken device."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path} could not be read: {why}. Check the credentials, permissions and network, and retry.")


class ExpiredCredentials(StorageFailure):
    """The store says that the keys or the token that it was asked with are no longer valid."""

    def __init__(self, path: str, why: str) -> None:
        LakescanError.__init__(
            self,
            f"{path} could not be read: its credentials have expired ({why}). Give new ones and run the query again; a "
            "provider (lakescan.StorageConfiguration) renews them while a query runs.",
        )


class NotAFile(StorageFailure):
    """Where a file should be there is a folder, a pipe, a socket or a device."""

    def __init__(self, path: str) -> None:
        LakescanError.__init__(
            self,
            f"{path} is no regular file but a folder, a pipe, a socket or a device, and is not read. Put the file back "
            "that belongs there.",
        )


class NotEnoughMemory(LakescanError):
    """The rows of a data file, or what is made of them, do not fit the memory that there is."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(
            f"The rows of the data file {file} do not fit the memory of this process ({why}). Read fewer columns or "
            "rows, take them batch by batch (to_batches), or give the process more memory."
        )


class VersionNotFound(LakescanError, ValueError):
    """A version or a time outside what the log can rebuild."""

    def __init__(self, location: str, wanted: str, earliest: int | str, latest: int | str) -> None:
        super().__init__(
            f"{location} cannot be read at {wanted}: its log can rebuild versions {earliest} to {latest}. "
            "Ask for one of these."
        )


class CommitsNotFound(VersionNotFound):
    """Commits, or a time among them, that the log does not have: for changes and streams a snapshot is not enough."""

    def __init__(self, location: str, wanted: str, earliest: int, latest: int) -> None:
        there = (
            f"its log has the commits {earliest} to {latest} without a gap. Ask for some of these"
            if earliest <= latest
            else f"its log has no commit that leads up to its newest version, {latest}. Ask for versions to come"
        )
        LakescanError.__init__(self, f"{location} cannot be read at {wanted}: {there}.")


class InvalidVersion(LakescanError, ValueError):
    """Text that names no version or no time."""

    def __init__(self, text: object, why: str) -> None:
        super().__init__(f"{text!r} names no version of a table: {why}")


class ChangesNotRecorded(LakescanError, ValueError):
    """A range of versions in some of which the table did not record its changes."""

    def __init__(self, location: str, version: int, start: int, end: int, switch: str) -> None:
        super().__init__(
            f"The changes of versions {start} to {end} of {location} cannot be read: at version {version} the table "
            f"property {switch} is not true. Ask for versions at which it is, or compare the table's versions "
            "themselves."
        )


class IncompatibleChanges(LakescanError, ValueError):
    """A range of versions whose rows do not fit one schema."""

    def __init__(self, location: str, start: int, end: int, version: int, why: str) -> None:
        super().__init__(
            f"The changes of versions {start} to {end} of {location} do not fit the schema of version {end}: since "
            f"version {version} {why}. Read the versions before and after that change apart."
        )


class UnknownTimeZone(LakescanError):
    """A time, or a partition value, that names no zone, where the session's zone is not known."""

    def __init__(self) -> None:
        super().__init__(
            "A time, or a timestamp that the table is partitioned by, names no time zone, and the session's is not "
            'known here. Give it: .option("timeZone", spark.conf.get("spark.sql.session.timeZone")).'
        )


class InvalidTimeZone(LakescanError, ValueError):
    """A time zone that the time zone database does not have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} is not a time zone that Lakescan knows. Use a region such as Europe/Paris, or an offset such as "
            "+02:00 (spark.sql.session.timeZone in a Spark session, time_zone= in lakescan.open)."
        )


class CorruptLog(LakescanError):
    """A file of the table's log cannot be read as what it should be."""

    def __init__(self, file: str, why: str) -> None:
        self.file, self.why = file, why
        super().__init__(
            f"The log file {file} is corrupt: {why}. Nothing was read. Restore the file from a backup, or read "
            "an older version with version=."
        )


class UnreadableCheckpoint(CorruptLog):
    """A file of a checkpoint cannot be read, and the log cannot rebuild the version without it."""


class UnreadableCompaction(CorruptLog):
    """A compacted log file cannot be read or contradicts itself, and the commits that it stands for are gone."""


class ChecksumMismatch(CorruptLog):
    """A version's checksum file refutes what its log says."""

    def __init__(self, file: str, log: str, version: int, why: str) -> None:
        super().__init__(file, why)
        self.args = (
            f"The checksum file {file} refutes the log {log} at version {version}: {why}. Nothing was read. One of the "
            "two is damaged or was changed by hand: restore it from a backup or, where the log is right, remove the "
            "checksum file.",
        )


class CheckpointIgnored(UserWarning):
    """A checkpoint that is corrupt or lacks a part was passed over; the answer is right, and slower to get."""

    def __init__(self, file: str, version: int, why: str) -> None:
        super().__init__(
            f"The checkpoint file {file} is not used: {why}. Version {version} is rebuilt from an older checkpoint "
            "or from the commits instead, which takes longer. Restore the file, or let the table's writer make a "
            "new checkpoint."
        )


class CompactionIgnored(UserWarning):
    """A compacted log file that is corrupt or contradicts itself was passed over; the answer is right."""

    def __init__(self, file: str, version: int, why: str) -> None:
        super().__init__(
            f"The compacted log file {file} is not used: {why}. Version {version} is rebuilt from the commits that it "
            "stands for. Remove the file: it only saves time."
        )


class ChecksumIgnored(UserWarning):
    """A checksum file that is damaged was passed over: it proves nothing."""

    def __init__(self, file: str, version: int, why: str) -> None:
        super().__init__(
            f"The checksum file {file} is not used: {why}. Version {version} is read from the log without being "
            "compared with it. Remove the file, or restore it."
        )


class ColumnStatisticsIgnored(UserWarning):
    """An index of column statistics that cannot be read was passed over; the answer is right, and more is read."""

    def __init__(self, location: str, why: str, what_to_do: str) -> None:
        super().__init__(
            f"The column statistics of {location} are not used: {why} Files are planned without them, so more are "
            f"read. {what_to_do}"
        )


class OptimizationFailed(UserWarning):
    """A pushdown or a shortcut of the planner failed by a fault of Lakescan; the answer is right, and slower to get."""

    def __init__(self, name: str, error: Exception) -> None:
        super().__init__(
            f"Lakescan gave up an optimization of this query ({name}): {type(error).__name__}: {error}. The answer is "
            "right without it, and may take longer. Please report this as a bug."
        )


class MissingCommit(LakescanError):
    """The log has a gap: a commit that the version needs is not there."""

    def __init__(self, file: str, version: int, why: str) -> None:
        super().__init__(
            f"Version {version} cannot be rebuilt: {file} is missing ({why}). Nothing was read. Restore the "
            "file, or ask for a version that the log can still rebuild."
        )


class MissingDataFile(LakescanError, FileNotFoundError):
    """The log names a data file that is not in storage."""

    def __init__(self, file: str) -> None:
        super().__init__(
            f"The data file {file} is in the table's log but not in storage. It may have been removed by VACUUM "
            "or a cleaner (then read a newer version) or by hand (then restore it). No partial answer is given."
        )


class CorruptDataFile(LakescanError):
    """A data file is there but is not what the log says."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(
            f"The data file {file} cannot be read: {why}. Restore the file from a backup, or read a version of "
            "the table that does not use it."
        )


class CorruptDeletionVector(LakescanError):
    """A deletion vector whose size, checksum or cardinality is not what the log says."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(
            f"The deletion vector in {file} is corrupt: {why}. Deleted rows cannot be told from live ones, so "
            "nothing is returned. Restore the file, or read a version that does not use it."
        )


class MissingDeletionVector(LakescanError, FileNotFoundError):
    """The log names a deletion vector file that is not in storage."""

    def __init__(self, file: str) -> None:
        super().__init__(
            f"The deletion vector file {file} is in the table's log but not in storage. Deleted rows cannot be "
            "told from live ones, so nothing is returned. Restore the file, or read a version without it."
        )


class UnsupportedFeature(LakescanError):
    """The table needs something of its reader that this release of Lakescan does not do."""

    def __init__(self, location: str, feature: str, advice: str = "Read it with an engine that supports it.") -> None:
        super().__init__(f"{location} needs {feature}, which Lakescan does not support. {advice}")


class CatalogManaged(UnsupportedFeature):
    """A table whose newest commits only its catalog knows."""

    def __init__(self, location: str, feature: str) -> None:
        super().__init__(
            location,
            f"its catalog (the table feature {feature})",
            "A catalog decides which commits of this table count, and keeps the newest of them to itself, so reading "
            "the folder could give a version that never was. Read it by its name with an engine connected to that "
            "catalog.",
        )


class UnsupportedType(LakescanError):
    """A column of a type that Lakescan cannot represent."""

    def __init__(self, column: str, type_name: str) -> None:
        super().__init__(
            f"Column {column} has the type {type_name}, which Lakescan does not support. Nothing was read."
        )


class SchemaMismatch(LakescanError):
    """A data file holds a column in a type that cannot become the table's type without loss."""

    def __init__(self, file: str, column: str, stored_type: str, wanted: str) -> None:
        super().__init__(
            f"In {file} the column {column} is {stored_type} and the table says {wanted}; these values cannot be "
            "converted without loss. The file was not written for this table's schema."
        )


class UnknownColumn(LakescanError, ValueError):
    """A name that the table does not have."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"No column {name!r} in the table. It has: {', '.join(known)}.")


class AmbiguousColumn(LakescanError, ValueError):
    """A name that fits several columns which differ only in case."""

    def __init__(self, name: str, candidates: list[str]) -> None:
        super().__init__(f"{name!r} fits several columns: {', '.join(candidates)}. Write the exact case.")


class InvalidFilter(LakescanError, ValueError):
    """A filter that cannot be read, or that compares what cannot be compared."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"The filter {text!r} cannot be used: {why}")


class InvalidLimit(LakescanError, ValueError):
    """A negative limit."""

    def __init__(self, rows: int) -> None:
        super().__init__(f"A limit of {rows} rows is not possible: give a number that is not negative.")


class InvalidSample(LakescanError, ValueError):
    """A sample that is no fraction of a table."""

    def __init__(self, fraction: float) -> None:
        super().__init__(f"A sample of {fraction} of a table is not possible: give a fraction from 0 to 1.")


class UnknownSetting(LakescanError, ValueError):
    """A Spark conf or read option that begins with `lakescan.` and is none of ours."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"There is no setting {name}. The nearest: {', '.join(known)}. See docs/options.md.")


class InvalidSetting(LakescanError, ValueError):
    """A setting with a value that it cannot have."""

    def __init__(self, name: str, value: str, wanted: str) -> None:
        super().__init__(f"The setting {name} cannot be {value!r}: give {wanted}.")


class UnsupportedSpark(LakescanError):
    """The session is of a kind, or Spark of a version, that the DataSource V2 face cannot work with."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


class NotOnConnect(UnsupportedSpark):
    """Something that a Spark Connect session cannot do from the client, or that its server lacks."""


class ServerFailed(LakescanError):
    """The server that `lakescan connect` starts could not start, or its Spark ended."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The Spark Connect server cannot run: {why}")


class NoPythonBeside(LakescanError):
    """A driver that is not Python has Lakescan's JAR, and its interpreter or that one's Lakescan is missing."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"Lakescan runs in a Python process beside this driver, and {why}. Set spark.lakescan.python to an "
            "interpreter in which pip install 'lakescan[spark]' was done."
        )


class JarNotWritten(LakescanError, OSError):
    """The folder in which `lakescan jar` keeps its JAR cannot be written to."""

    def __init__(self, folder: str, why: str) -> None:
        super().__init__(
            f"The JAR cannot be written to {folder}: {why}. Set XDG_CACHE_HOME to a folder that this user may write to."
        )


class StoppedSession(LakescanError, ValueError):
    """A SparkSession that was stopped."""

    def __init__(self) -> None:
        super().__init__(
            "This Spark session has been stopped. Make a new one, with lakescan.session() or SparkSession.builder, and "
            "call lakescan.install and lakescan.attach for it again."
        )


class NotASession(LakescanError, TypeError):
    """Something else than a SparkSession in the place of one: most often arguments that were swapped."""

    def __init__(self, given: object) -> None:
        super().__init__(
            f"The first argument must be a SparkSession, not {given!r}: write lakescan.read(spark, path), "
            "lakescan.attach(spark, name, path)."
        )


class JavaNotFound(LakescanError):
    """Spark could not be started because there is no Java, or too old a one."""

    def __init__(self, installed: str) -> None:
        super().__init__(
            f"Spark needs Java 17 or newer, and {installed}. Install one (apt-get install openjdk-17-jre-headless, "
            "dnf install java-21-openjdk-headless, brew install openjdk@17), or set JAVA_HOME to the folder of one."
        )


class WrongFormat(LakescanError, ValueError):
    """A table of one format under the name of another."""

    def __init__(self, location: str, asked: str, actual: str) -> None:
        super().__init__(
            f"{location} is a {actual.capitalize()} table, not a {asked.capitalize()} one: write {actual}.`{location}`."
        )


class ReadOnly(LakescanError):
    """A statement that would change a table or a catalog."""

    def __init__(self, where: str, statement: str) -> None:
        super().__init__(
            f"{statement} is not possible in {where}: Lakescan reads tables and never changes them. "
            "Write with the engine that owns the table."
        )


class InvalidArgument(LakescanError, ValueError):
    """A table function's arguments are not those it takes."""

    def __init__(self, function: str, why: str) -> None:
        super().__init__(f"{function} was called in a way that it cannot be: {why}.")


class NotALakeTable(LakescanError, ValueError):
    """A name in SQL that stands for something other than a table that Lakescan reads."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is no table that Lakescan reads: give the name of such a table, or its path.")


class ManagedTable(LakescanError):
    """A statement by which a catalog would delete or move a table's files."""

    def __init__(self, table: str, statement: str) -> None:
        super().__init__(
            f"{statement} of {table} is not possible: its catalog manages the table's files, and Lakescan never "
            "changes them. Use the engine that wrote it, or make it an external table there."
        )


class InternalError(LakescanError):
    """A fault of Lakescan itself, met while Spark was asking it something."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Lakescan failed in a way it should not have: {what}. Please report this as a bug.")


class QueryFailed(LakescanError, ValueError):
    """Spark cannot read a query, or failed while it ran."""

    def __init__(self, why: str) -> None:
        super().__init__(f"Spark could not answer the query: {why}. Check the query and the tables that it names.")


class MissingPackage(LakescanError, ImportError):
    """A Python package that is asked for is not installed; Lakescan itself does without it."""

    def __init__(self, what: str, package: str) -> None:
        super().__init__(f"{what} needs the package {package}, which is not installed: pip install {package}.")


class InvalidName(LakescanError, ValueError):
    """A table name that cannot be used in the `lake` catalog."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name!r} cannot name a table: {why}")


class InvalidOption(LakescanError, ValueError):
    """An option of a reader that does not exist, cannot have that value, or cannot stand beside another."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"The option {name} cannot be used: {why}")


class UnknownOption(InvalidOption):
    """An option that no reader has: most likely a mistyped one."""

    def __init__(self, name: str, near: list[str], known: dict[str, list[str]]) -> None:
        listed = "; ".join(f"of {read}: {', '.join(names)}" for read, names in known.items())
        meant = f"Did you mean {' or '.join(near)}?" if near else f"There are, {listed}."
        super().__init__(name, f"there is no such option. {meant} See docs/options.md.")


class InvalidOffset(LakescanError, ValueError):
    """An offset in a stream's checkpoint that this release cannot read, or from which it cannot go on."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(
            f"The offset {text} in the stream's checkpoint cannot be used: {why}. Start the stream with a new "
            "checkpoint, or go back to the release of Lakescan that wrote it."
        )


class StartNotRebuilt(LakescanError):
    """In exact mode: the state at the version where a stream starts, or goes on, is neither rebuilt nor proven."""

    def __init__(self, location: str, version: int, why: str) -> None:
        super().__init__(
            f"A stream of {location} cannot read version {version} in startingVersionMode exact: the snapshot there, "
            f"which says how its commit is to be read, cannot be rebuilt. {why} Set startingVersionMode to relaxed, "
            "which uses the nearest newer snapshot where that is safe, or start with a newer startingVersion and a new "
            "checkpoint."
        )


class RelaxedStartRefused(LakescanError):
    """In relaxed mode: a newer version's protocol and metadata would misread the commits at the start."""

    def __init__(self, location: str, version: int, why: str) -> None:
        super().__init__(
            f"A stream of {location} cannot read version {version}, not in startingVersionMode relaxed either: {why} "
            "Reading it with a newer version's metadata could give wrong rows. Start with a newer startingVersion and "
            "a new checkpoint."
        )


class NotAnAppend(LakescanError):
    """A stream met a commit that deletes or changes rows which the stream has already given."""

    def __init__(self, location: str, version: int, operation: str, deletes_only: bool) -> None:
        kind = "deletes rows" if deletes_only else "changes or rewrites rows"
        options = "ignoreDeletes (go on; the rows stay in what was written), " if deletes_only else ""
        super().__init__(
            f"Version {version} of {location} ({operation}) {kind} that the stream may already have given. Set one of "
            f"{options}skipChangeCommits (leave such commits out), ignoreChanges (give the rewritten files again, "
            "with rows that may be there already), or readChangeFeed (read the changes as rows)."
        )


class HalfReadCommit(LakescanError):
    """A stream that stopped inside a commit is to go on with other rows than it was giving."""

    def __init__(self, location: str, version: int) -> None:
        super().__init__(
            f"The stream of {location} stopped inside version {version}, after some of the files that it appended; "
            "the changes of that version are in other files, so readChangeFeed cannot go on there. Let the stream "
            "finish the version without readChangeFeed first, or start with a new checkpoint."
        )


class TableReplaced(LakescanError):
    """The table at a stream's location is another one than its checkpoint was made for."""

    def __init__(self, location: str, expected: str, actual: str) -> None:
        super().__init__(
            f"{location} now holds another table (id {actual}) than the stream has been reading (id {expected}). "
            "Start the stream with a new checkpoint."
        )


class ReplacedWhilePlanned(LakescanError):
    """A table was made anew at its path between two parts of the planning of one query."""

    def __init__(self, location: str, version: int | str) -> None:
        super().__init__(
            f"{location} holds another version {version} than it did when the planning of this query began: it was "
            "made anew meanwhile. Run the query again."
        )


class ChangedSinceAnalysis(LakescanError):
    """A table no longer has the columns that a DataFrame was made with."""

    def __init__(self, location: str, version: int | str, what: str) -> None:
        super().__init__(
            f"Version {version} of {location} does not have the columns that this DataFrame was made with: {what}. "
            "A DataFrame that names no version reads the newest one: make it again, or name the version to read."
        )


class InstantGone(LakescanError):
    """A stream needs an instant that the table's timeline no longer has, or whose files are gone."""

    def __init__(self, location: str, instant: str, why: str) -> None:
        super().__init__(
            f"A stream of {location} cannot go on at the instant {instant}: {why}. Rows may be gone that it has not "
            "given. Start it with a new checkpoint, and let the table keep more commits than a stream falls behind."
        )


class SchemaChanged(LakescanError):
    """The table's schema changed while a stream ran; a restart takes the new one."""

    def __init__(self, location: str, version: int | str, what: str) -> None:
        super().__init__(
            f"Version {version} of {location} changes the schema: {what}. Every row before it has been given. "
            "Restart the stream from the same checkpoint: it goes on with the new schema."
        )


class SchemaTrackingNeeded(LakescanError):
    """A column was renamed, dropped or given a type that is not wider: rows before and after do not fit one schema."""

    def __init__(self, location: str, version: int, what: str) -> None:
        super().__init__(
            f"Between version {version} of {location} and the stream's schema {what}. A stream passes such a change "
            "only with schemaTrackingLocation, a folder in which it keeps the schema it is at: set it and restart, or "
            "start with a new checkpoint after the change."
        )


class SchemaTrackingBegun(LakescanError):
    """A stream that began without a schemaTrackingLocation has one now, and is at another schema than the newest."""

    def __init__(self, location: str, version: int, folder: str) -> None:
        super().__init__(
            f"The stream of {location} keeps its schema in {folder} from now on, and is at the schema of version "
            f"{version}. Restart the stream from the same checkpoint: it goes on with that schema."
        )


class ChangeNotAllowed(LakescanError):
    """A change of the schema that the options of a stream with a schema log do not allow."""

    def __init__(self, location: str, version: int, what: str, option: str) -> None:
        super().__init__(
            f"Version {version} of {location} changes the schema: {what}, which the stream's options do not allow. "
            f"Set {option} to {version}, or to always, and restart the stream."
        )


class OtherSchemaLog(LakescanError):
    """A schemaTrackingLocation that holds the schemas of another table."""

    def __init__(self, folder: str, recorded: str, location: str, expected: str) -> None:
        super().__init__(
            f"The schemas in the schemaTrackingLocation {folder} are those of another table (id {recorded}) than "
            f"{location} (id {expected}). Give each stream a folder of its own."
        )


class UnknownStreamSchema(LakescanError):
    """The schema that a user gave is not a part of the table's."""

    def __init__(self, column: str, why: str) -> None:
        super().__init__(
            f"The schema given with .schema() cannot be read: {column} {why}. Leave it out, or give columns of the "
            "table with their types."
        )
