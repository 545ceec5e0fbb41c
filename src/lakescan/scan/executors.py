"""Where planning may do its work: in this process, or on whatever executors a session has.

Work is a function and small items, all of which pickle; what it gives is small too. The planner knows nothing of who
does it, and asks for it only where a log is too large for one process.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class Executors(Protocol):
    """Processes beside this one that do work."""

    def run(self, work: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
        """The work of each item, in order. What the work is made of is sent once, not with each item."""


class ThisProcess:
    """One item after the other, so that memory follows the largest of them."""

    def run(self, work: Callable[[_Item], _Made], items: Sequence[_Item]) -> list[_Made]:
        return [work(item) for item in items]
