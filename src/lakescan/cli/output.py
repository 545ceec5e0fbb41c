"""What subcommands print: tables and lines for people, one JSON document for scripts.

Answers go to stdout, and progress, notes and errors to stderr, so that an answer can be piped. Whatever comes from a
table goes through `shown`, and nothing is read as rich's markup: names and values appear as text. JSON has only ASCII
characters, so it needs no such care.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TextIO

from lakescan.show.text import shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# A file or a pipe has no width: lines are not broken there.
_NO_WIDTH = 10_000


def console(stream: TextIO | None = None) -> "Console":
    """A console on stdout, or on another stream."""
    from rich.console import Console

    file = stream or sys.stdout
    width = None if file.isatty() else _NO_WIDTH
    return Console(file=file, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def line(text: object = "", style: str | None = None) -> None:
    """A line, of a text that is safe already."""
    from rich.text import Text

    console().print(Text(str(text), style=style or ""), soft_wrap=True)


def heading(text: object) -> None:
    """What the lines below it are about."""
    line(shown(text), style="bold")


def note(text: object) -> None:
    """A remark on the answer, on stderr."""
    from rich.text import Text

    console(sys.stderr).print(Text(shown(text), style="dim"), soft_wrap=True)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Names on the left, what is known on the right."""
    from rich.text import Text

    grid = _grid()
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(f"  {name}", Text(shown(value)))
    _print(grid)


def rows(columns: Sequence[str], values: Iterable[Sequence[object]], right: Iterable[int] = ()) -> None:
    """A table; the columns at `right` are numbers and stand to the right."""
    from rich.text import Text

    grid = _grid(header=True)
    numbers = set(right)
    for at, name in enumerate(columns):
        justify: Any = "right" if at in numbers else "left"
        grid.add_column(Text(shown(name), style="bold"), justify=justify, overflow="fold")
    for row in values:
        grid.add_row(*(Text("" if value is None else shown(value)) for value in row))
    _print(grid)


def document(content: object) -> None:
    """One JSON document on stdout."""
    json.dump(plain(content), sys.stdout, indent=2)
    sys.stdout.write("\n")


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not is its text, and bytes are hexadecimal."""
    if isinstance(value, dict):
        return {str(key): plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Says what is being done, while it is done, where somebody looks: on a terminal's stderr."""
    if not sys.stderr.isatty():
        yield
        return
    with console(sys.stderr).status(shown(what)):
        yield


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """Says how many have been done so far, where somebody looks; the function that it gives is told of more."""
    if not sys.stderr.isatty():
        yield lambda more: None
        return
    done = 0
    with console(sys.stderr).status(f"0 {what}") as status:

        def more(number: int) -> None:
            nonlocal done
            done += number
            status.update(f"{done:,} {what}")

        yield more


def _print(grid: "Table") -> None:
    """The table; without the blanks that fill its lines where nobody sees them."""
    if sys.stdout.isatty():
        console().print(grid)
        return
    whole = console()
    with whole.capture() as captured:
        whole.print(grid)
    sys.stdout.write("\n".join(text.rstrip() for text in captured.get().split("\n")))


def _grid(header: bool = False) -> "Table":
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD if header else None, show_header=header, pad_edge=False, show_edge=False)
