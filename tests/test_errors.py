import inspect
import pickle
from typing import Any

import pytest

from lakescan import errors
from lakescan.errors import LakescanError

FILE = "/data/t/some-file"
# Each error as it is raised, what its message must name, and what it must say to do.
CASES: list[tuple[type[LakescanError], tuple[Any, ...], list[str], str]] = [
    (errors.TableNotFound, (FILE, ["a log (_delta_log)"]), [FILE, "_delta_log"], "Check the path"),
    (errors.UnsupportedLocation, ("ftp://x", "why"), ["ftp://x", "why"], "Lakescan reads local paths"),
    (errors.StorageFailure, (FILE, "no permission"), [FILE, "no permission"], "Check the credentials"),
    (errors.NotAFile, (FILE,), [FILE, "no regular file"], "Put the file back"),
    (errors.NotEnoughMemory, (FILE, "malloc failed"), [FILE, "malloc failed"], "Read fewer columns"),
    (errors.VersionNotFound, (FILE, "version 7", 2, 5), [FILE, "version 7", "2 to 5"], "Ask for one of these"),
    (errors.CommitsNotFound, (FILE, "commit 7", 2, 5), [FILE, "commit 7", "2 to 5"], "Ask for some of these"),
    (errors.InvalidVersion, ("x", "a number."), ["'x'", "a number."], "a number."),
    (errors.CorruptLog, (FILE, "not JSON"), [FILE, "not JSON"], "Restore the file"),
    (errors.UnreadableCompaction, (FILE, "twice"), [FILE, "twice"], "Restore the file"),
    (errors.ChecksumMismatch, (FILE, "/data/t", 3, "2 files"), [FILE, "/data/t", "version 3", "2 files"], "remove the"),
    (errors.MissingCommit, (FILE, 3, "why"), [FILE, "Version 3", "why"], "Restore the file"),
    (errors.MissingDataFile, (FILE,), [FILE, "VACUUM"], "restore it"),
    (errors.CorruptDataFile, (FILE, "no footer"), [FILE, "no footer"], "Restore the file"),
    (errors.CorruptDeletionVector, (FILE, "checksum"), [FILE, "checksum"], "Restore the file"),
    (errors.MissingDeletionVector, (FILE,), [FILE], "Restore the file"),
    (errors.UnsupportedFeature, (FILE, "the feature x"), [FILE, "the feature x"], "Read it with an engine"),
    (errors.UnsupportedType, ("a.b", "geometry"), ["a.b", "geometry"], "does not support"),
    (errors.SchemaMismatch, (FILE, "c", "string", "int"), [FILE, "column c", "string", "int"], "was not written for"),
    (errors.UnknownColumn, ("c", ["a", "b"]), ["'c'", "a, b"], "It has"),
    (errors.AmbiguousColumn, ("c", ["C", "c"]), ["'c'", "C, c"], "Write the exact case"),
    (errors.InvalidFilter, ("a ~ 1", "why"), ["a ~ 1", "why"], "cannot be used"),
    (errors.InvalidLimit, (-1,), ["-1"], "give a number that is not negative"),
    (errors.InvalidSample, (1.5,), ["1.5"], "give a fraction from 0 to 1"),
    (errors.UnsupportedSpark, ("Spark 3 is too old.",), ["Spark 3 is too old."], "too old"),
    (errors.ReadOnly, ("lake", "DROP TABLE"), ["lake", "DROP TABLE"], "Write with the engine"),
    (errors.ManagedTable, ("db.t", "DROP TABLE"), ["db.t", "DROP TABLE"], "Use the engine that wrote it"),
    (errors.InvalidArgument, ("table_changes", "write x"), ["table_changes"], "write x"),
    (errors.NotALakeTable, ("numbers",), ["numbers"], "give the name of such a table, or its path"),
    (errors.StoppedSession, (), ["has been stopped"], "Make a new one"),
    (errors.NotASession, ("/data/t",), ["'/data/t'"], "write lakescan.read(spark, path)"),
    (errors.NoPythonBeside, ("/bin/python ended",), ["/bin/python ended"], "Set spark.lakescan.python"),
    (errors.JarNotWritten, ("/cache", "Permission denied"), ["/cache", "Permission denied"], "Set XDG_CACHE_HOME"),
    (errors.JavaNotFound, ("java is Java 8",), ["Java 17", "java is Java 8"], "set JAVA_HOME"),
    (errors.WrongFormat, (FILE, "delta", "hudi"), [FILE, "Hudi table", "not a Delta one"], f"write hudi.`{FILE}`"),
    (errors.UnknownOption, ("versoin", ["versionAsOf"], {}), ["versoin"], "Did you mean versionAsOf?"),
    (errors.UnknownOption, ("q", [], {"a batch": ["a", "b"]}), ["q"], "There are, of a batch: a, b."),
    (errors.InternalError, ("what",), ["what"], "report this as a bug"),
    (errors.QueryFailed, ("no table t",), ["no table t"], "Check the query"),
    (errors.MissingPackage, ("to_polars()", "polars"), ["to_polars()", "polars"], "pip install polars"),
    (errors.InvalidName, ("a.b", "why"), ["'a.b'", "why"], "cannot name a table"),
    (errors.StartNotRebuilt, (FILE, 7, "why."), [FILE, "version 7", "why."], "Set startingVersionMode to relaxed"),
    (errors.RelaxedStartRefused, (FILE, 7, "why."), [FILE, "version 7", "why."], "a newer startingVersion"),
    (errors.SchemaTrackingBegun, (FILE, 7, "/schemas"), [FILE, "version 7", "/schemas"], "Restart the stream"),
    (errors.OtherSchemaLog, ("/schemas", "a", FILE, "b"), ["/schemas", "id a", FILE, "id b"], "a folder of its own"),
    (errors.ChangeNotAllowed, (FILE, 7, "what", "allowX"), [FILE, "Version 7", "what"], "Set allowX to 7"),
    (errors.UnknownTimeZone, (), ["time zone"], 'Give it: .option("timeZone"'),
    (errors.HalfReadCommit, (FILE, 7), [FILE, "version 7"], "without readChangeFeed first"),
]


@pytest.mark.parametrize(
    ("kind", "arguments", "named", "advice"), CASES, ids=lambda case: getattr(case, "__name__", "")
)
def test_an_error_names_what_it_is_about_and_says_what_to_do(
    kind: type[LakescanError], arguments: tuple[Any, ...], named: list[str], advice: str
) -> None:
    message = str(kind(*arguments))
    for part in (*named, advice):
        assert part in message
    assert "  " not in message


@pytest.mark.parametrize(
    ("kind", "condition"),
    [
        (errors.TableNotFound, "LAKESCAN_TABLE_NOT_FOUND"),
        (errors.CorruptLog, "LAKESCAN_CORRUPT_LOG"),
        (errors.MissingCommit, "LAKESCAN_MISSING_COMMIT"),
        (errors.MissingDataFile, "LAKESCAN_MISSING_DATA_FILE"),
        (errors.CorruptDeletionVector, "LAKESCAN_CORRUPT_DELETION_VECTOR"),
        (errors.UnsupportedFeature, "LAKESCAN_UNSUPPORTED_FEATURE"),
        (errors.SchemaMismatch, "LAKESCAN_SCHEMA_MISMATCH"),
    ],
)
def test_the_condition_is_the_name_of_the_class_as_spark_writes_names(
    kind: type[LakescanError], condition: str
) -> None:
    arguments = next(case[1] for case in CASES if case[0] is kind)
    assert kind(*arguments).condition == condition


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.TableNotFound, FileNotFoundError),
        (errors.MissingDataFile, FileNotFoundError),
        (errors.StorageFailure, OSError),
        (errors.NotAFile, OSError),
        (errors.MissingPackage, ImportError),
        (errors.InvalidFilter, ValueError),
        (errors.UnknownColumn, ValueError),
        (errors.InvalidLimit, ValueError),
        (errors.InvalidSample, ValueError),
        (errors.VersionNotFound, ValueError),
    ],
)
def test_an_error_is_also_pythons_own_for_the_same_thing(kind: type[LakescanError], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin)


def test_every_error_has_a_document_and_a_condition_of_its_own() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, LakescanError)]
    assert all(kind.__doc__ for kind in kinds)
    conditions = [kind.__new__(kind).condition for kind in kinds if kind is not LakescanError]
    assert len(set(conditions)) == len(conditions)


@pytest.mark.parametrize(
    ("kind", "arguments"), [case[:2] for case in CASES], ids=lambda case: getattr(case, "__name__", "")
)
def test_an_error_survives_the_way_from_an_executor(kind: type[LakescanError], arguments: tuple[Any, ...]) -> None:
    error = kind(*arguments)
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)


def test_a_message_holds_no_character_that_a_terminal_acts_on() -> None:
    assert str(errors.UnknownColumn("\x1b[2J", ["a\x07"])) == "No column '\\x1b[2J' in the table. It has: a\\x07."
