"""Random columns and random values of every type, as Spark SQL text.

Values come from small pools of the ones that break readers (extremes, NaN, the empty text, days before 1582),
so that random rows repeat each other and a random condition finds some of them.
"""

from random import Random

from pyspark.sql import types as t

# Names that are allowed in a table without column mapping, and those that only mapping makes possible.
PLAIN_NAMES = ["a", "B", "MixedCase", "ünï", "a.b", "x-y", "_under", "123", "é", "日本", "c%20d"]
MAPPED_NAMES = [*PLAIN_NAMES, "with space", "a,b", "semi;colon", "{curly}", "(round)", "equals=", "tab\tin", "q'uote"]

_TEXTS = [
    "",
    "a",
    "A",
    "ab",
    "b",
    "Zoë",
    "日本",
    "😀",
    "\uffff",
    "it's",
    'say "x"',
    "100%",
    "a=b/c",
    "\\",
    "two\nlines",
    " ",
    "x" * 40,
    "x" * 31 + "😀" * 3,
    "y" * 32,
]
_DAYS = ["0001-01-01", "1500-02-28", "1582-10-15", "1969-12-31", "1970-01-01", "2024-02-29", "2024-03-01", "9999-12-31"]
_FLOATS = ["0.0", "-0.0", "1.5", "-2.25", "1e-30", "3e38", "NaN", "Infinity", "-Infinity", "0.1"]
_CLOCKS = ["00:00:00", "23:59:59.999999", "12:30:00.123456", "01:02:03.5"]
_WHOLE: dict[t.DataType, int] = {t.ByteType(): 7, t.ShortType(): 15, t.IntegerType(): 31, t.LongType(): 63}
_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"

PRIMITIVES = [
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(4,1)",
    "DECIMAL(10,2)",
    "DECIMAL(18,9)",
    "DECIMAL(38,10)",
    "DECIMAL(20,0)",
    "STRING",
    "STRING",
    "BINARY",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP_NTZ",
]
_TOP_ONLY = ["VARCHAR(4)", "CHAR(3)"]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """A string literal of Spark SQL."""
    for character, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\t", "\\t")):
        value = value.replace(character, escaped)
    return f"'{value}'"


def ddl(type_: t.DataType) -> str:
    """A type as Spark SQL writes it, with every name quoted."""
    if isinstance(type_, t.StructType):
        return f"STRUCT<{', '.join(f'{quoted(field.name)}: {ddl(field.dataType)}' for field in type_)}>"
    if isinstance(type_, t.ArrayType):
        return f"ARRAY<{ddl(type_.elementType)}>"
    if isinstance(type_, t.MapType):
        return f"MAP<{ddl(type_.keyType)}, {ddl(type_.valueType)}>"
    return type_.simpleString().upper()


def random_type(rng: Random, depth: int = 2, top: bool = True) -> str:
    """The text of a random type, nested no deeper than `depth`.

    No variants: PySpark's `toArrow` cannot give a null one, so Delta Spark's answer could not be had.
    """
    if depth and rng.random() < 0.35:
        kind = rng.choice(["struct", "struct", "array", "map"])
        if kind == "struct":
            names = rng.sample(["x", "Y", "zW", "x.y"], rng.randint(1, 3))
            return f"STRUCT<{', '.join(f'{quoted(name)}: {random_type(rng, depth - 1, False)}' for name in names)}>"
        if kind == "array":
            return f"ARRAY<{random_type(rng, depth - 1, False)}>"
        return f"MAP<{rng.choice(['STRING', 'INT', 'DATE'])}, {random_type(rng, depth - 1, False)}>"
    choices = PRIMITIVES + (_TOP_ONLY if top else [])
    return rng.choice(choices)


def random_partition_type(rng: Random) -> str:
    # A byte of zero cannot be in the name of a folder, so Delta Spark would refuse most binary partitions.
    return rng.choice([name for name in PRIMITIVES if name != "BINARY"])


def literal(rng: Random, field: t.StructField, null: float = 0.15) -> str:
    """A random value for a column, as SQL text."""
    chance = null if field.nullable else 0.0
    if _LENGTH in field.metadata and isinstance(field.dataType, t.StringType):
        return "NULL" if rng.random() < chance else text(rng.choice(["", "a", "ab ", "abc", "é"]))
    return value(rng, field.dataType, chance)


def value(rng: Random, type_: t.DataType, null: float = 0.15) -> str:
    if rng.random() < null:
        return "NULL"
    if isinstance(type_, t.StructType):
        parts = [f"{text(field.name)}, {literal(rng, field)}" for field in type_]
        return f"named_struct({', '.join(parts)})"
    if isinstance(type_, t.ArrayType):
        return f"array({', '.join(value(rng, type_.elementType) for _ in range(rng.randint(0, 3)))})"
    if isinstance(type_, t.MapType):
        keys = {value(rng, type_.keyType, 0) for _ in range(rng.randint(0, 2))}
        return f"map({', '.join(f'{key}, {value(rng, type_.valueType)}' for key in sorted(keys))})"
    return rng.choice(pool(type_))


def pool(type_: t.DataType) -> list[str]:
    """The values that are tried of a type, as SQL text."""
    if isinstance(type_, t.BooleanType):
        return ["true", "false"]
    if type_ in _WHOLE:
        top = 2 ** _WHOLE[type_]
        return [f"CAST('{number}' AS {ddl(type_)})" for number in (0, 1, 2, 3, 5, 8, -1, 100, top - 1, -top)]
    if isinstance(type_, (t.FloatType, t.DoubleType)):
        return [f"CAST('{number}' AS {ddl(type_)})" for number in _FLOATS]
    if isinstance(type_, t.DecimalType):
        whole, point = type_.precision - type_.scale, type_.scale
        most = "9" * whole + ("." + "9" * point if point else "")
        least = "0." + "0" * (point - 1) + "1" if point else "7"
        numbers = ["0", "1", "-1", "2.5" if point else "3", most, "-" + most, least]
        return [f"CAST('{number}' AS {ddl(type_)})" for number in numbers]
    if isinstance(type_, t.StringType):
        return [text(words) for words in _TEXTS]
    if isinstance(type_, t.BinaryType):
        return [f"X'{digits}'" for digits in ("", "00", "FF", "00FF80", "616263", "C3A9")]
    if isinstance(type_, t.DateType):
        return [f"DATE'{day}'" for day in _DAYS]
    if isinstance(type_, t.TimestampType):
        return [f"TIMESTAMP'{day} {clock} UTC'" for day in _DAYS[:-1] for clock in _CLOCKS]
    if isinstance(type_, t.TimestampNTZType):
        return [f"TIMESTAMP_NTZ'{day} {clock}'" for day in _DAYS for clock in _CLOCKS]
    raise AssertionError(f"no values for {type_}")
