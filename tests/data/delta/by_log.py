"""Tables that differ in their logs: checkpoints, deletion vectors, statements, versions, statistics."""

from tests.data.delta.table import ALL_TYPES, BY_NAME, OFTEN, PLAIN, THREE, VALUES, VECTORS, Make, Table

TOP = "spark.databricks.delta.checkpointV2.topLevelFileFormat"

# Checkpoints


def checkpoint_classic(table: Table) -> None:
    table.create(THREE, PLAIN, OFTEN)
    for at in range(6):
        table.rows(10 * at, 10 * at + 5)
    table.run("DELETE FROM TABLE_ WHERE col1 BETWEEN 20 AND 24")


def checkpoint_parts(table: Table) -> None:
    table.create(THREE, PLAIN)
    table.rows(0, 20, files=6)
    table.spark.conf.set("spark.databricks.delta.checkpoint.partSize", 3)
    table.checkpoint()
    table.rows(20, 25)


def checkpoint_only(table: Table) -> None:
    """Commits before the checkpoint were cleaned up."""
    checkpoint_classic(table)
    for file in (table.path / "_delta_log").glob("0000000000000000000[0-3].*"):
        file.unlink()


def v2(top: str) -> Make:
    def make(table: Table) -> None:
        table.spark.conf.set(TOP, top)
        table.spark.conf.set("spark.databricks.delta.checkpoint.partSize", 4)
        table.create(THREE, "'delta.checkpointPolicy' = 'v2'", VECTORS)
        table.rows(0, 30, files=6)
        table.run("DELETE FROM TABLE_ WHERE col1 % 7 = 3")
        table.checkpoint()
        table.rows(30, 40)
        table.run("DELETE FROM TABLE_ WHERE col1 = 31")

    return make


def checkpoint_parsed(table: Table) -> None:
    """Statistics and partition values as columns of the checkpoint, and none as JSON."""
    told = ("'delta.checkpoint.writeStatsAsStruct' = 'true'", "'delta.checkpoint.writeStatsAsJson' = 'false'")
    table.create(THREE, PLAIN, OFTEN, *told, by="part")
    for at in range(4):
        table.rows(10 * at, 10 * at + 10)
    table.rows(90, 95)


OLD = ("0004-02-29", "0999-12-31", "1000-01-01", "1582-10-04", "1582-10-15", "1899-12-31", "1900-01-01", "2024-02-29")


def old_calendar(moments: str) -> Make:
    """A checkpoint of many row groups in the calendar that Spark had before 3.0, a file for each day of each month."""

    def make(table: Table) -> None:
        told = ("'delta.checkpoint.writeStatsAsStruct' = 'true'", "'delta.checkpoint.writeStatsAsJson' = 'false'")
        table.create("id int, day date, d date, t timestamp, s struct<d date>", PLAIN, *told, by="day")
        values = [
            f"({at}, DATE'{day}', DATE'{day}', TIMESTAMP'{day} 12:34:56.789', named_struct('d', DATE'{day}'))"
            for at, day in enumerate(OLD)
        ]
        table.run(f"INSERT INTO TABLE_ VALUES {', '.join(values)}")
        settings = {
            "spark.sql.parquet.outputTimestampType": moments,
            "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
            "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
            "spark.sql.session.timeZone": "America/Los_Angeles",
            "parquet.block.size": "64",
            "parquet.page.size.row.check.min": "1",
            "parquet.page.size.row.check.max": "1",
        }
        for name, value in settings.items():
            table.spark.conf.set(name, value)
        table.checkpoint()
        for name in settings:
            table.spark.conf.unset(name)
        table.spark.conf.set("spark.sql.session.timeZone", "UTC")

    return make


# Deletion vectors


def vectors(table: Table) -> None:
    table.create(THREE, VECTORS)
    table.rows(0, 30, files=2)
    table.run("DELETE FROM TABLE_ WHERE col1 IN (1, 2, 29)", "DELETE FROM TABLE_ WHERE col1 % 10 = 5")
    table.run("UPDATE TABLE_ SET col2 = 'up' WHERE col1 = 7", "RESTORE TABLE TABLE_ TO VERSION AS OF 2")


def vectors_checkpoint(table: Table) -> None:
    table.create(THREE, VECTORS, OFTEN)
    table.rows(0, 100, files=2)
    for at in range(7):
        table.run(f"DELETE FROM TABLE_ WHERE col1 % 20 = {at}")


def vectors_partitioned(table: Table) -> None:
    table.create(THREE, VECTORS, OFTEN, by="part")
    table.rows(0, 50)
    table.run("DELETE FROM TABLE_ WHERE col1 IN (0, 11, 22, 33, 44)", "DELETE FROM TABLE_ WHERE col1 IN (5, 16)")
    table.rows(50, 60)
    table.run("DELETE FROM TABLE_ WHERE part = 1 AND col1 > 20", "UPDATE TABLE_ SET col2 = 'foo1x' WHERE col1 = 45")


def vectors_mapped(table: Table) -> None:
    table.create(THREE, VECTORS, OFTEN, BY_NAME, by="part")
    table.rows(0, 50)
    table.run("DELETE FROM TABLE_ WHERE col1 IN (0, 11, 22, 33, 44)", "ALTER TABLE TABLE_ RENAME COLUMN col2 TO word")
    table.run("DELETE FROM TABLE_ WHERE col1 IN (5, 16)", "ALTER TABLE TABLE_ RENAME COLUMN word TO col2")
    table.run("DELETE FROM TABLE_ WHERE part = 1 AND col1 > 20", "UPDATE TABLE_ SET col2 = 'foo1x' WHERE col1 = 45")


# Statements and history


def statements(table: Table) -> None:
    table.create(THREE, PLAIN)
    table.rows(0, 20, files=2)
    table.run("UPDATE TABLE_ SET col2 = 'updated' WHERE col1 < 5", "DELETE FROM TABLE_ WHERE col1 > 15")
    table.run(
        "MERGE INTO TABLE_ t USING (SELECT CAST(id AS int) id FROM range(10, 24)) s ON t.col1 = s.id "
        "WHEN MATCHED AND t.col1 = 12 THEN DELETE WHEN MATCHED THEN UPDATE SET col2 = 'merged' "
        "WHEN NOT MATCHED THEN INSERT (part, col1, col2) VALUES (9, s.id, 'new')"
    )
    table.run("INSERT OVERWRITE TABLE_ VALUES (1, 1, 'over')", "RESTORE TABLE TABLE_ TO VERSION AS OF 4")
    table.run("OPTIMIZE TABLE_ ZORDER BY (col1)", "DELETE FROM TABLE_", "INSERT INTO TABLE_ VALUES (7, 7, 'last')")


def history(table: Table) -> None:
    """A schema and a partitioning that change from version to version."""
    table.rows(0, 10, files=2)
    table.rows(10, 20)
    frame = table.spark.sql("SELECT CAST(id AS int) col1, 'x' extra FROM range(3)").coalesce(1).write.format("delta")
    frame.mode("append").option("mergeSchema", "true").save(str(table.path))
    frame = table.spark.sql("SELECT CAST(id % 2 AS int) part, id col1 FROM range(6)").coalesce(1).write.format("delta")
    frame.mode("overwrite").option("overwriteSchema", "true").partitionBy("part").save(str(table.path))
    table.run("DELETE FROM TABLE_ WHERE part = 1", "ALTER TABLE TABLE_ ADD COLUMNS (late double)")
    table.run("INSERT INTO TABLE_ VALUES (3, 30, 0.5)")


def vacuumed(table: Table) -> None:
    """Older versions' files are gone; the table demands that whoever vacuums knows the protocol."""
    table.create(THREE, PLAIN, "'delta.feature.vacuumProtocolCheck' = 'supported'")
    table.rows(0, 10)
    table.run("INSERT OVERWRITE TABLE_ VALUES (1, 1, 'over')")
    table.rows(10, 15)
    table.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    table.run("VACUUM TABLE_ RETAIN 0 HOURS")


def upgraded(table: Table) -> None:
    """The protocol, the properties and the comment of the table change under way."""
    table.create(THREE, PLAIN)
    table.rows(0, 10)
    table.run(f"ALTER TABLE TABLE_ SET TBLPROPERTIES ({VECTORS}, 'delta.appendOnly' = 'false')")
    table.rows(10, 20)
    table.run("DELETE FROM TABLE_ WHERE col1 = 11", f"ALTER TABLE TABLE_ SET TBLPROPERTIES ({BY_NAME})")
    table.rows(20, 30)
    table.run(
        "ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')",
        "COMMENT ON TABLE TABLE_ IS 'é'",
    )


def empty(table: Table) -> None:
    table.create(f"{ALL_TYPES}, part int", by="part")


def empty_files(table: Table) -> None:
    table.create(THREE, PLAIN)
    for at in range(4):
        table.rows(at, at + at % 2, files=1)
        table.spark.sql("SELECT 1 part, 1 col1, 'x' col2 WHERE false").write.format("delta").mode("append").save(
            str(table.path)
        )


# Statistics


def skipping(*properties: str, checkpoint: bool = False) -> Make:
    def make(table: Table) -> None:
        table.create(ALL_TYPES, *properties)
        table.run(f"INSERT INTO TABLE_ VALUES {VALUES[0]}")
        if checkpoint:
            table.checkpoint()

    return make


def skipping_changed(table: Table) -> None:
    """A file without statistics, one with those of the first column, one with those of both."""
    table.create("col1 int, col2 int", PLAIN, "'delta.dataSkippingNumIndexedCols' = '0'")
    for number, columns in enumerate((0, 1, 2)):
        table.run(f"ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '{columns}')")
        table.run(f"INSERT INTO TABLE_ VALUES ({number}, {number})")


def skipping_partitioned(table: Table) -> None:
    table.create("part int, id int", PLAIN, by="part")
    for part in (0, 1):
        for number in (0, 1):
            table.run(f"INSERT INTO TABLE_ VALUES ({part}, {number})")
