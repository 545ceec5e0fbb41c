"""What the comparison with Delta Spark needs: its session, the choice of tables, and results that outlive a run."""

import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from peers.results import RESULTS, Results
from pyspark.sql import SparkSession

import lakescan

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
    spark = _start(tmp_path_factory.mktemp("warehouse"))
    yield spark
    spark.stop()


def _start(warehouse: Path) -> SparkSession:
    try:
        from delta import configure_spark_with_delta_pip
    except ImportError:
        pytest.exit("Delta Spark is not installed in this environment: run `make peers`.", returncode=1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "1g",
        # Thousands of tiny statements: quick compilation beats quick code.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.ui.explainMode": "simple",
        "spark.sql.maxPlanStringLength": "100",
        "spark.sql.ui.retainedExecutions": "1",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": str(warehouse),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
        # Several row groups in a file of a few hundred rows.
        "spark.hadoop.parquet.block.size": "4096",
        "spark.hadoop.parquet.page.size": "1024",
        "spark.hadoop.parquet.page.size.row.check.min": "20",
        "spark.hadoop.parquet.page.size.row.check.max": "40",
    }
    builder = SparkSession.builder.master("local[2]").appName("peers").config(map=settings)
    try:
        spark = configure_spark_with_delta_pip(builder).getOrCreate()
        _ = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable
    except Exception as error:
        pytest.exit(
            f"Delta Spark {version('delta-spark')} did not start ({str(error).splitlines()[0]}). Its JARs come from "
            "Maven Central; without them nothing can be compared.",
            returncode=1,
        )
    spark.sparkContext.setLogLevel("OFF")
    return lakescan.install(spark)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    results = Results(config)
    done = results.all()
    kinds = sum((Counter(found["kinds"]) for found in done), Counter())
    refused = Counter(told.split(":")[0] for found in done for told in found["refused"])
    total = {name: sum(found[name] for found in done) for name in ("versions", "rows", "filters", "seconds")}
    terminalreporter.section("comparison with Delta Spark, all runs of this code")
    terminalreporter.line(
        f"{len(done)} tables of {results.wanted}: {sum(kinds.values())} operations, {total['versions']} versions, "
        f"{total['rows']} rows, {total['filters']} filters, {total['seconds'] / 60:.0f} minutes"
    )
    for kind, count in kinds.most_common():
        terminalreporter.line(f"  {count:5d} {kind}" + (f" ({refused[kind]} refused)" if refused[kind] else ""))
