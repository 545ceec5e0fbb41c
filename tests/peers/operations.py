"""What can happen to a table: one function for each operation, run by Delta Spark on a table in mid-walk.

An operation chooses at random what it does from what the table is at the moment (its schema, its versions), and
gives a sentence that says what it did. `NotHere` means that the table offers nothing to do it to.
"""

from collections.abc import Callable
from random import Random
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from lakescan.formats.delta.log.protocol import SUPPORTED_FEATURES
from tests.peers.session import delta_log
from tests.peers.values import MAPPED_NAMES, PLAIN_NAMES, ddl, literal, quoted, random_partition_type, random_type, text


class NotHere(Exception):
    """The operation has nothing to work on in this table."""


class Table(Protocol):
    """The table in mid-walk."""

    spark: SparkSession
    rng: Random
    path: str
    key: str
    """A column of whole numbers that is never dropped."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> t.StructType: ...

    @property
    def partition_columns(self) -> list[str]: ...

    @property
    def mapping(self) -> str: ...

    @property
    def versions(self) -> int: ...

    def has_property(self, name: str, value: str) -> bool: ...

    def key_at(self, version: int) -> str: ...

    def sql(self, statement: str) -> DataFrame: ...

    def move(self) -> str: ...


Operation = Callable[[Table], str]
OPERATIONS: dict[str, tuple[Operation, int]] = {}


def operation(weight: int, needs: str | None = None) -> Callable[[Operation], Operation]:
    """Makes a function an operation of the walk, unless it needs a table feature that Lakescan does not read."""

    def register(function: Operation) -> Operation:
        if needs is None or needs in SUPPORTED_FEATURES:
            OPERATIONS[function.__name__] = (function, weight)
        return function

    return register


# Rows and conditions


def rows_sql(table: Table, count: int, fields: list[t.StructField] | None = None, keys: list[int] | None = None) -> str:
    """A query that gives random rows with the table's columns."""
    fields = list(table.schema) if fields is None else fields
    rng, rows = table.rng, []
    for at in range(count):
        values = []
        for field in fields:
            known = field.name == table.key
            values.append(str(keys[at] if keys else rng.randrange(30)) if known else literal(rng, field))
        rows.append(f"({', '.join(values)})")
    names = [f"c{at}" for at in range(len(fields))]
    shown = [
        f"CAST({name} AS {ddl(field.dataType)}) AS {quoted(field.name)}"
        for name, field in zip(names, fields, strict=True)
    ]
    return f"SELECT {', '.join(shown)} FROM VALUES {', '.join(rows)} AS v({', '.join(names)})"


def leaves(schema: t.StructType) -> list[tuple[str, t.StructField]]:
    """Columns that can be compared, reached through structs: their quoted path and field."""
    columns = []
    for field in schema:
        if isinstance(field.dataType, t.StructType):
            inner = leaves(field.dataType)
            columns += [(f"{quoted(field.name)}.{path}", leaf) for path, leaf in inner]
        elif not isinstance(field.dataType, (t.ArrayType, t.MapType)) and field.dataType.typeName() != "variant":
            columns.append((quoted(field.name), field))
    return columns


def condition(rng: Random, schema: t.StructType, prefix: str = "", depth: int = 1) -> str:
    """A random condition over the columns, as SQL text."""
    if depth and rng.random() < 0.3:
        left, right = (condition(rng, schema, prefix, depth - 1) for _ in range(2))
        return rng.choice([f"({left}) AND ({right})", f"({left}) OR ({right})", f"NOT ({left})"])
    path, field = rng.choice(leaves(schema))
    path, constant = prefix + path, literal(rng, field, 0)
    kinds = ["=", "<", ">=", "<>", "<=>", "<=", ">", "null", "not null", "in", "between"]
    if isinstance(field.dataType, t.StringType):
        kinds += ["like", "like"]
    kind = rng.choice(kinds)
    if kind in ("null", "not null"):
        return f"{path} IS {kind.upper()}"
    if kind == "in":
        return f"{path} IN ({constant}, {literal(rng, field, 0)}, {literal(rng, field, 0.2)})"
    if kind == "between":
        return f"{path} BETWEEN {constant} AND {literal(rng, field, 0)}"
    if kind == "like":
        return f"{path} LIKE {text(rng.choice(['a%', 'x%', 'Z%', '日%', '%']))}"
    return f"{path} {kind} {constant}"


def new_name(table: Table, taken: list[str]) -> str:
    pool = PLAIN_NAMES if table.mapping == "none" else MAPPED_NAMES
    free = [name for name in pool if name.lower() not in {other.lower() for other in taken}]
    if not free:
        raise NotHere
    return table.rng.choice(free)


def structs(schema: t.StructType) -> list[tuple[str, t.StructType]]:
    """Every struct inside a column, also within arrays and maps: how ALTER TABLE names it, and its type."""
    nested: list[tuple[str, t.StructType]] = []

    def visit(path: str, type_: t.DataType) -> None:
        if isinstance(type_, t.StructType):
            nested.append((path, type_))
            for field in type_:
                visit(f"{path}.{quoted(field.name)}", field.dataType)
        elif isinstance(type_, t.ArrayType):
            visit(f"{path}.element", type_.elementType)
        elif isinstance(type_, t.MapType):
            visit(f"{path}.value", type_.valueType)

    for field in schema:
        visit(quoted(field.name), field.dataType)
    return nested


def set_property(table: Table, name: str, value: str) -> str:
    if table.has_property(name, value):
        raise NotHere
    table.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ('{name}' = '{value}')")
    return f"set {name} to {value}"


# Rows come and go


@operation(16)
def insert(table: Table) -> str:
    count = table.rng.randint(1, 8)
    table.sql(f"INSERT INTO {table.name} {rows_sql(table, count)}")
    return f"insert {count} rows"


@operation(4)
def insert_many(table: Table) -> str:
    """Enough rows for several row groups (the session keeps them small)."""
    count, times = table.rng.randint(3, 8), table.rng.choice([40, 100, 200])
    query = f"SELECT r.* FROM ({rows_sql(table, count)}) r CROSS JOIN range({times})"
    table.spark.sql(query).coalesce(1).write.format("delta").mode("append").save(table.path)
    return f"append {count} rows {times} times"


@operation(3)
def insert_some_columns(table: Table) -> str:
    fields = [f for f in table.schema if f.name == table.key or not f.nullable or table.rng.random() < 0.5]
    names = ", ".join(quoted(field.name) for field in fields)
    table.sql(f"INSERT INTO {table.name} ({names}) {rows_sql(table, 4, fields)}")
    return f"insert into {names}"


@operation(4)
def insert_new_column(table: Table) -> str:
    name = new_name(table, table.schema.names)
    frame = table.spark.sql(rows_sql(table, 5))
    type_ = random_type(table.rng, top=False)
    added = t.StructField(name, table.spark.sql(f"SELECT CAST(NULL AS {type_}) AS x").schema[0].dataType)
    constant = literal(table.rng, added, 0.1)
    frame = frame.selectExpr("*", f"CAST({constant} AS {type_}) AS {quoted(name)}")
    frame.write.format("delta").mode("append").option("mergeSchema", "true").save(table.path)
    return f"append with a new column {name} {type_}"


@operation(9)
def delete(table: Table) -> str:
    where = condition(table.rng, table.schema)
    table.sql(f"DELETE FROM {table.name} WHERE {where}")
    return f"delete where {where}"


@operation(7)
def delete_some_keys(table: Table) -> str:
    where = f"{quoted(table.key)} % {table.rng.randint(2, 6)} = {table.rng.randint(0, 3)}"
    table.sql(f"DELETE FROM {table.name} WHERE {where}")
    return f"delete where {where}"


@operation(1)
def delete_all(table: Table) -> str:
    table.sql(f"DELETE FROM {table.name}")
    return "delete every row"


@operation(9)
def update(table: Table) -> str:
    fields = [field for field in table.schema if field.name != table.key]
    if not fields:
        raise NotHere
    rng = table.rng
    chosen = rng.sample(fields, min(len(fields), rng.randint(1, 2)))
    changes = [f"{quoted(field.name)} = CAST({literal(rng, field)} AS {ddl(field.dataType)})" for field in chosen]
    where = rng.choice([condition(rng, table.schema), f"{quoted(table.key)} % 4 = {rng.randint(0, 3)}"])
    table.sql(f"UPDATE {table.name} SET {', '.join(changes)} WHERE {where}")
    return f"update {', '.join(changes)} where {where}"


@operation(9)
def merge(table: Table) -> str:
    rng, key = table.rng, quoted(table.key)
    keys = rng.sample(range(34), rng.randint(1, 8))
    clauses = []
    if rng.random() < 0.4:
        clauses.append(f"WHEN MATCHED AND {condition(rng, table.schema, 't.')} THEN DELETE")
    if rng.random() < 0.7:
        clauses.append("WHEN MATCHED THEN UPDATE SET *")
    if rng.random() < 0.8 or not clauses:
        clauses.append("WHEN NOT MATCHED THEN INSERT *")
    if rng.random() < 0.2:
        clauses.append(f"WHEN NOT MATCHED BY SOURCE AND t.{key} % 5 = 0 THEN DELETE")
    table.sql(
        f"MERGE INTO {table.name} t USING ({rows_sql(table, len(keys), keys=keys)}) s "
        f"ON t.{key} = s.{key} {' '.join(clauses)}"
    )
    return f"merge {keys}: {' '.join(clauses)}"


@operation(2)
def overwrite(table: Table) -> str:
    table.spark.sql(rows_sql(table, 8)).write.format("delta").mode("overwrite").save(table.path)
    return "overwrite with 8 rows"


@operation(2)
def overwrite_schema(table: Table) -> str:
    """A new schema, and new partition columns, for the same table."""
    rng = table.rng
    kept = [field for field in table.schema if field.name == table.key or rng.random() < 0.5]
    frame = table.spark.sql(rows_sql(table, 8, kept))
    partition = rng.random() < 0.5
    if partition:
        name, type_ = new_name(table, [field.name for field in kept]), random_partition_type(rng)
        field = table.spark.sql(f"SELECT CAST(NULL AS {type_}) AS x").schema[0]
        frame = frame.selectExpr("*", f"CAST({literal(rng, field)} AS {type_}) AS {quoted(name)}")
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    (writer.partitionBy(name) if partition else writer.partitionBy([])).save(table.path)
    return f"overwrite with the columns {frame.columns}" + (f" partitioned by {name}" if partition else "")


@operation(3)
def overwrite_some_partitions(table: Table) -> str:
    if not table.partition_columns:
        raise NotHere
    writer = table.spark.sql(rows_sql(table, 4)).write.format("delta").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").save(table.path)
    return "overwrite the partitions of 4 rows"


@operation(4)
def replace_where(table: Table) -> str:
    low = table.rng.randrange(20)
    where = f"{quoted(table.key)} >= {low} AND {quoted(table.key)} < {low + 8}"
    keys = [table.rng.randrange(low, low + 8) for _ in range(4)]
    frame = table.spark.sql(rows_sql(table, 4, keys=keys))
    frame.write.format("delta").mode("overwrite").option("replaceWhere", where).save(table.path)
    return f"replace where {where}"


# The schema changes


@operation(6)
def add_column(table: Table) -> str:
    rng, names = table.rng, table.schema.names
    name, type_ = new_name(table, names), random_type(rng)
    where = rng.choice(["", "FIRST", f"AFTER {quoted(rng.choice(names))}"])
    table.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({quoted(name)} {type_} {where})")
    return f"add column {name} {type_} {where}"


@operation(4)
def add_nested_column(table: Table) -> str:
    candidates = structs(table.schema)
    if not candidates:
        raise NotHere
    path, struct = table.rng.choice(candidates)
    name, type_ = new_name(table, struct.names), random_type(table.rng, 1, False)
    table.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({path}.{quoted(name)} {type_})")
    return f"add {path}.{name} {type_}"


@operation(6)
def rename_column(table: Table) -> str:
    if table.mapping == "none":
        raise NotHere
    old, new = table.rng.choice(table.schema.names), new_name(table, table.schema.names)
    table.sql(f"ALTER TABLE {table.name} RENAME COLUMN {quoted(old)} TO {quoted(new)}")
    if old == table.key:
        table.key = new
    return f"rename {old} to {new}"


@operation(3)
def rename_nested_column(table: Table) -> str:
    candidates = structs(table.schema)
    if table.mapping == "none" or not candidates:
        raise NotHere
    path, struct = table.rng.choice(candidates)
    old, new = table.rng.choice(struct.names), new_name(table, struct.names)
    table.sql(f"ALTER TABLE {table.name} RENAME COLUMN {path}.{quoted(old)} TO {quoted(new)}")
    return f"rename {path}.{old} to {new}"


@operation(5)
def drop_column(table: Table) -> str:
    fixed = {table.key, *table.partition_columns}
    free = [name for name in table.schema.names if name not in fixed]
    if table.mapping == "none" or not free:
        raise NotHere
    name = table.rng.choice(free)
    table.sql(f"ALTER TABLE {table.name} DROP COLUMN {quoted(name)}")
    return f"drop {name}"


@operation(3)
def drop_nested_column(table: Table) -> str:
    candidates = [(path, struct) for path, struct in structs(table.schema) if len(struct) > 1]
    if table.mapping == "none" or not candidates:
        raise NotHere
    path, struct = table.rng.choice(candidates)
    name = table.rng.choice(struct.names)
    table.sql(f"ALTER TABLE {table.name} DROP COLUMN {path}.{quoted(name)}")
    return f"drop {path}.{name}"


@operation(3)
def drop_and_add_again(table: Table) -> str:
    """A dropped column's name, given to a new column: the old values must not come back."""
    said = drop_column(table)
    name = said.removeprefix("drop ")
    type_ = random_type(table.rng)
    table.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({quoted(name)} {type_})")
    return f"{said} and add it as {type_}"


@operation(2)
def drop_and_add_nested_again(table: Table) -> str:
    """The same inside a struct, also one within an array or a map; the type may be the old one."""
    candidates = [(path, struct) for path, struct in structs(table.schema) if len(struct) > 1]
    if table.mapping == "none" or not candidates:
        raise NotHere
    path, struct = table.rng.choice(candidates)
    field = table.rng.choice(list(struct))
    type_ = table.rng.choice([ddl(field.dataType), random_type(table.rng, 1, False)])
    table.sql(f"ALTER TABLE {table.name} DROP COLUMN {path}.{quoted(field.name)}")
    table.sql(f"ALTER TABLE {table.name} ADD COLUMNS ({path}.{quoted(field.name)} {type_})")
    return f"drop {path}.{field.name} and add it as {type_}"


@operation(3)
def swap_names(table: Table) -> str:
    """Two columns, or two fields of a struct, take each other's name and, at times, place."""
    places = [("", table.schema), *((f"{path}.", struct) for path, struct in structs(table.schema))]
    places = [(prefix, struct) for prefix, struct in places if len(struct) > 1]
    if table.mapping == "none" or not places:
        raise NotHere
    prefix, struct = table.rng.choice(places)
    one, other = table.rng.sample(struct.names, 2)
    for old, new in ((one, "for now"), (other, one), ("for now", other)):
        table.sql(f"ALTER TABLE {table.name} RENAME COLUMN {prefix}{quoted(old)} TO {quoted(new)}")
    if not prefix and table.key in (one, other):
        table.key = other if table.key == one else one
    if table.rng.random() < 0.5:
        table.sql(f"ALTER TABLE {table.name} ALTER COLUMN {prefix}{quoted(struct.names[0])} FIRST")
    return f"swap the names {prefix}{one} and {other}"


@operation(3)
def move_column(table: Table) -> str:
    names = table.schema.names
    name = table.rng.choice(names)
    others = [other for other in names if other != name]
    where = table.rng.choice(["FIRST", *[f"AFTER {quoted(other)}" for other in others]])
    table.sql(f"ALTER TABLE {table.name} ALTER COLUMN {quoted(name)} {where}")
    return f"move {name} {where}"


@operation(1)
def allow_nulls(table: Table) -> str:
    strict = [field.name for field in table.schema if not field.nullable]
    if not strict:
        raise NotHere
    table.sql(f"ALTER TABLE {table.name} ALTER COLUMN {quoted(strict[0])} DROP NOT NULL")
    return f"allow nulls in {strict[0]}"


@operation(5)
def map_columns(table: Table) -> str:
    """Column mapping switched on in mid-life: files from before have no ids and logical names."""
    if table.mapping != "none":
        raise NotHere
    table.sql(
        f"ALTER TABLE {table.name} SET TBLPROPERTIES "
        "('delta.columnMapping.mode' = 'name', 'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
    )
    return "map columns by name"


_WIDER = {
    "tinyint": ["SMALLINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(20,3)"],
    "smallint": ["INT", "BIGINT", "DOUBLE", "DECIMAL(12,2)"],
    "int": ["BIGINT", "DOUBLE", "DECIMAL(14,4)"],
    "bigint": ["DECIMAL(24,4)", "DECIMAL(20,0)"],
    "float": ["DOUBLE"],
    "date": ["TIMESTAMP_NTZ"],
    "decimal(4,1)": ["DECIMAL(10,1)", "DECIMAL(20,5)"],
    "decimal(10,2)": ["DECIMAL(12,2)", "DECIMAL(20,4)"],
    "decimal(18,9)": ["DECIMAL(19,9)", "DECIMAL(38,12)"],
}


@operation(8, needs="typeWidening")
def widen_type(table: Table) -> str:
    """A column, also one inside a struct, an array or a map, becomes wider."""
    candidates: list[tuple[str, str]] = []

    def visit(path: str, type_: t.DataType) -> None:
        if isinstance(type_, t.StructType):
            for field in type_:
                visit(f"{path}.{quoted(field.name)}", field.dataType)
        elif isinstance(type_, t.ArrayType):
            visit(f"{path}.element", type_.elementType)
        elif isinstance(type_, t.MapType):
            visit(f"{path}.key", type_.keyType)
            visit(f"{path}.value", type_.valueType)
        elif type_.simpleString() in _WIDER:
            candidates.append((path, type_.simpleString()))

    for field in table.schema:
        if field.name != table.key:
            visit(quoted(field.name), field.dataType)
    if not candidates:
        raise NotHere
    path, old = table.rng.choice(candidates)
    new = table.rng.choice(_WIDER[old])
    if not table.has_property("delta.enableTypeWidening", "true"):
        set_property(table, "delta.enableTypeWidening", "true")
    table.sql(f"ALTER TABLE {table.name} ALTER COLUMN {path} TYPE {new}")
    return f"widen {path} from {old} to {new}"


# The files and the log change


@operation(5)
def optimize(table: Table) -> str:
    table.sql(f"OPTIMIZE {table.name}")
    return "optimize"


@operation(2)
def order_by_curve(table: Table) -> str:
    if table.key in table.partition_columns:
        raise NotHere
    table.sql(f"OPTIMIZE {table.name} ZORDER BY ({quoted(table.key)})")
    return "optimize along a z-order curve"


@operation(3)
def purge(table: Table) -> str:
    table.sql(f"REORG TABLE {table.name} APPLY (PURGE)")
    return "purge deleted rows"


@operation(5)
def restore(table: Table) -> str:
    version = table.rng.randrange(table.versions)
    table.sql(f"RESTORE TABLE {table.name} TO VERSION AS OF {version}")
    table.key = table.key_at(version)
    return f"restore version {version}"


@operation(2)
def shallow_clone(table: Table) -> str:
    """The walk goes on in a clone, whose log points at the files of the table it came from."""
    source, version = table.name, table.rng.randrange(table.versions)
    key = table.key_at(version)
    target = table.move()
    table.sql(f"CREATE TABLE {target} SHALLOW CLONE {source} VERSION AS OF {version}")
    table.key = key
    return f"go on in a shallow clone of version {version}"


@operation(7)
def checkpoint(table: Table) -> str:
    delta_log(table.spark, table.path).checkpoint()
    return "checkpoint"


@operation(4)
def checkpoint_policy(table: Table) -> str:
    return set_property(table, "delta.checkpointPolicy", table.rng.choice(["v2", "v2", "classic"]))


@operation(5)
def toggle_deletion_vectors(table: Table) -> str:
    return set_property(table, "delta.enableDeletionVectors", table.rng.choice(["true", "true", "false"]))


@operation(4)
def set_other_property(table: Table) -> str:
    name, values = table.rng.choice(
        [
            ("delta.checkpoint.writeStatsAsStruct", ["true", "false"]),
            ("delta.checkpoint.writeStatsAsJson", ["true", "false"]),
            ("delta.dataSkippingNumIndexedCols", ["0", "1", "3", "-1"]),
            ("delta.enableChangeDataFeed", ["true", "false"]),
            ("delta.enableInCommitTimestamps", ["true"]),
            ("delta.enableRowTracking", ["true"]),
            ("delta.randomizeFilePrefixes", ["true", "false"]),
            ("delta.checkpointInterval", ["1", "2", "5"]),
        ]
    )
    return set_property(table, name, table.rng.choice(values))
