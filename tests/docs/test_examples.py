"""Every Python and SQL block of README and `docs/` runs as it stands, or says why it does not.

Examples speak of the Delta table `/data/orders`, of the Hudi table `/data/trips` and of `lake.orders`; these are built
here. What they print is not looked at: what is read of a table is the matter of other tests.
"""

import os
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import lakescan
from scripts.doc_examples import examples, pages_with_examples, paths_of_tests, statements
from tests.sample_tables import sample_table

PAGES = pages_with_examples()
FIRST_COMMIT = datetime(2024, 1, 20, tzinfo=timezone.utc)
CITIES = ["Athens", "Bergen", "Lisbon"]
# Placeholders of the pages for instants of /data/trips.
INSTANT, INSTANT_TIME = "20251220210108078", "2025-12-20 21:01:26"


def order_rows(version: int) -> pa.Table:
    ids = list(range(version * 10, version * 10 + 10))
    days = [date(2024, 1, 1 + order % 3) for order in ids]
    return pa.table(
        {
            "order_id": pa.array(ids, pa.int64()),
            "customer": [f"customer {order % 4}" for order in ids],
            "city": [CITIES[order % 3] for order in ids],
            "amount": pa.array([Decimal(order).scaleb(-1) for order in ids], pa.decimal128(10, 2)),
            "ordered_at": pa.array([datetime(2024, 1, 1, order % 24) for order in ids], pa.timestamp("us", "UTC")),
            "day": pa.array(days, pa.date32()),
        }
    )


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Delta table of versions 0 to 14, a day apart from 2024-01-20 on, with the change data feed."""
    path = tmp_path_factory.mktemp("data") / "orders"
    for version in range(15):
        write_deltalake(
            path,
            order_rows(version),
            mode="append",
            partition_by=["day"],
            configuration={"delta.enableChangeDataFeed": "true"},
        )
        moment = (FIRST_COMMIT + timedelta(days=version)).timestamp()
        os.utime(path / "_delta_log" / f"{version:020}.json", (moment, moment))
    return path


@pytest.fixture(scope="module")
def replaced(orders: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a reader replaces in an example, and by what."""
    trips = sample_table("trips_updated_v6").unpack(tmp_path_factory.mktemp("data"))
    instants = sorted(file.name.split(".")[0] for file in (trips / ".hoodie").glob("*.deltacommit"))
    newest = datetime.strptime(instants[-1][:14], "%Y%m%d%H%M%S") + timedelta(seconds=1)
    return {
        "/data/orders": str(orders),
        "/data/trips": str(trips),
        INSTANT: instants[0],
        INSTANT_TIME: f"{newest:%Y-%m-%d %H:%M:%S}",
    }


@pytest.fixture
def session(spark: SparkSession, orders: Path) -> Iterator[SparkSession]:
    """The session of all tests, with `lake.orders`; what an example sets in it is gone afterwards."""
    lakescan.attach(spark, "orders", orders)
    before = set(spark.conf.getAll)
    yield spark
    for name in set(spark.conf.getAll) - before:
        spark.conf.unset(name)
    for query in spark.streams.active:
        query.stop()


@pytest.mark.spark
@pytest.mark.parametrize("page", [name for name, blocks in PAGES.items() if any(not b.not_run for b in blocks)])
def test_the_examples_of_a_page_run(
    page: str, session: SparkSession, replaced: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"spark": session, "lakescan": lakescan}
    for example in PAGES[page]:
        code = paths_of_tests(example.code, replaced)
        if example.not_run is not None:
            continue
        try:
            if example.language == "python":
                exec(compile(code, example.where, "exec"), names)
            else:
                for statement in statements(code):
                    session.sql(statement).collect()
        except Exception as error:
            raise AssertionError(f"{example.where}: the example fails: {error}") from error


def test_an_example_that_is_not_run_says_why() -> None:
    silent = [block.where for blocks in PAGES.values() for block in blocks if block.not_run == ""]
    assert silent == []


def test_blocks_are_taken_in_their_order_with_the_reason_that_stands_right_before_them() -> None:
    page = (
        "Words.\n\n```python\nx = 1\n```\n\n<!-- not run: it needs a cluster -->\n```sql\nSELECT 1;\n```\n\n"
        "<!-- not run: of nothing -->\nWords between.\n\n```sql\nSELECT 2;\n```\n```bash\nls\n```\n"
    )
    assert [(block.line, block.language, block.code, block.not_run) for block in examples("p.md", page)] == [
        (4, "python", "x = 1", None),
        (9, "sql", "SELECT 1;", "it needs a cluster"),
        (16, "sql", "SELECT 2;", None),
    ]


def test_a_block_of_sql_is_cut_at_the_ends_of_its_statements() -> None:
    block = "SET a = 1;  -- the session\nSELECT *\nFROM t WHERE x = ';' ;\nSELECT 2"
    assert statements(block) == ["SET a = 1", "SELECT *\nFROM t WHERE x = ';'", "SELECT 2"]
