"""How a command that runs until it is told to end is told so: by Ctrl-C or SIGTERM, which only a main thread gets."""

import os
import signal
import threading
from types import FrameType

_end = threading.Event()
_awaited = threading.Event()


def end_asked_for() -> threading.Event:
    """The event for which such a command waits; from now on a signal sets it instead of ending the process."""
    _awaited.set()
    return _end


def ask_to_end() -> bool:
    """Tell the command to end; False where none waits for it, or it was told before."""
    if not _awaited.is_set() or _end.is_set():
        return False
    _end.set()
    return True


def take_sigterm() -> None:
    """Make SIGTERM a KeyboardInterrupt in the main thread where a command waits for its end."""
    signal.signal(signal.SIGTERM, _terminated)


def _terminated(number: int, frame: FrameType | None) -> None:
    if _awaited.is_set():
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
