"""The table formats there are: the one place that names them.

To add a format, add its folder and a line here.
"""

import os
from collections.abc import Callable

from lakescan.delta import DeltaTable, is_delta
from lakescan.errors import TableNotFound
from lakescan.hudi import HudiTable, is_hudi
from lakescan.scan.snapshot import Table
from lakescan.storage import Storage

_FORMATS: tuple[tuple[Callable[[Storage], bool], Callable[[Storage, str], Table]], ...] = (
    (is_delta, DeltaTable),
    (is_hudi, HudiTable),
)


def is_table(storage: Storage) -> bool:
    return any(detect(storage) for detect, _ in _FORMATS)


def open_table(location: str | os.PathLike[str], time_zone: str = "UTC") -> Table:
    """The table at a location, whichever format it is in.

    `time_zone` is for partition values that are timestamps without a zone.
    """
    storage = Storage.at(location)
    for detect, make in _FORMATS:
        if detect(storage):
            return make(storage, time_zone)
    raise TableNotFound(storage.location)
