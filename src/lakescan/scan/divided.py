"""A version of a table cut into pieces, for a log that is too large to be listed in one process.

Every live file is in exactly one piece. A piece is a snapshot with only its files, which are listed where somebody asks
for them: on an executor, mostly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

if TYPE_CHECKING:
    from lakescan.scan.snapshot import Snapshot


class Pieces(Protocol):
    """The pieces that executors list. All of them pickle together to little."""

    def __len__(self) -> int: ...

    def __getitem__(self, at: int) -> "Snapshot":
        """A piece, not listed yet."""


@dataclass(frozen=True)
class Divided:
    """A version in pieces; that no file is in it twice is known."""

    here: tuple["Snapshot", ...]
    """Files that this process has read already, the newest ones."""
    elsewhere: Pieces
    files: int
    """How many live files there are in all, and their bytes:"""
    bytes: int
    together: Callable[[pa.Table], "Snapshot"]
    """This version with only the given files, whichever pieces listed them."""
