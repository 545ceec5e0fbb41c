import json

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    VariantType,
)

from lakescan.show.schema import schema_tree, type_text

SCHEMA = (
    StructType()
    .add("id", LongType(), nullable=False)
    .add("price", DecimalType(10, 2))
    .add("tags", ArrayType(StructType().add("name", StringType()).add("n", ArrayType(IntegerType()))))
    .add("notes", MapType(StringType(), StructType().add("by", MapType(IntegerType(), StringType(), False))))
    .add("inside", StructType().add("deep", StructType().add("x", ByteType())))
    .add("variant", VariantType())
)


def test_a_schema_is_printed_as_spark_prints_it() -> None:
    assert schema_tree(SCHEMA.json()) == SCHEMA.treeString().rstrip("\n")


def test_a_type_in_one_line_is_written_as_sql_writes_it() -> None:
    for field, written in zip(SCHEMA, json.loads(SCHEMA.json())["fields"], strict=True):
        assert type_text(written["type"]) == field.dataType.simpleString()


def test_a_name_that_a_terminal_would_act_on_is_shown_by_its_codes() -> None:
    hostile = {"type": "struct", "fields": [{"name": "\x1b[2Ja\n", "type": "long", "nullable": True, "metadata": {}}]}
    assert schema_tree(json.dumps(hostile)) == "root\n |-- \\x1b[2Ja\\n: long (nullable = true)"
