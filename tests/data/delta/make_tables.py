"""Writes the stored tables with Delta Spark, in the environment of `make peers`: `python make_tables.py <folder>`.

Each table is one folder; zip it without Hadoop's hidden `.crc` files.
"""

import sys

from pyspark.sql import SparkSession

NARROW = """(CAST({0} AS byte), CAST({1} AS short), {2}, CAST({3} AS float), DATE'{4}', CAST('{5}' AS decimal(5,2)),
  CAST({0} AS byte), CAST({1} AS short), {2}, {2}L, {2}, named_struct('x', CAST({0} AS byte), 'f', CAST({3} AS float)),
  array(CAST({1} AS short), null), map(CAST({0} AS byte), {2}), {2}, CAST({3} AS float), DATE'{4}')"""
WIDE = """(7000S, 7000, 5000000000L, 0.1D, TIMESTAMP_NTZ'2024-01-01 10:00:00', CAST('1.2345' AS decimal(10,4)),
  CAST(7000 AS decimal(12,2)), 7000D, CAST(7000 AS decimal(10,0)), CAST(7000 AS decimal(22,2)), 0.1D,
  named_struct('x', 7000, 'f', 0.1D), array(7000), map(7000, 5000000000L), 5000000000L, 0.1D,
  TIMESTAMP_NTZ'2024-01-01 10:00:00')"""
CHANGES = {
    "b": "short",
    "s": "int",
    "i": "long",
    "f": "double",
    "d": "timestamp_ntz",
    "dec": "decimal(10,4)",
    "bd": "decimal(12,2)",
    "sd": "double",
    "idc": "decimal(10,0)",
    "ldc": "decimal(22,2)",
    "idb": "double",
    "st.x": "int",
    "st.f": "double",
    "a.element": "int",
    "m.key": "int",
    "m.value": "long",
    "p": "long",
    "pf": "double",
    "pd": "timestamp_ntz",
}
VARIANTS = [
    """parse_json('{"a":1,"b":"x","c":[1,2],"d":{"e":1.5,"f":2.25}}')""",
    """parse_json('{"a":"text","z":[1,{"k":null}],"b":null}')""",
    "parse_json('5')",
    "parse_json('null')",
    "null",
    """parse_json('[1,"a",true]')""",
    """parse_json('{"c":[1,"x",3],"d":{"e":7,"g":1},"a":99999999999}')""",
    "to_variant_object(named_struct('a', 1, 't', TIMESTAMP'2024-01-01 00:00:00', 'dt', DATE'2024-02-02'))",
    "parse_json('{}')",
]


def widened(spark: SparkSession, table: str) -> None:
    spark.sql(
        f"""CREATE TABLE {table} (b byte, s short, i int, f float, d date, dec decimal(5,2), bd byte, sd short, idc int,
        ldc long, idb int, st struct<x: byte, f: float>, a array<short>, m map<byte, int>, p int, pf float, pd date)
        USING delta PARTITIONED BY (p, pf, pd)
        TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')"""
    )
    low = NARROW.format(-128, -32768, -2147483648, "0.1", "1500-01-01", "-999.99")
    high = NARROW.format(127, 32767, 2147483647, "3.4e38", "9999-12-31", "999.99")
    spark.sql(f"INSERT INTO {table} VALUES {low}, {high}, ({', '.join(['null'] * 17)})")
    for column, type_ in CHANGES.items():
        spark.sql(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {type_}")
    spark.sql(f"INSERT INTO {table} VALUES {WIDE}")


def shredded_variant(spark: SparkSession, table: str) -> None:
    spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
    spark.sql(
        f"CREATE TABLE {table} (id int, v variant) USING delta TBLPROPERTIES ('delta.enableVariantShredding' = 'true')"
    )
    spark.conf.set(
        "spark.sql.variant.forceShreddingSchemaForTest",
        "a int, b string, c array<bigint>, d struct<e double, f decimal(10,2)>, t timestamp, dt date",
    )
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(VARIANTS, 1))
    spark.sql(f"INSERT INTO {table} SELECT * FROM VALUES {rows}")


def main(folder: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", "io.delta:delta-spark_4.2_2.13:4.4.0")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    widened(spark, f"delta.`{folder}/widened`")
    shredded_variant(spark, f"delta.`{folder}/shredded-variant`")


if __name__ == "__main__":
    main(sys.argv[1])
