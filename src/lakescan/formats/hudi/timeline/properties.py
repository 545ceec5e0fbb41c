"""The settings of a table, checked: a value that means nothing is refused before it is taken for another one."""

from collections.abc import Mapping

from lakescan.errors import CorruptLog
from lakescan.formats.hudi.names import PROPERTIES
from lakescan.io.storage import Storage

_NUMBERS = ("hoodie.table.version", "hoodie.timeline.layout.version")
_FLAGS = (
    "hoodie.populate.meta.fields",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.table.multiple.base.file.formats.enable",
)
_CHOICES = {
    "hoodie.table.type": ("COPY_ON_WRITE", "MERGE_ON_READ"),
    "hoodie.record.merge.mode": ("COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING", "CUSTOM"),
    "hoodie.table.timeline.timezone": ("LOCAL", "UTC"),
}


def check_properties(storage: Storage, options: Mapping[str, str]) -> None:
    """Raises an error that names the setting where one has a value that it cannot have."""
    for name in _NUMBERS:
        if name in options and not (options[name].isascii() and options[name].isdigit()):
            raise _wrong(storage, name, options[name], "a whole number")
    for name in _FLAGS:
        if options.get(name, "true").lower() not in ("true", "false"):
            raise _wrong(storage, name, options[name], "true or false")
    for name, values in _CHOICES.items():
        if options.get(name) and options[name].upper() not in values:
            raise _wrong(storage, name, options[name], " or ".join(values))


def _wrong(storage: Storage, name: str, value: str, wanted: str) -> CorruptLog:
    return CorruptLog(storage.full_path(PROPERTIES), f"{name} is {value!r}, and should be {wanted}")
