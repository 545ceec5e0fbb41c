"""`lakescan changes`: the rows that a range of versions inserted, updated and deleted."""

from typing import Any

import click

from lakescan.cli import output
from lakescan.cli.answers import FORMATS, records, write_rows
from lakescan.cli.parameters import Opening, json_option, opening_options, path_argument
from lakescan.show.text import count


@click.command(short_help="Rows that versions inserted, updated and deleted.")
@path_argument
@click.argument("first", metavar="V1")
@click.argument("last", metavar="V2", required=False)
@click.option("--where", metavar="CONDITION", help="Only changes for which this is true.")
@click.option("--limit", type=click.IntRange(min=0), help="The most rows to give.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-o", "--output", "target", type=click.Path(dir_okay=False), help="Write to this file.")
@opening_options
@json_option
def command(
    path: str,
    first: str,
    last: str | None,
    where: str | None,
    limit: int | None,
    form: str,
    target: str | None,
    storage: Any,
    time_zone: str,
    as_json: bool,
) -> None:
    """Give the rows that the versions V1 to V2, both included, changed; without V2 up to the newest."""
    with output.working("reading the log"):
        changes = Opening(storage, time_zone).table(path).changes(first, last)
        builder = changes.scan() if where is None else changes.scan().filter(where)
        plan = (builder if limit is None else builder.limit(limit)).build()
    if as_json:
        rows = [dict(zip(plan.schema.names, row, strict=True)) for batch in plan.to_batches() for row in records(batch)]
        output.document({"location": changes.location, "version": changes.version, "changes": rows})
        return
    given = write_rows(plan.schema, plan.to_batches(), form, target)
    output.note(f"{count(given, 'changed rows')} of {changes.location}, {changes.version}")
