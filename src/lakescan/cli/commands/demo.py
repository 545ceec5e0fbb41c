"""`lakescan demo`: three queries over the sample table that the package carries, and what each scan skipped."""

import sys

import click

from lakescan.cli import output
from lakescan.cli.answers import write_rows
from lakescan.cli.exit_codes import FAILED
from lakescan.cli.parameters import json_option
from lakescan.demo import TABLE, known_answers
from lakescan.demo.queries import QUERIES, plain


@click.command(short_help="Three queries over a sample table.")
@json_option
def command(as_json: bool) -> int:
    """Run three queries over a sample table, show what each skipped, and compare with the engine that wrote it."""
    from lakescan.spark.local_query import arrow_schema_of, batches_of, named_failures, spark_query
    from lakescan.spark.query_report import report_of

    known = known_answers()
    answers = {query["name"]: query["rows"] for query in known["queries"]}
    shown, wrong = [], 0
    if not as_json:
        output.line(f"Sample table: {TABLE}, written by {known['written_by']}")
    for number, query in enumerate(QUERIES, 1):
        sql = query.sql.format(table="orders")
        with output.working("starting Spark"), named_failures():
            df = spark_query(sql, {"orders": str(TABLE)}, {}, "UTC")
            rows = plain(df.collect())
        report = report_of(df)
        is_same = rows == answers[query.name]
        wrong += not is_same
        if as_json:
            scans = [scan.as_json() for scan in report.scans]
            shown.append({"name": query.name, "sql": sql, "rows": rows, "same": is_same, "scans": scans})
            continue
        output.line(f"\n{number}. {query.title}\n\n{sql}\n", style="bold")
        schema = arrow_schema_of(df)
        write_rows(schema, batches_of(df, schema), "table")
        output.line(f"\n{report}\n")
        other = f"{known['written_by']} answered otherwise: {answers[query.name]}"
        output.line(
            f"The same rows as {known['written_by']}." if is_same else other, style="green" if is_same else "red"
        )
    if as_json:
        output.document({"written_by": known["written_by"], "queries": shown})
    sys.stdout.flush()
    return FAILED if wrong else 0
