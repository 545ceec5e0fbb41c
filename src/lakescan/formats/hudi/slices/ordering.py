"""Whether log records can be merged in the order that the table asks for.

Written by hand because hudi-rs, where it does not find the field that says which of two records is newer, takes the one
that was written later: an update that came too late would win in silence. It finds top-level columns alone, by the name
that the table's settings spell out, and in the table's newest schema.
"""

from collections.abc import Mapping

from lakescan.errors import UnsupportedFeature
from lakescan.io.storage import Storage

_FIELDS = ("hoodie.table.ordering.fields", "hoodie.table.precombine.field")
_MODE, _BY_COMMIT = "hoodie.record.merge.mode", "COMMIT_TIME_ORDERING"
_PARTIAL = "hoodie.table.partial.update.mode"
_PAYLOAD, _NEWEST_WINS = "hoodie.compaction.payload.class", "OverwriteWithLatestAvroPayload"


def key_fields(options: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that records are matched and ordered by."""
    given = [options.get("hoodie.table.recordkey.fields", ""), *(options.get(name, "") for name in _FIELDS)]
    return tuple(name for names in given for name in names.split(",") if name)


def nulls_keep_values(options: Mapping[str, str]) -> bool:
    """Whether a null in a log record leaves the value as it was."""
    return bool(options.get(_PARTIAL))


def check_ordering(storage: Storage, options: Mapping[str, str], *schemas: list[str]) -> None:
    """Raises an error where records are ordered by a field that is no column of one of these schemas."""
    if _is_by_commit(options):
        return
    given = next((options[name] for name in _FIELDS if options.get(name)), "")
    for field in filter(None, given.split(",")):
        if any(field not in names for names in schemas):
            raise UnsupportedFeature(
                storage.location,
                f"log files merged in the order of {field}, which is no column of its schema",
                "Compact the table, or read its base files alone.",
            )


def _is_by_commit(options: Mapping[str, str]) -> bool:
    """Whether the record that was written last wins: from table version 8 on a mode says so, before a payload class."""
    mode = options.get(_MODE)
    return mode.upper() == _BY_COMMIT if mode else options.get(_PAYLOAD, "").endswith(_NEWEST_WINS)
