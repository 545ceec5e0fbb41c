"""The arguments and options that subcommands share, and how a table is opened with them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

import lakescan
from lakescan.scan.snapshot import Snapshot, Table

_F = TypeVar("_F", bound=Callable[..., Any])


class Location(click.ParamType):  # type: ignore[type-arg]
    """Where a table is; a shell completes it as a path."""

    name = "path"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="dir")]


class NameAndValue(click.ParamType):  # type: ignore[type-arg]
    """`name=value`."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, equals, given = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not of the form NAME=VALUE", param, ctx)
        return name, given


@dataclass(frozen=True)
class Opening:
    """How a table is opened: the store's settings and the zone of times that name none."""

    storage: tuple[tuple[str, str], ...]
    time_zone: str

    def table(self, path: str) -> Table:
        return lakescan.open(path, time_zone=self.time_zone, storage=dict(self.storage))


path_argument = click.argument("path", type=Location())
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")


def tables_option(help_: str) -> Callable[[_F], _F]:
    """`--table`; the function gets the names and their paths as `tables`."""
    return click.option("--table", "tables", multiple=True, type=NameAndValue(), metavar="NAME=PATH", help=help_)


def opening_options(function: _F) -> _F:
    """`--storage` and `--time-zone`; the function gets their values by these names."""
    storage = click.option(
        "--storage",
        multiple=True,
        type=NameAndValue(),
        metavar="NAME=VALUE",
        help="What opens the store, by Hadoop's names, as fs.s3a.endpoint=…; may be given several times.",
    )
    zone = click.option(
        "--time-zone", default="UTC", show_default=True, metavar="ZONE", help="The zone of times that name none."
    )
    return storage(zone(function))


def version_options(function: _F) -> _F:
    """`--version` and `--timestamp`: another version than the newest."""
    version = click.option("--version", metavar="V", help="The version to read, instead of the newest.")
    timestamp = click.option("--timestamp", metavar="TIME", help="The version in force at that time.")
    return version(timestamp(function))


def snapshot_of(table: Table, version: str | None, timestamp: str | None) -> Snapshot:
    """The version asked for."""
    return table.snapshot(version=version, timestamp=timestamp)


def fields_of(snapshot: Snapshot) -> list[dict[str, Any]]:
    """The schema's fields as Spark's JSON has them."""
    fields: list[dict[str, Any]] = json.loads(snapshot.schema_json)["fields"]
    return fields
