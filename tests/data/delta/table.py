"""A Delta table that Delta Spark writes by SQL, statement by statement, and reads back version by version."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.data.keep import rows_of

VECTORS = "'delta.enableDeletionVectors' = 'true'"
PLAIN = "'delta.enableDeletionVectors' = 'false'"
BY_NAME = "'delta.columnMapping.mode' = 'name'"
BY_ID = "'delta.columnMapping.mode' = 'id'"
OFTEN = "'delta.checkpointInterval' = '4'"
THREE = "part int, col1 int, col2 string"
ALL_TYPES = (
    "a_byte byte, a_short short, a_int int, a_long long, a_float float, a_double double, a_bool boolean, "
    "a_binary binary, a_string string, a_date date, a_time timestamp, a_ntz timestamp_ntz, a_decimal decimal(12,3)"
)
VALUES = [
    "(1Y, 2S, 3, 4L, CAST(1.5 AS float), 2.5D, true, X'00FF', 'text', DATE'2020-02-29', TIMESTAMP'2020-02-29 01:02:03."
    "123456', TIMESTAMP_NTZ'2020-02-29 01:02:03.123456', CAST('123456789.125' AS decimal(12,3)))",
    "(-128Y, -32768S, -2147483648, -9223372036854775808L, CAST('NaN' AS float), CAST('-Infinity' AS double), "
    "false, X'', '', "
    "DATE'0001-01-01', TIMESTAMP'0001-02-03 00:00:00', TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', "
    "CAST('-999999999.999' AS decimal(12,3)))",
    f"({', '.join(['null'] * 13)})",
]
# A partition value cannot be NaN, empty text (which Delta takes for null) or a byte 0 and stay what it was.
IN_FOLDERS = [
    VALUES[0].replace("X'00FF'", "X'4142'"),
    VALUES[1].replace("NaN", "-0.5").replace("X'', ''", "X'41', 'a/b=c %25 é'"),
    VALUES[2],
]


class Table:
    """A table being written by SQL, in which `TABLE_` is its name."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path, self.name = spark, path, f"delta.`{path}`"

    def create(self, columns: str, *properties: str, by: str = "", cluster: str = "") -> None:
        told = f"TBLPROPERTIES ({', '.join(properties)})" if properties else ""
        parts = f"PARTITIONED BY ({by})" if by else f"CLUSTER BY ({cluster})" if cluster else ""
        self.run(f"CREATE TABLE TABLE_ ({columns}) USING delta {parts} {told}")

    def run(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement.replace("TABLE_", self.name))

    def insert(self, query: str, files: int = 1) -> None:
        self.spark.sql(query).repartition(files).write.format("delta").mode("append").save(str(self.path))

    def rows(self, start: int, end: int, files: int = 1) -> None:
        """Rows of the three columns that many of the tables have; every ninth `col1` is null."""
        values = "CAST(id % 5 AS int) part, IF(id % 9 = 4, null, CAST(id AS int)) col1, concat('foo', id % 11) col2"
        self.insert(f"SELECT {values} FROM range({start}, {end}, 1, {files})", files)

    def checkpoint(self) -> None:
        """Now, with this session's settings: outside of a statement Delta asks whichever session is active."""
        jvm: Any = self.spark._jvm
        jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(self.spark._jsparkSession)
        jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self.spark._jsparkSession, str(self.path)).checkpoint()

    @property
    def newest(self) -> int:
        (newest,) = self.spark.sql(f"DESCRIBE HISTORY {self.name} LIMIT 1").collect()
        return int(newest["version"])

    def expected(self, every_version: bool) -> dict[str, Any]:
        """The rows that Delta Spark reads, of every version or of the newest."""
        if every_version:
            return {"versions": [self._at(version) for version in range(self.newest + 1)]}
        return {"rows": rows_of(self.spark.read.format("delta").load(str(self.path)))}

    def _at(self, version: int) -> list[dict[str, Any]] | None:
        try:
            return rows_of(self.spark.read.format("delta").option("versionAsOf", version).load(str(self.path)))
        except Exception as refused:
            gone = ("FILE_NOT_EXIST", "VERSION_NOT_FOUND", "DELTA_VERSION", "does not exist", "Cannot time travel")
            if not any(part in str(refused) for part in gone):
                raise
            return None


Make = Callable[[Table], None]
