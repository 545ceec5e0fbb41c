"""An optimization that fails costs speed, never the query.

`attempt` runs an optimization. If it raises anything but an error that a user can cause, the fault is Lakescan's own:
the optimization is given up, one warning names it, and the caller goes on without it. `failures` collects the names.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from lakescan.errors import InternalError, LakescanError, OptimizationFailed

_T = TypeVar("_T")
_U = TypeVar("_U")

_failed: ContextVar[list[str] | None] = ContextVar("failed optimizations", default=None)


def attempt(name: str, optimized: Callable[[], _T], otherwise: Callable[[], _U]) -> _T | _U:
    """Return the result of the optimization, or that of `otherwise` if the optimization fails by a fault of its own."""
    try:
        return optimized()
    except InternalError as error:
        _give_up(name, error)
    except LakescanError:
        raise
    except Exception as error:
        _give_up(name, error)
    return otherwise()


@contextmanager
def failures(names: list[str]) -> Iterator[list[str]]:
    """Collect the names of the optimizations that fail inside the block, each once."""
    outer = _failed.set(names)
    try:
        yield names
    finally:
        _failed.reset(outer)


def _give_up(name: str, error: Exception) -> None:
    names = _failed.get()
    if names is not None and name not in names:
        names.append(name)
    warnings.warn(OptimizationFailed(name, error), stacklevel=3)
