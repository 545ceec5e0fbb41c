"""How Hudi names its folders, files and settings."""

import re
from collections.abc import Mapping

META_FOLDER = ".hoodie"
SIGN = f"a Hudi timeline ({META_FOLDER})"
PROPERTIES = f"{META_FOLDER}/hoodie.properties"
COMMIT_TIME = "_hoodie_commit_time"
META_COLUMNS = (
    COMMIT_TIME,
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
# The partition of the metadata table that has the names of all data files.
FILES = "files"
# An empty table has no instant: Hudi's own name for the moment before the first one.
NO_INSTANT = "00000000000000"
# After every instant of a timeline.
NO_COMMIT = "9" * 17

_LOG_FILE = re.compile(r"^\.(.+)_(\d+)\.log\.(\d+)(?:_[^.]*)?(?:\.cdc)?$")
_BASE_FILE = re.compile(r"^(.+)_([^_]+)_(\d+)\.(\w+)$")


def has_file_listing(options: Mapping[str, str]) -> bool:
    """Whether the metadata table of a table with these settings has the names of all its data files."""
    return FILES in options.get("hoodie.table.metadata.partitions", "").split(",")


def instant_of_base_file(name: str) -> str:
    """The commit that wrote a base file; empty where the name is not Hudi's."""
    match = _BASE_FILE.match(name)
    return match[3] if match else ""


def instant_of_log_file(name: str) -> str:
    """The instant in a log file's name: its own commit from table version 8 on, before that its base file's."""
    match = _LOG_FILE.match(name)
    return match[2] if match else ""


def is_change_log(name: str) -> bool:
    """Whether a log file has what changed, for queries of changes alone; its rows are in others too."""
    return name.endswith(".cdc")


def file_group_of(name: str) -> str:
    """The id of the file group that a base or log file belongs to; empty where the name is not Hudi's."""
    match = _LOG_FILE.match(name) or _BASE_FILE.match(name)
    return match[1] if match else ""


def log_file_order(name: str) -> tuple[str, int]:
    """What log files of a file group are sorted by to have the older first: their instant, then their number."""
    match = _LOG_FILE.match(name)
    return (match[2], int(match[3])) if match else ("", 0)
