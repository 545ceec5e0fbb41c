"""How a Hudi table is recognised and opened.

What reads it is loaded when one is opened: the `hudi` package is an extra, which nobody needs for other tables. Where
it is missing the error says what to install.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lakescan.errors import MissingPackage
from lakescan.formats.hudi.names import PROPERTIES
from lakescan.io.storage import Storage
from lakescan.stream.stream import PinnedStream

if TYPE_CHECKING:
    from lakescan.formats.hudi.snapshot import HudiSnapshot
    from lakescan.formats.hudi.table import HudiTable

_OF_THE_EXTRA = ("hudi", "fastavro")


def is_hudi(storage: Storage) -> bool:
    return storage.has_file(PROPERTIES)


def open_hudi(storage: Storage, zone: str) -> "HudiTable":
    """The table at a location for which `is_hudi` is true."""
    try:
        from lakescan.formats.hudi.table import HudiTable
    except ModuleNotFoundError as error:
        if error.name in _OF_THE_EXTRA:
            raise MissingPackage(f"The Hudi table {storage.location}", "'lakescan[hudi]'") from error
        raise
    return HudiTable(storage, zone)


def pin_stream(table: "HudiTable", given: Mapping[str, str], seen: "HudiSnapshot | None") -> PinnedStream:
    from lakescan.formats.hudi.stream.pinned_stream import PinnedHudiStream

    return PinnedHudiStream.of(table, given, seen)
