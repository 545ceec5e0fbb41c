"""A stream of a Hudi table as a query was given it: the table, the options, and the schema that its rows will have.

The schema is that of the newest instant and is fixed here, once: rows of older commits are given in it, and a later
commit that changes it stops the stream, which goes on with the new schema when it is started again.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from lakescan.formats.hudi.snapshot import Description, HudiSnapshot
from lakescan.formats.hudi.stream.hudi_stream import HudiStream
from lakescan.formats.hudi.stream.options import StreamOptions
from lakescan.formats.hudi.table import HudiTable
from lakescan.io.storage import Storage
from lakescan.stream.stream import Limits


@dataclass(frozen=True)
class PinnedHudiStream:
    """Implements `scan.stream.PinnedStream`."""

    storage: Storage
    zone: str
    options: StreamOptions
    instant: str
    description: Description

    @staticmethod
    def of(table: HudiTable, options: Mapping[str, str], seen: HudiSnapshot | None = None) -> "PinnedHudiStream":
        parsed = StreamOptions.of(options)
        newest = seen or table.snapshot()
        return PinnedHudiStream(table.storage, table.zone, parsed, newest.instant, newest.describe())

    @property
    def schema_json(self) -> str:
        return self.description.schema_json

    @property
    def schema(self) -> pa.Schema:
        return self.description.schema

    @property
    def limits(self) -> Limits:
        return self.options.limits

    @property
    def needs_admission_control(self) -> str | None:
        if not self.options.limited_by_user:
            return None
        return "maxFilesPerTrigger" if self.options.limits.files else "maxBytesPerTrigger"

    def open(self, output: pa.Schema) -> HudiStream:
        table = HudiTable(self.storage, self.zone)
        table.refuse_changes_without_meta_fields()
        return HudiStream(table, self.options, self.instant, self.description, output)
