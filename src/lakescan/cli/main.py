"""From the words of a command line to an exit code: every failure is one sentence on stderr, never a traceback.

Subcommands are the modules of `commands/`, found by their names and imported when they are asked for.
`LAKESCAN_DEBUG=1` shows the traceback as well.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from pkgutil import iter_modules
from threading import Event, Thread
from types import ModuleType
from typing import Any

import click

import lakescan
from lakescan.cli import commands
from lakescan.cli.ending import ask_to_end, take_sigterm
from lakescan.cli.exit_codes import FAILED, INTERRUPTED, USAGE, exit_code
from lakescan.errors import InternalError, LakescanError
from lakescan.formats.registry import FORMATS
from lakescan.show.text import shown

NAME = "lakescan"
# What shows progress hides the cursor.
_SHOW_CURSOR = "\r\x1b[K\x1b[?25h"


class _WithoutPandas(MetaPathFinder):
    """Arrow imports pandas, where it is installed, for the first array that it makes. No command needs it, and it takes
    half as long as everything else that a small question does."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class Subcommands(click.Group):
    """The subcommands by the names of their modules; `to_arrow.py` would be `to-arrow`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name.replace("_", "-") for module in iter_modules(commands.__path__))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        subcommand: click.Command = import_module(f"{commands.__name__}.{name.replace('-', '_')}").command
        return subcommand


_TABLES = " and ".join(known.title for known in FORMATS)
_HELP = f"""Look at {_TABLES} tables, and query them: what they hold, what was done to them, what a query reads.

A PATH is a folder or a location in a store, as s3a://bucket/table.
"""


@click.group(NAME, cls=Subcommands, help=_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(lakescan.__version__, prog_name=NAME)
def command() -> None:
    """The command; what it does is said by its help and done by its subcommands."""


def run() -> None:
    """The entry point: exits with the code of `main`, and on Ctrl-C at once.

    The work is done by another thread. Python runs no handler while its main thread waits for a store inside Arrow.
    """
    sys.meta_path.insert(0, _WithoutPandas())
    codes: list[int] = []
    # While Spark starts, what it says on stderr goes elsewhere.
    stderr = os.dup(2)
    take_sigterm()
    done = Event()

    def work() -> None:
        try:
            codes.append(main())
        finally:
            done.set()

    Thread(target=work, name=NAME, daemon=True).start()
    try:
        _wait(done)
    except KeyboardInterrupt:
        os.dup2(stderr, 2)
        if sys.stderr.isatty():
            sys.stderr.write(_SHOW_CURSOR)
        _said("interrupted", INTERRUPTED)
        sys.stderr.flush()
        os._exit(INTERRUPTED)
    sys.exit(codes[0] if codes else FAILED)


def _wait(done: Event) -> None:
    """Wait for the work. A command that can end by itself is told to on the first Ctrl-C; the second is for all.

    A thread whose `join` was interrupted counts as ended, so it is not joined.
    """
    try:
        done.wait()
    except KeyboardInterrupt:
        if not ask_to_end():
            raise
        done.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; gives its exit code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.showwarning = _warn
        try:
            code = command.main(arguments, prog_name=NAME, standalone_mode=False)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except click.ClickException as error:
            return _refused(error)
        except (click.Abort, KeyboardInterrupt):
            return _said("interrupted", INTERRUPTED)
        except (BrokenPipeError, SystemExit):
            # Whoever read the answer has had enough; click makes an exit of it. Python would fail once more where it
            # flushes at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except LakescanError as error:
            return _said(str(error), exit_code(error))
        except Exception as error:
            return _said(str(InternalError(f"{type(error).__name__}: {error}")), FAILED)


def _refused(error: click.ClickException) -> int:
    context = error.ctx if isinstance(error, click.UsageError) else None
    asked = NAME if context is None else context.command_path
    message = error.format_message().rstrip(".")
    return _said(f"{message}. See `{asked} --help`.", error.exit_code if error.exit_code != 1 else USAGE)


def _said(sentence: str, code: int) -> int:
    if os.environ.get("LAKESCAN_DEBUG"):
        traceback.print_exc()
    print(f"{NAME}: {shown(sentence)}", file=sys.stderr)
    return code


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"{NAME}: warning: {shown(message)}", file=sys.stderr)
