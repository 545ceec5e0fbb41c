"""A suite's tables and queries, as DuckDB's extension makes them, and the tables as Delta Spark writes them.

Every table is written once and kept: one that is half written never gets its final name.
"""

import importlib
import math
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import sqlglot
from pyspark.sql import SparkSession

_GENERATORS = {"tpch": "dbgen", "tpcds": "dsdgen"}
# So that even the largest table of a small scale has several files, and the smallest ones have one.
_MOST_FILES = 8
_FEWEST_ROWS_A_FILE = 20_000
# Of each table with more rows than fit a file, one row in so many is deleted.
_DELETED = 97


@dataclass(frozen=True)
class Suite:
    """`tpch` or `tpcds` at a scale, with its tables in a folder."""

    name: str
    scale: float
    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / f"{self.name}-{self.scale:g}"

    def queries(self) -> dict[int, str]:
        """The suite's queries in Spark's SQL, by number."""
        rows = self._extension().execute(f"SELECT query_nr, query FROM {self.name}_queries()").fetchall()
        return {int(number): sqlglot.transpile(text, read="duckdb", write="spark")[0] for number, text in rows}

    def tables(self, spark: SparkSession, deleted: bool) -> dict[str, Path]:
        """Where each table is; those with rows that deletion vectors mark, or those without."""
        parquet = self.home / "parquet"
        for unfinished in _unfinished(parquet):
            self._generate(unfinished)
        paths = {}
        for file in sorted(parquet.glob("*.parquet")):
            path = paths[file.stem] = self.home / ("deleted" if deleted else "plain") / file.stem
            for unfinished in _unfinished(path):
                _write(spark, file, unfinished, deleted)
        return paths

    def _extension(self) -> duckdb.DuckDBPyConnection:
        package = importlib.import_module(f"duckdb_extension_{self.name}")
        (file,) = Path(next(iter(package.__path__))).rglob("*.duckdb_extension")
        connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
        connection.execute(f"LOAD '{file}'")
        return connection

    def _generate(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        with self._extension() as made:
            made.execute(f"CALL {_GENERATORS[self.name]}(sf = {self.scale})")
            for (table,) in made.execute("SHOW TABLES").fetchall():
                made.execute(f"COPY {table} TO '{folder / table}.parquet' (FORMAT parquet)")


def _write(spark: SparkSession, file: Path, path: Path, deleted: bool) -> None:
    rows = spark.read.parquet(str(file)).coalesce(1)
    count = rows.count()
    a_file = max(_FEWEST_ROWS_A_FILE, math.ceil(count / _MOST_FILES))
    writer = rows.write.format("delta").option("maxRecordsPerFile", a_file)
    writer.option("delta.enableDeletionVectors", str(deleted).lower()).save(str(path))
    if deleted and count > _FEWEST_ROWS_A_FILE:
        columns = ", ".join(rows.columns[:4])
        spark.sql(f"DELETE FROM delta.`{path}` WHERE pmod(hash({columns}), {_DELETED}) = 0")


def _unfinished(path: Path) -> Iterator[Path]:
    """A folder to fill, which then gets the name; nothing where the name is there already."""
    if path.exists():
        return
    unfinished = path.with_name(path.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    yield unfinished
    unfinished.rename(path)
