"""What Spark asks of the Variants of a scan, and how it is answered."""

import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql.types import DataType, StructType

from lakescan.spark.bridge.jvm import Bridge
from lakescan.spark.bridge.proxy import JavaObject


def wanted_of_variants(
    bridge: Bridge, extractions: JavaObject
) -> Iterator[tuple[tuple[str, ...], DataType, dict[str, Any]]]:
    """The column of each, the type that is wanted and what else Spark says of it."""
    struct = bridge.java_class("org.apache.spark.sql.types.StructType")
    for extraction in extractions:
        # Only as a field has a type a text that names its collation.
        wanted = struct().add("wanted", extraction.expectedDataType()).json()
        type_ = StructType.fromJson(json.loads(wanted)).fields[0].dataType
        yield tuple(extraction.columnName()), type_, json.loads(extraction.metadata().json())


def all_or_none(bridge: Bridge, taken: bool, count: int) -> JavaObject:
    """The answer that so many of them are taken over, or are not."""
    gateway: Any = bridge.gateway
    array = gateway.new_array(gateway.jvm.boolean, count)
    for at in range(count):
        array[at] = taken
    return array
