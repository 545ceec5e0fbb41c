"""`lakescan query`: SQL over tables in folders; small questions without Spark, all others by a local one."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click
import pyarrow as pa

from lakescan.cli import output
from lakescan.cli.answers import FORMATS, records, write_rows
from lakescan.cli.parameters import Opening, json_option, opening_options, tables_option
from lakescan.cli.questions import location_of, output_schema, planned, recognised
from lakescan.formats.registry import FORMATS as TABLE_FORMATS
from lakescan.scan.plan import Plan
from lakescan.scan.report import Report
from lakescan.show.text import count, duration, shown_lines

_PATHS = " or ".join(f"{known.name}.`/path`" for known in TABLE_FORMATS)
_HELP = f"""Answer a query in Spark's SQL.

Tables are named by --table, or written as {_PATHS}. A count, or columns with a filter and a limit, of one table start
no Spark.
"""


@click.command(help=_HELP, short_help="The answer to a query in SQL.")
@click.argument("sql")
@tables_option("A table by the name that the query has for it; may be given several times.")
@click.option("--explain", is_flag=True, help="Show the plan and what it would read; read no rows.")
@click.option("--report", "page", type=click.Path(dir_okay=False), help="Write a page of what was read to this file.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("-o", "--output", "target", type=click.Path(dir_okay=False), help="Write the rows to this file.")
@click.option("--spark", "use_spark", is_flag=True, help="Use Spark also where it can be done without.")
@opening_options
@json_option
def command(
    sql: str,
    tables: Sequence[tuple[str, str]],
    explain: bool,
    page: str | None,
    form: str,
    target: str | None,
    use_spark: bool,
    storage: Any,
    time_zone: str,
    as_json: bool,
) -> None:
    asked = _Asked(explain, as_json, form, target)
    if form == "parquet" and target is None and sys.stdout.isatty():
        raise click.UsageError("Parquet is not for a terminal: give --output FILE")
    began = time.perf_counter()
    small = None if use_spark else _without_spark(sql, dict(tables), Opening(storage, time_zone))
    if small is None:
        given, report = _with_spark(sql, dict(tables), dict(storage), time_zone, asked)
    else:
        question, plan = small
        schema = output_schema(question, plan)
        given, report = _Answer(schema, *_answered(plan, schema)).give(asked)
    if page is not None:
        report.save(page)
    if not as_json:
        who = "by Spark" if small is None else "no JVM"
        took = duration((time.perf_counter() - began) * 1000)
        rows = "" if given is None else f"{count(given, 'rows')}; "
        output.note(f"{rows}{'; '.join(scan.summary for scan in report.scans) or 'no table read'}; {took}, {who}")


@dataclass(frozen=True)
class _Asked:
    """How the answer is wanted."""

    explain: bool
    as_json: bool
    form: str
    target: str | None


class _Answer:
    """Rows to come, and what was read for them."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], report: Callable[[], Report]) -> None:
        self.schema, self.batches, self.report = schema, batches, report

    def give(self, asked: _Asked) -> tuple[int | None, Report]:
        """Write it; gives how many rows there were, None where it was only explained, and what was read."""
        if asked.explain:
            self.explain(asked.as_json)
            return None, self.report()
        given = self.document() if asked.as_json else write_rows(self.schema, self.batches, asked.form, asked.target)
        return given, self.report()

    def explain(self, as_json: bool) -> None:
        report = self.report()
        plan = report.explain() if report.explain is not None else ""
        if as_json:
            output.document({"plan": plan, "scans": [scan.as_json() for scan in report.scans]})
            return
        output.line(shown_lines(plan))
        output.line()
        output.line(report)

    def document(self) -> int:
        """One JSON document, written as the rows come."""
        given = 0
        sys.stdout.write(f'{{"columns": {json.dumps(self.schema.names)}, "rows": [')
        for batch in self.batches:
            for row in records(batch):
                sys.stdout.write(f"{',' if given else ''}\n{json.dumps(output.plain(row))}")
                given += 1
        scans = [scan.as_json() for scan in self.report().scans]
        sys.stdout.write(f'\n], "scans": {json.dumps(output.plain(scans))}}}\n')
        return given


def _without_spark(sql: str, tables: dict[str, str], opening: Opening) -> tuple[Any, Plan] | None:
    question = recognised(sql)
    if question is None:
        return None
    path = location_of(question, tables, lambda name: name in {known.name for known in TABLE_FORMATS})
    if path is None:
        return None
    with output.working("planning"):
        table = opening.table(path)
        asked = question.table[0] if len(question.table) == 2 and question.table[0] != "lake" else None
        if asked is not None and table.format != asked:
            return None
        plan = planned(question, table.snapshot())
    return None if plan is None else (question, plan)


def _with_spark(
    sql: str, tables: dict[str, str], options: dict[str, str], time_zone: str, asked: _Asked
) -> tuple[int | None, Report]:
    from lakescan.spark.local_query import arrow_schema_of, batches_of, named_failures, spark_query
    from lakescan.spark.query_report import report_of

    with named_failures():
        with output.working("starting Spark"):
            df = spark_query(sql, tables, options, time_zone)
        schema = arrow_schema_of(df)
        return _Answer(schema, batches_of(df, schema), lambda: report_of(df)).give(asked)


def _answered(plan: Plan, schema: pa.Schema) -> tuple[Iterator[pa.RecordBatch], Callable[[], Report]]:
    """The rows of a plan under the names of the statement, and the report of it, with what reading them took."""
    rows, spent = 0, 0.0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal rows, spent
        # The partial rows of a count are merged first.
        given = plan.to_batches() if plan.spec.aggregation is None else iter(plan.to_arrow().to_batches())
        while True:
            began = time.perf_counter()
            batch = next(given, None)
            spent += (time.perf_counter() - began) * 1000
            if batch is None:
                return
            rows += batch.num_rows
            yield pa.RecordBatch.from_arrays(batch.columns, schema=schema)

    def report() -> Report:
        tasks = len(plan.tasks(os.cpu_count() or 1))
        readers = (("Arrow in this process", tasks),) if tasks and not plan.metadata_only else ()
        measured = replace(plan.report(), readers=readers)
        measured = replace(measured, rows=rows, reading_ms=spent) if spent else measured
        return Report((measured,), lambda: plan.spec.description)

    return batches(), report
