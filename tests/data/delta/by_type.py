"""Tables that differ in their columns: mapped names, every type, partition values, variants, odd names and paths."""

from tests.data.delta.table import ALL_TYPES, BY_NAME, IN_FOLDERS, OFTEN, PLAIN, VALUES, VECTORS, Make, Table

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


# Column mapping


def mapped(mode: str) -> Make:
    def make(table: Table) -> None:
        columns = (
            "id int, `odd name,;{}()=` string, s struct<`x y`: int, t: struct<z: string>>, a array<struct<q: int>>"
        )
        table.create(f"{columns}, m map<string, struct<v: int>>", mode, PLAIN)
        row = "named_struct('x y', id, 't', named_struct('z', 'z')), array(named_struct('q', id))"
        row += ", map('k', named_struct('v', id))"
        table.run(f"INSERT INTO TABLE_ SELECT id, 'one', {row} FROM (SELECT CAST(id AS int) id FROM range(3))")
        table.run("ALTER TABLE TABLE_ RENAME COLUMN `odd name,;{}()=` TO word", "ALTER TABLE TABLE_ DROP COLUMN s.t")
        table.run(
            "ALTER TABLE TABLE_ RENAME COLUMN a.element.q TO `q q`", "ALTER TABLE TABLE_ ADD COLUMNS (n long, s.w date)"
        )
        table.run(
            "INSERT INTO TABLE_ VALUES (9, 'two', named_struct('x y', 9, 'w', DATE'2024-01-01'), array(), map(), 99L)"
        )

    return make


def iceberg_compat(table: Table) -> None:
    table.create("id int, l array<map<string, int>>", BY_NAME, "'delta.enableIcebergCompatV2' = 'true'", PLAIN)
    table.run("INSERT INTO TABLE_ VALUES (1, array(map('a', 1))), (2, null), (3, array())")


# Types


def primitives(table: Table) -> None:
    table.create(ALL_TYPES)
    table.run(f"INSERT INTO TABLE_ VALUES {', '.join(VALUES)}")


def legacy_format(table: Table) -> None:
    table.spark.conf.set("spark.sql.parquet.writeLegacyFormat", "true")
    columns = "d5 decimal(5,2), d18 decimal(18,9), d38 decimal(38,10), l array<int>, m map<string, array<int>>"
    table.create(f"{columns}, s struct<x: array<struct<y: int>>>")
    table.run(
        "INSERT INTO TABLE_ VALUES (-1.25, 123456789.987654321, 1234567890123456789012345678.0123456789, "
        "array(1, null), "
        "map('a', array(1)), named_struct('x', array(named_struct('y', 1)))), (null, null, null, null, null, null), "
        "(999.99, -0.000000001, -1, array(), map(), named_struct('x', array()))"
    )


def nested(table: Table) -> None:
    table.create(
        "id int, l array<array<int>>, m map<int, string>, k map<string, map<date, decimal(9,1)>>, "
        "s struct<a: struct<b: struct<c: int>>, l: array<struct<x: string, y: map<string, long>>>>"
    )
    table.run(
        "INSERT INTO TABLE_ VALUES (1, array(array(1, null), array(), null), map(1, 'a', 2, null), "
        "map('x', map(DATE'2024-01-01', 1.5)), named_struct('a', named_struct('b', named_struct('c', 1)), 'l', "
        "array(named_struct('x', 'u', 'y', map('k', 7L)), null))), (2, null, null, null, null), "
        "(3, array(), map(), map('e', map()), named_struct('a', null, 'l', null)), "
        "(4, array(null), map(), map('n', null), named_struct('a', named_struct('b', null), 'l', array()))"
    )


def partition_values(*properties: str) -> Make:
    def make(table: Table) -> None:
        table.create(
            f"id int, {ALL_TYPES}", *properties, by=", ".join(part.split()[0] for part in ALL_TYPES.split(", "))
        )
        rows = [row.replace("(", f"({number}, ", 1) for number, row in enumerate(IN_FOLDERS)]
        table.run(f"INSERT INTO TABLE_ VALUES {', '.join(rows)}")

    return make


def decimals(table: Table) -> None:
    precisions = [(1, 0), (4, 4), (9, 3), (10, 0), (18, 6), (19, 0), (28, 14), (38, 0), (38, 38)]
    columns = ", ".join(f"d{precision}_{scale} decimal({precision},{scale})" for precision, scale in precisions)
    table.create(f"part decimal(12,5), {columns}", by="part")
    for sign, part in (("", "1234567.12345"), ("-", "-0.5"), ("0*", "null")):
        numbers = [f"'{sign}{'9' * (p - s) or '0'}{'.' * bool(s)}{'9' * s}'".replace("0*", "0") for p, s in precisions]
        if sign == "0*":
            numbers = ["null"] * len(precisions)
        casts = ", ".join(
            f"CAST({number} AS decimal({p},{s}))" for number, (p, s) in zip(numbers, precisions, strict=True)
        )
        table.run(f"INSERT INTO TABLE_ SELECT CAST({part} AS decimal(12,5)), {casts}")


def decimals_in_dictionaries(pages: str) -> Make:
    """Few different values, so that every page is of a dictionary; with data pages of both versions."""

    def make(table: Table) -> None:
        table.spark.sparkContext._jsc.hadoopConfiguration().set("parquet.writer.version", pages)
        table.create("id int, small decimal(7,2), middle decimal(15,5), large decimal(30,10), t string")
        table.insert(
            "SELECT CAST(id AS int) id, CAST(id % 3 AS decimal(7,2)) small, CAST(id % 5 / 8 AS decimal(15,5)) middle, "
            "CAST(id % 7 / 1024 AS decimal(30,10)) large, concat('t', id % 4) t FROM range(60)"
        )
        table.spark.sparkContext._jsc.hadoopConfiguration().unset("parquet.writer.version")

    return make


def timestamps(stored: str) -> Make:
    """Stored as INT96, milliseconds or microseconds, and written in sessions of several zones."""

    def make(table: Table) -> None:
        table.spark.conf.set("spark.sql.parquet.outputTimestampType", stored)
        table.create("zone string, at timestamp, day date, times array<timestamp>")
        for zone in ("UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati"):
            table.spark.conf.set("spark.sql.session.timeZone", zone)
            at = "TIMESTAMP'2021-03-14 02:30:00.123'"
            table.run(f"INSERT INTO TABLE_ VALUES ('{zone}', {at}, CAST({at} AS date), array({at}, null))")
        table.spark.conf.set("spark.sql.session.timeZone", "UTC")
        table.run(
            "INSERT INTO TABLE_ VALUES ('none', null, null, null), "
            "('old', TIMESTAMP'1969-12-31 23:59:59.999', null, array())"
        )

    return make


def timestamp_partitions(table: Table) -> None:
    """Partition values in the writer's zone, and as moments in UTC."""
    table.create("id int, at timestamp, local timestamp_ntz", by="at, local")
    values = "TIMESTAMP'2021-11-07 00:30:00.25', TIMESTAMP_NTZ'2021-11-07 01:30:00.000001'"
    for number, (utc, zone) in enumerate([("false", "UTC"), ("true", "Asia/Tokyo"), ("true", "UTC")]):
        table.spark.conf.set("spark.databricks.delta.write.utcTimestampPartitionValues", utc)
        table.spark.conf.set("spark.sql.session.timeZone", zone)
        table.run(f"INSERT INTO TABLE_ VALUES ({number}, {values}), ({10 + number}, null, null)")
    table.spark.conf.set("spark.sql.session.timeZone", "UTC")


def ntz(*properties: str) -> Make:
    def make(table: Table) -> None:
        table.create("id int, local timestamp_ntz, by timestamp_ntz", *properties, by="by")
        first, last = "TIMESTAMP_NTZ'2021-11-18 02:30:00.123456'", "TIMESTAMP_NTZ'0001-02-03 00:00:00'"
        table.run(f"INSERT INTO TABLE_ VALUES (0, {first}, {first}), (1, null, {first}), (2, {last}, null)")
        table.run(f"INSERT INTO TABLE_ VALUES (3, {last}, {last}), (4, null, null)")

    return make


def variants(table: Table) -> None:
    nested = "v variant, l array<variant>, s struct<v: variant>, m map<string, variant>, d array<struct<v: variant>>"
    table.create(f"id int, {nested}", OFTEN, PLAIN)
    for start in (0, 3, 6, 9):
        value = 'parse_json(concat(\'{"key":\', id, \',"t":[null,"x"]}\'))'
        table.insert(
            "SELECT id, v, array(v, null) l, named_struct('v', v) s, map('v', v, 'n', null) m, "
            "array(named_struct('v', v)) d "
            f"FROM (SELECT CAST(id AS int) id, IF(id % 4 = 3, null, {value}) v FROM range({start}, {start + 3}, 1, 1))"
        )


def shredded_variant(table: Table) -> None:
    table.spark.conf.set("spark.sql.variant.writeShredding.enabled", "true")
    table.create("id int, v variant", "'delta.enableVariantShredding' = 'true'")
    shape = "a int, b string, c array<bigint>, d struct<e double, f decimal(10,2)>, t timestamp, dt date"
    table.spark.conf.set("spark.sql.variant.forceShreddingSchemaForTest", shape)
    rows = ", ".join(f"({number}, {value})" for number, value in enumerate(VARIANTS, 1))
    table.run(f"INSERT INTO TABLE_ SELECT * FROM VALUES {rows}")


def widened(table: Table) -> None:
    table.create(
        "b byte, s short, i int, f float, d date, dec decimal(5,2), bd byte, sd short, idc int, ldc long, idb int, "
        "st struct<x: byte, f: float>, a array<short>, m map<byte, int>, p int, pf float, pd date",
        "'delta.enableTypeWidening' = 'true'",
        "'delta.feature.timestampNtz' = 'supported'",
        by="p, pf, pd",
    )
    low = NARROW.format(-128, -32768, -2147483648, "0.1", "1500-01-01", "-999.99")
    high = NARROW.format(127, 32767, 2147483647, "3.4e38", "9999-12-31", "999.99")
    table.run(f"INSERT INTO TABLE_ VALUES {low}, {high}, ({', '.join(['null'] * 17)})")
    for column, type_ in CHANGES.items():
        table.run(f"ALTER TABLE TABLE_ ALTER COLUMN {column} TYPE {type_}")
    table.run(f"INSERT INTO TABLE_ VALUES {WIDE}")


# Names and paths


def odd_paths(table: Table) -> None:
    """Characters that URLs, Hive and Windows take for something else, in partition values and so in paths."""
    table.create("id int, `p#q` string", VECTORS, by="`p#q`")
    texts = ["a b", "a%20b", "a+b", "bar+%21", "ä/ö", "x=y", "#?&", 'q"w', "it\\'s", "c:\\\\d", "..", "tab\\there"]
    table.run(
        f"INSERT INTO TABLE_ VALUES {', '.join(f'''({number}, '{text}')''' for number, text in enumerate(texts))}"
    )
    table.run(
        "INSERT INTO TABLE_ VALUES (90, null), (91, ''), (92, 'a b'), (93, 'a b')", "DELETE FROM TABLE_ WHERE id = 92"
    )


def letter_case(table: Table) -> None:
    table.create("FooBar int, `BarFoo.x` string, `Ünï` int", BY_NAME, PLAIN, by="`BarFoo.x`")
    table.run("INSERT INTO TABLE_ VALUES (1, 'a', 10), (2, 'b', 20)", "INSERT INTO TABLE_ VALUES (3, null, null)")
