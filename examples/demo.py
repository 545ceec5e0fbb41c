"""What `make demo` runs: three SQL queries over the sample table, with what each scan read and skipped.

Each answer is compared with the one that Delta Spark gave for the same table (`orders_expected.json`).
"""

import json
import sys
from pathlib import Path

from queries import QUERIES, plain

import lakescan

HERE = Path(__file__).resolve().parent
TABLE = HERE / "tables" / "orders"
EXPECTED = HERE / "orders_expected.json"


def as_table(columns: list[str], rows: list[list[object]]) -> str:
    """Rows in aligned columns, numbers to the right."""
    cells = [["" if value is None else str(value) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in [columns, *cells]) for i in range(len(columns))]
    right = [all(cell[i].replace(".", "").lstrip("-").isdigit() for cell in cells) for i in range(len(columns))]

    def line(values: list[str]) -> str:
        aligned = [
            value.rjust(width) if to_right else value.ljust(width)
            for value, width, to_right in zip(values, widths, right, strict=True)
        ]
        return "  ".join(aligned).rstrip()

    return "\n".join([line(columns), "  ".join("-" * width for width in widths), *map(line, cells)])


def main() -> int:
    known = json.loads(EXPECTED.read_text(encoding="utf-8"))
    answers = {query["name"]: query["rows"] for query in known["queries"]}

    spark = lakescan.session()
    lakescan.attach(spark, "orders", str(TABLE))
    print(f"Sample table: {TABLE.relative_to(HERE.parent)}, written by {known['written_by']}")

    wrong = 0
    for number, query in enumerate(QUERIES, 1):
        sql = query.sql.format(table="lake.orders")
        df = spark.sql(sql)
        rows = plain(df.collect())
        same = rows == answers[query.name]
        wrong += not same
        print(f"\n{number}. {query.title}\n\n{sql}\n")
        print(as_table(df.columns, rows))
        print(f"\n{lakescan.report(df)}")
        print("\nThe same rows as Delta Spark." if same else f"\nDelta Spark answered otherwise: {answers[query.name]}")
    spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
