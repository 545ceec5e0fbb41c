"""A table's partitions for SQL: `SHOW PARTITIONS`, with a part of a partition or without.

A partition is what the live files of the table's version say; one without files is none. Statements that would
change partitions are refused.
"""

import json

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from lakescan.errors import ReadOnly
from lakescan.scan.snapshot import Snapshot
from lakescan.spark.bridge import JavaObject, Proxy


class ShownPartitions(Proxy):
    """Implements Spark's `SupportsPartitionManagement` for a snapshot's table."""

    snapshot: Snapshot

    def partitionSchema(self) -> JavaObject:
        return self.bridge.data_type(self._partition_type().json())

    def listPartitionIdentifiers(self, names: JavaObject, values: JavaObject) -> JavaObject:
        """Every partition that has these values in these columns, as rows of the partition's columns."""
        schema = self._partition_type()
        rows = self.bridge.internal_rows(self._distinct(), schema)
        wanted = [(schema.names.index(name), schema[name].dataType.json()) for name in names]

        def matches(row: JavaObject) -> bool:
            types = [self.bridge.data_type(json_) for _, json_ in wanted]
            return all(
                row.get(place, type_) == values.get(at, type_)
                for at, ((place, _), type_) in enumerate(zip(wanted, types, strict=True))
            )

        chosen = [row for row in rows if matches(row)] if wanted else list(rows)
        return self.bridge.array("org.apache.spark.sql.catalyst.InternalRow", chosen)

    def partitionExists(self, values: JavaObject) -> bool:
        names = self.bridge.array("java.lang.String", self._partition_type().names)
        return len(self.listPartitionIdentifiers(names, values)) > 0

    def loadPartitionMetadata(self, values: JavaObject) -> JavaObject:
        return self.bridge.java_map({})

    def createPartition(self, *arguments: JavaObject) -> None:
        raise self._refusal("ADD PARTITION")

    def dropPartition(self, values: JavaObject) -> bool:
        raise self._refusal("DROP PARTITION")

    def purgePartition(self, values: JavaObject) -> bool:
        raise self._refusal("DROP PARTITION PURGE")

    def renamePartition(self, *arguments: JavaObject) -> bool:
        raise self._refusal("RENAME PARTITION")

    def truncatePartition(self, values: JavaObject) -> bool:
        raise self._refusal("TRUNCATE PARTITION")

    def replacePartitionMetadata(self, *arguments: JavaObject) -> None:
        raise self._refusal("ALTER PARTITION")

    def _refusal(self, statement: str) -> ReadOnly:
        return ReadOnly(f"{self.snapshot.format}.`{self.snapshot.location}`", statement)

    def _partition_type(self) -> StructType:
        schema = StructType.fromJson(json.loads(self.snapshot.schema_json))
        return StructType([schema[name] for name in self.snapshot.partition_columns])

    def _distinct(self) -> pa.Table:
        """The partitions, a row each, in the columns' order."""
        values = self.snapshot.files()["partition"].combine_chunks()
        columns = {name: pc.struct_field(values, [name]) for name in self.snapshot.partition_columns}
        return pa.table(columns).group_by(list(columns)).aggregate([]).select(list(columns))
