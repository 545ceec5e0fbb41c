"""The table formats there are: the one place that names them.

To add a format, add its folder and a line here.
"""

import os
from collections.abc import Callable

from lakescan.delta import is_delta, open_delta
from lakescan.errors import TableNotFound
from lakescan.scan.snapshot import Table
from lakescan.storage import Storage

_FORMATS: tuple[tuple[Callable[[Storage], bool], Callable[[Storage, str], Table]], ...] = ((is_delta, open_delta),)


def is_table(storage: Storage) -> bool:
    return any(detect(storage) for detect, _ in _FORMATS)


def open_table(location: str | os.PathLike[str], time_zone: str = "UTC") -> Table:
    """The table at a location, whichever format it is in.

    A Delta location may name a version: `orders@v12`, or `orders@20240131120000000` for the one at that time.
    `time_zone` is for times without a zone: partition values, and the moments of time travel.
    """
    storage = Storage.at(location)
    for detect, make in _FORMATS:
        if detect(storage):
            return make(storage, time_zone)
    raise TableNotFound(storage.location)
