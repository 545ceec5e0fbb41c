"""Changes of ranges that a RESTORE or a schema change crosses are those that Delta Spark gives.

Where Delta Spark gives a range, Lakescan gives the same rows. Where it refuses one, there is nothing to compare with.
"""

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakescan
from lakescan.errors import LakescanError
from tests.peers.compare import Different, same_rows

pytestmark = [pytest.mark.peers, pytest.mark.timeout(1200)]
ROWS = "INSERT INTO {t} SELECT id, id % 3, named_struct('a', CAST(id AS INT)) FROM range({first}, {last})"
FEED = "delta.enableChangeDataFeed = true"

HISTORIES = {
    "restore": [
        ROWS.format(t="{t}", first=0, last=6),
        "UPDATE {t} SET part = 9 WHERE id = 2",
        "DELETE FROM {t} WHERE id < 2",
        "RESTORE TABLE {t} TO VERSION AS OF 1",
        ROWS.format(t="{t}", first=10, last=13),
        "RESTORE TABLE {t} TO VERSION AS OF 3",
        "DELETE FROM {t} WHERE id = 5",
    ],
    "added columns": [
        ROWS.format(t="{t}", first=0, last=4),
        "ALTER TABLE {t} ADD COLUMNS (extra STRING, s.b INT)",
        "INSERT INTO {t} VALUES (20, 1, named_struct('a', 1, 'b', 2), 'x')",
        "UPDATE {t} SET extra = 'y' WHERE id < 3",
        "ALTER TABLE {t} ALTER COLUMN extra FIRST",
        "DELETE FROM {t} WHERE extra = 'y'",
    ],
    "restore before an added column": [
        ROWS.format(t="{t}", first=0, last=4),
        "ALTER TABLE {t} ADD COLUMNS (extra STRING)",
        "INSERT INTO {t} VALUES (20, 1, named_struct('a', 1), 'x')",
        "RESTORE TABLE {t} TO VERSION AS OF 1",
        ROWS.format(t="{t}", first=30, last=32),
    ],
    "renamed and dropped": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        ROWS.format(t="{t}", first=0, last=4),
        "ALTER TABLE {t} RENAME COLUMN part TO kind",
        "INSERT INTO {t} VALUES (20, 1, named_struct('a', 1))",
        "ALTER TABLE {t} DROP COLUMN kind",
        "INSERT INTO {t} VALUES (30, named_struct('a', 1))",
        "RESTORE TABLE {t} TO VERSION AS OF 4",
        "DELETE FROM {t} WHERE id = 1",
    ],
    "widened": [
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
        ROWS.format(t="{t}", first=0, last=4),
        "ALTER TABLE {t} ALTER COLUMN s.a TYPE BIGINT",
        "INSERT INTO {t} VALUES (20, 1, named_struct('a', 5000000000))",
        "UPDATE {t} SET part = 7 WHERE id = 1",
    ],
    "overwritten schema": [
        ROWS.format(t="{t}", first=0, last=4),
        "overwrite",
        "INSERT INTO {t} VALUES (20, 'y')",
    ],
    "feed switched off": [
        ROWS.format(t="{t}", first=0, last=4),
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')",
        ROWS.format(t="{t}", first=4, last=6),
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
        ROWS.format(t="{t}", first=6, last=8),
    ],
}


@pytest.mark.parametrize(
    ("history", "vectors"), [*((history, "true") for history in HISTORIES), ("restore", "false"), ("widened", "false")]
)
def test_changes_of_every_range_are_those_that_delta_spark_gives(
    delta_spark: SparkSession, tmp_path: Path, history: str, vectors: str
) -> None:
    path = f"{tmp_path}/t"
    name = f"delta.`{path}`"
    delta_spark.sql(
        f"CREATE TABLE {name} (id BIGINT, part BIGINT, s STRUCT<a: INT>) USING delta "
        f"TBLPROPERTIES ({FEED}, 'delta.enableDeletionVectors' = '{vectors}')"
    )
    for statement in HISTORIES[history]:
        if statement == "overwrite":
            frame = delta_spark.sql("SELECT id, CAST(id AS STRING) AS part FROM range(3)")
            frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
        else:
            delta_spark.sql(statement.format(t=name))
    newest, zone = len(HISTORIES[history]), str(delta_spark.conf.get("spark.sql.session.timeZone"))
    wrong, compared = [], 0
    ranges = sorted(
        {(start, end) for start in range(newest + 1) for end in (start, start + 2, newest) if end <= newest}
    )
    for start, end in ranges:
        feed = delta_spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", start)
        try:
            expected = feed.option("endingVersion", end).load(path).toArrow()
        except (PySparkException, Py4JJavaError):
            continue
        compared += 1
        try:
            rows = lakescan.open(path, zone).changes(start, end).scan().build().to_arrow()
            same_rows(rows, expected, f"{start} to {end}")
        except (Different, LakescanError) as error:
            wrong.append(f"{start} to {end}: {type(error).__name__} {str(error)[:600]}")
    assert compared, "Delta Spark gave no range"
    assert not wrong, f"{len(wrong)} of {compared} ranges differ:\n" + "\n".join(wrong)
