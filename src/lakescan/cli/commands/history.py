"""`lakescan history`: what was done to a table, newest first."""

from typing import Any

import click
import pyarrow as pa

from lakescan.cli import output
from lakescan.cli.parameters import Opening, json_option, opening_options, path_argument

_SHOWN = ("version", "timestamp", "operation", "userName", "operationParameters", "operationMetrics")
_WIDEST = 60


@click.command(short_help="What was done to a table, newest first.")
@path_argument
@click.option("--limit", type=click.IntRange(min=0), default=20, show_default=True, help="The most commits to show.")
@click.option("--wide", is_flag=True, help="Show everything that commits say, uncut.")
@opening_options
@json_option
def command(path: str, limit: int, wide: bool, storage: Any, time_zone: str, as_json: bool) -> None:
    """Say what was done to a table, newest first: version, time, operation and how it was called."""
    with output.working("reading the log"):
        history = Opening(storage, time_zone).table(path).history(limit)
    if as_json:
        output.document({"location": path, "commits": [_without_nulls(row) for row in history.to_pylist()]})
        return
    said = [name for name in history.schema.names if history[name].null_count < history.num_rows]
    names = said if wide else [name for name in said if name in _SHOWN]
    cells = [[_cell(row[name], wide) for name in names] for row in history.select(names).to_pylist()]
    numbers = [at for at, name in enumerate(names) if pa.types.is_integer(history.schema.field(name).type)]
    output.rows(names, cells, right=numbers)


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    """A commit without what it does not say; a list of pairs is a map."""
    return {name: dict(value) if isinstance(value, list) else value for name, value in row.items() if value is not None}


def _cell(value: Any, wide: bool) -> object:
    if isinstance(value, list):
        text = ", ".join(f"{key}={setting}" for key, setting in value)
        return text if wide or len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
    return value.isoformat(sep=" ", timespec="seconds") if hasattr(value, "isoformat") else value
