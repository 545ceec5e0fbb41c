"""The schema that a stream gives its rows in, and which commits fit it.

It is fixed while a query runs. Rows of an older version are given in it with nulls for columns that were added
since. A newer version that adds a column or widens a type stops the stream: after a restart the schema is the
newer one. A column that was renamed, dropped or retyped fits no single schema, and other partition columns are
another layout; only a stream that keeps its schema in a schemaTrackingLocation passes these, one schema at a time.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import SchemaChanged, SchemaTrackingNeeded
from lakescan.formats.delta.changes.schema_changes import ADDED, WIDENED, changes
from lakescan.formats.delta.log.protocol import Metadata
from lakescan.formats.delta.stream.fields import partition_names, source_of
from lakescan.formats.delta.stream.rows import StreamRows
from lakescan.predicate import TRUE
from lakescan.reader.read_plan import ReadPlan
from lakescan.types.columns import empty_structs, member


@dataclass(frozen=True)
class StreamSchema:
    """The metadata of one version, in whose names and types a stream's rows are given."""

    version: int
    metadata: Metadata
    output: pa.Schema
    """What of its schema is wanted."""

    def check(self, location: str, version: int, metadata: Metadata) -> None:
        """An error unless rows of the version can be given in this schema."""
        if _same(metadata, self.metadata):
            return
        newer = version > self.version
        differing = changes(self.metadata, metadata) if newer else changes(metadata, self.metadata)
        breaking = [change.text for change in differing if change.kind not in (ADDED, WIDENED)]
        if breaking:
            raise SchemaTrackingNeeded(location, version, " and ".join(breaking))
        if newer and differing:
            raise SchemaChanged(location, version, " and ".join(change.text for change in differing))

    def differs(self, metadata: Metadata) -> str:
        """What is different in the columns of a newer version; the empty text where nothing is."""
        return " and ".join(change.text for change in changes(self.metadata, metadata))

    def read_plan(self, rows: StreamRows, version: Metadata) -> ReadPlan:
        """How files of a version are read into this schema."""
        own = {field.name for field in rows.own_fields}
        table = pa.schema([field for field in self.output if field.name not in own])
        source = source_of(table, self.metadata, version)
        physical = dict(zip(table.names, source, strict=True)) | {field.name: field for field in rows.own_fields}
        partition = {*partition_names(self.metadata, version).values(), *own - rows.computed.keys()}
        return ReadPlan(
            files=rows.data_files,
            output=self.output,
            schema=self.output,
            source=pa.schema([physical[field.name] for field in self.output]),
            partition_columns=frozenset(partition),
            filter=TRUE,
            skip=TRUE,
            computed=rows.computed,
        )

    def partition(self, rows: StreamRows, files: pa.Table, version: Metadata) -> pa.Table:
        """A version's files with their partition values in the stream's names and types."""
        partition = files["partition"].combine_chunks()
        names = partition_names(self.metadata, version)
        fields = [pa.field(name, self.metadata.schema.field(name).type) for name in names.values()]
        columns = [pc.cast(member(partition, old), field.type) for old, field in zip(names, fields, strict=True)]
        own = [field for field in rows.own_fields if field.name not in rows.computed]
        columns += [member(partition, field.name) for field in own]
        values = (
            pa.StructArray.from_arrays(columns, fields=[*fields, *own]) if columns else empty_structs(len(partition))
        )
        return files.set_column(files.schema.get_field_index("partition"), "partition", values)


def _same(one: Metadata, other: Metadata) -> bool:
    """Whether nothing of what `changes` compares is different."""
    return (one.schema_json, one.mapping_mode, one.partition_columns) == (
        other.schema_json,
        other.mapping_mode,
        other.partition_columns,
    )
