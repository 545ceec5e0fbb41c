"""Writes the Delta tables beside this file with Delta Spark, each with the rows that Delta Spark itself reads back.

`make tables` runs it; so does `.venv-peers/bin/python tests/data/delta/make_tables.py [name ...]`. Some tables
are kept with the rows of each of their versions, null where Delta Spark itself cannot read one any more.
"""

import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent.parent))

from tests.data.delta import by_log, by_type  # noqa: E402
from tests.data.delta.table import BY_ID, BY_NAME, Make, Table  # noqa: E402
from tests.data.keep import before_spark, keep  # noqa: E402
from tests.data.make_changes import session  # noqa: E402

TABLES: dict[str, tuple[Make, str]] = {
    "checkpoint_classic": (by_log.checkpoint_classic, "classic checkpoint"),
    "checkpoint_parts": (by_log.checkpoint_parts, "multi-part checkpoint"),
    "checkpoint_only": (by_log.checkpoint_only, "classic checkpoint, commits cleaned up"),
    "checkpoint_parsed": (by_log.checkpoint_parsed, "classic checkpoint, parsed statistics, partitions"),
    "checkpoint_old_micros": (
        by_log.old_calendar("TIMESTAMP_MICROS"),
        "classic checkpoint, parsed statistics, checkpoint in the old calendar, partitions",
    ),
    "checkpoint_old_int96": (
        by_log.old_calendar("INT96"),
        "classic checkpoint, parsed statistics, checkpoint in the old calendar, partitions",
    ),
    "checkpoint_v2_json": (by_log.v2("json"), "V2 checkpoint in JSON, sidecars, deletion vectors"),
    "checkpoint_v2_parquet": (by_log.v2("parquet"), "V2 checkpoint in Parquet, sidecars, deletion vectors"),
    "vectors": (by_log.vectors, "deletion vectors, restore"),
    "vectors_checkpoint": (by_log.vectors_checkpoint, "deletion vectors, classic checkpoint"),
    "vectors_partitioned": (by_log.vectors_partitioned, "deletion vectors, classic checkpoint, partitions"),
    "vectors_mapped": (
        by_log.vectors_mapped,
        "deletion vectors, column mapping by name, partitions, classic checkpoint",
    ),
    "mapped_by_name": (by_type.mapped(BY_NAME), "column mapping by name, nested types, schema evolution"),
    "mapped_by_id": (by_type.mapped(BY_ID), "column mapping by id, nested types, schema evolution"),
    "iceberg_compat": (by_type.iceberg_compat, "column mapping by name, Iceberg compatibility"),
    "primitives": (by_type.primitives, "every primitive type, timestamps without zone"),
    "legacy_format": (by_type.legacy_format, "Parquet in the legacy format, decimals, nested types"),
    "nested": (by_type.nested, "nested types"),
    "partition_values": (by_type.partition_values(), "partition values of every type, timestamps without zone"),
    "partition_values_mapped": (
        by_type.partition_values(BY_NAME),
        "partition values of every type, column mapping by name",
    ),
    "decimals": (by_type.decimals, "decimals, partitions"),
    "decimals_v1_pages": (by_type.decimals_in_dictionaries("PARQUET_1_0"), "decimals, dictionaries"),
    "decimals_v2_pages": (
        by_type.decimals_in_dictionaries("PARQUET_2_0"),
        "decimals, dictionaries, data pages of version 2",
    ),
    "timestamps_int96": (by_type.timestamps("INT96"), "timestamps in INT96, zones"),
    "timestamps_millis": (by_type.timestamps("TIMESTAMP_MILLIS"), "timestamps in milliseconds, zones"),
    "timestamps_micros": (by_type.timestamps("TIMESTAMP_MICROS"), "timestamps in microseconds, zones"),
    "timestamp_partitions": (by_type.timestamp_partitions, "timestamp partitions, zones, timestamps without zone"),
    "ntz": (by_type.ntz(), "timestamps without zone, partitions"),
    "ntz_mapped_by_name": (by_type.ntz(BY_NAME), "timestamps without zone, partitions, column mapping by name"),
    "ntz_mapped_by_id": (by_type.ntz(BY_ID), "timestamps without zone, partitions, column mapping by id"),
    "variants": (by_type.variants, "Variant, nested types, classic checkpoint"),
    "shredded_variant": (by_type.shredded_variant, "Variant, shredded Variant"),
    "widened": (by_type.widened, "type widening, nested types, partitions"),
    "odd_paths": (by_type.odd_paths, "special characters in paths, partitions, deletion vectors"),
    "letter_case": (by_type.letter_case, "letter case, column mapping by name, partitions"),
    "statements": (by_log.statements, "insert, update, delete, merge, overwrite, restore, optimize"),
    "history": (by_log.history, "time travel, schema evolution, partition change"),
    "vacuumed": (by_log.vacuumed, "vacuum, vacuum protocol check"),
    "upgraded": (by_log.upgraded, "protocol upgrade, deletion vectors, column mapping by name, in-commit timestamps"),
    "empty": (by_log.empty, "empty table, partitions"),
    "empty_files": (by_log.empty_files, "files without rows"),
    "skipping": (by_log.skipping(), "statistics"),
    "skipping_mapped_by_name": (by_log.skipping(BY_NAME), "statistics, column mapping by name"),
    "skipping_mapped_by_id": (by_log.skipping(BY_ID), "statistics, column mapping by id"),
    "skipping_checkpoint": (by_log.skipping(checkpoint=True), "statistics, classic checkpoint"),
    "skipping_changed": (by_log.skipping_changed, "statistics of some columns"),
    "skipping_partitioned": (by_log.skipping_partitioned, "statistics, partitions"),
}


# The tables that are read at each of their versions.
EVERY_VERSION = {"checkpoint_only", "vectors", "mapped_by_name", "statements", "history", "vacuumed", "upgraded"}


def main() -> None:
    before_spark()
    spark = session()
    spark.sparkContext.setLogLevel("OFF")
    with TemporaryDirectory() as folder:
        for name in sys.argv[1:] or list(TABLES):
            make, features = TABLES[name]
            table = Table(spark.newSession(), Path(folder) / name)
            make(table)
            by = f"Delta Spark {version('delta-spark')} on Spark {spark.version}"
            keep(table.path, HERE / name, features.split(", "), written_by=by, **table.expected(name in EVERY_VERSION))
            shutil.rmtree(table.path)
        spark.stop()


if __name__ == "__main__":
    main()
