"""What the command's exit code says to a script. `docs/command-line.md` has the same table."""

from lakescan import errors

FAILED = 1
USAGE = 2
NO_TABLE = 3
NOT_SUPPORTED = 4
STORAGE = 5
DAMAGED = 6
INTERRUPTED = 130

MEANINGS = {
    0: "all went well",
    FAILED: "something else failed: a fault of Lakescan's or of Spark's, an answer that is not the expected one",
    USAGE: "the command line, a name, a version or a query is not possible",
    NO_TABLE: "there is no table at the location",
    NOT_SUPPORTED: "the table or the machine needs something that Lakescan does not do, or has no Java",
    STORAGE: "the store could not be reached or refused, or the rows do not fit the memory",
    DAMAGED: "the table's log or a data file is missing or damaged",
    INTERRUPTED: "Ctrl-C; a server ends by it, and with 0",
}

# The first class that an error is an instance of decides.
_CODES: tuple[tuple[tuple[type[errors.LakescanError], ...], int], ...] = (
    ((errors.TableNotFound,), NO_TABLE),
    (
        (
            errors.UnsupportedFeature,
            errors.UnsupportedType,
            errors.UnsupportedLocation,
            errors.UnsupportedSpark,
            errors.JavaNotFound,
            errors.NoPythonBeside,
            errors.MissingPackage,
            errors.ChangesNotRecorded,
            errors.IncompatibleChanges,
        ),
        NOT_SUPPORTED,
    ),
    ((errors.StorageFailure, errors.JarNotWritten, errors.NotEnoughMemory), STORAGE),
    (
        (
            errors.CorruptLog,
            errors.MissingCommit,
            errors.MissingDataFile,
            errors.CorruptDataFile,
            errors.CorruptDeletionVector,
            errors.MissingDeletionVector,
            errors.SchemaMismatch,
        ),
        DAMAGED,
    ),
    ((errors.InternalError,), FAILED),
)


def exit_code(error: errors.LakescanError) -> int:
    """The code for an error."""
    for kinds, code in _CODES:
        if isinstance(error, kinds):
            return code
    # What is left of the errors is a wrong value: a version, a name, a filter, an option.
    return USAGE if isinstance(error, ValueError) else FAILED
