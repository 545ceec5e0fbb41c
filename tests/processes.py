"""The processes that a test has started, with those that they have started themselves."""

import time
from collections.abc import Callable
from pathlib import Path


def processes(session: int) -> list[str]:
    """The processes that live in a session of the system (`start_new_session`), each as its number and name."""
    living = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        state, _, _, own = rest.split()[:4]
        if int(own) == session and state != "Z":
            living.append(f"{stat.parent.name} {name}")
    return living


def wait_for(what: Callable[[], bool], seconds: float) -> bool:
    """Whether it became true in that time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.2)
    return False
