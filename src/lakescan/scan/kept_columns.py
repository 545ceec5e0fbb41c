"""Columns that were dear to make, kept between queries while whoever made them lives: at most so many bytes in all.

What was used longest ago goes first. Nothing depends on what is kept: what is gone is made again.
"""

from collections import OrderedDict
from collections.abc import Hashable
from itertools import count
from threading import Lock
from typing import Any
from weakref import finalize

import pyarrow as pa

DEFAULT_BYTES = 256 << 20


class KeptColumns:
    """Arrow arrays by the object that they belong to and a key."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._lock = Lock()
        self._kept: OrderedDict[tuple[int, Hashable], pa.Array] = OrderedDict()
        self._numbers = count()

    def owner(self, of: Any) -> int:
        """A number for an object, under which its columns are kept until it is gone."""
        number = next(self._numbers)
        finalize(of, self._forget, number)
        return number

    @property
    def most_bytes(self) -> int:
        return self._most_bytes

    def bound(self, most_bytes: int) -> None:
        """How many bytes may be kept from now on."""
        if most_bytes != self._most_bytes:
            with self._lock:
                self._most_bytes = most_bytes
                self._shrink()

    @property
    def bytes(self) -> int:
        return self._bytes

    def get(self, owner: int, key: Hashable) -> pa.Array | None:
        with self._lock:
            array = self._kept.get((owner, key))
            if array is not None:
                self._kept.move_to_end((owner, key))
            return array

    def put(self, owner: int, key: Hashable, values: pa.Array) -> None:
        with self._lock:
            self._drop((owner, key))
            self._kept[(owner, key)] = values
            self._bytes += values.nbytes
            self._shrink()

    def _shrink(self) -> None:
        while self._bytes > self._most_bytes:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: tuple[int, Hashable]) -> None:
        gone = self._kept.pop(key, None)
        self._bytes -= 0 if gone is None else gone.nbytes

    def _forget(self, owner: int) -> None:
        # A collector may call this in whichever thread holds the lock.
        if not self._lock.acquire(blocking=False):
            return
        try:
            for key in [key for key in self._kept if key[0] == owner]:
                self._drop(key)
        finally:
            self._lock.release()


KEPT = KeptColumns(DEFAULT_BYTES)
