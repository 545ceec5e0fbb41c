"""What the comparison with Delta Spark needs: its session, the choice of tables, and results that outlive a run."""

import shutil
from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.peers.results import RESULTS, Results
from tests.peers.session import start

TABLES = 100


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("peers", "comparison with Delta Spark")
    group.addoption("--part", default="1/1", help="walk only the n-th of m parts: --part 3/10")
    group.addoption("--tables", type=int, default=TABLES, help=f"how many tables there are to walk ({TABLES})")
    group.addoption("--seeds", default="", help="walk these tables only, again even if they passed: --seeds 7,12")
    group.addoption("--fresh", action="store_true", help="forget the results of earlier runs")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--fresh"):
        shutil.rmtree(RESULTS, ignore_errors=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", _seeds(metafunc.config))


def _seeds(config: pytest.Config) -> list[int]:
    if config.getoption("--seeds"):
        return [int(seed) for seed in config.getoption("--seeds").split(",")]
    part, parts = (int(number) for number in config.getoption("--part").split("/"))
    if not 1 <= part <= parts:
        raise pytest.UsageError(f"--part {part}/{parts}: there is no such part")
    return [seed for seed in range(config.getoption("--tables")) if seed % parts == part - 1]


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Results:
    return Results(pytestconfig)


@pytest.fixture(scope="session")
def delta_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with Delta's own catalog and, beside it, Lakescan; it fails where Delta Spark cannot be had."""
    spark = start(tmp_path_factory.mktemp("warehouse"))
    yield spark
    spark.stop()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = Results(config)
    done = results.all()
    kinds = sum((Counter(walk["kinds"]) for walk in done), Counter())
    refused = Counter(told.split(":")[0] for walk in done for told in walk["refused"])
    total = {name: sum(walk[name] for walk in done) for name in ("versions", "rows", "filters", "seconds")}
    terminalreporter.section("comparison with Delta Spark, all runs of this code")
    terminalreporter.line(
        f"{len(done)} tables of {results.wanted}: {sum(kinds.values())} operations, {total['versions']} versions, "
        f"{total['rows']} rows, {total['filters']} filters, {total['seconds'] / 60:.0f} minutes"
    )
    for kind, count in kinds.most_common():
        terminalreporter.line(f"  {count:5d} {kind}" + (f" ({refused[kind]} refused)" if refused[kind] else ""))
