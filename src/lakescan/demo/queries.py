"""The demo's three queries.

One list, used by `examples/make_orders.py` (which records the answers of the engine that writes the table) and by
`lakescan demo` (which shows Lakescan's), so that both always ask the same question. `{table}` stands for the name that
the engine gives the table.
"""

import datetime
import decimal
from collections.abc import Iterable
from typing import NamedTuple


class Query(NamedTuple):
    name: str
    title: str
    sql: str


QUERIES = [
    Query(
        "orders_per_day",
        "Every day: all files are read, rows deleted by deletion vectors are left out",
        "SELECT day, count(*) AS n, sum(amount) AS total FROM {table} GROUP BY day ORDER BY day",
    ),
    Query(
        "cities_of_one_day",
        "One day: the other days' files are skipped by their partition value",
        "SELECT city, count(*) AS n FROM {table} WHERE day = DATE '2024-01-03' GROUP BY city ORDER BY city",
    ),
    Query(
        "first_orders",
        "The first orders: most files are skipped by the statistics of order_id",
        "SELECT order_id, customer, amount FROM {table} WHERE order_id < 10 ORDER BY order_id",
    ),
]


def plain(rows: Iterable[Iterable[object]]) -> list[list[object]]:
    """Rows as JSON holds them: decimals and dates as text."""
    return [
        [str(value) if isinstance(value, (decimal.Decimal, datetime.date)) else value for value in row] for row in rows
    ]
