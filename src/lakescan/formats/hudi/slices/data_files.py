"""What executors must know of Hudi's data files: which slices are merged from base and log files, and how.

A slice without log files is a Parquet file like any other. One with log files is merged by hudi-rs, from nothing but
paths and an instant, so that a task stays a few hundred bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import UnsupportedFeature
from lakescan.formats.hudi.engine import SchemasDiffer, merged, merged_as_they_are
from lakescan.formats.hudi.names import META_COLUMNS, instant_of_base_file, instant_of_log_file
from lakescan.formats.hudi.schema.evolution import FileNames
from lakescan.formats.hudi.slices.log_records import check_base_file, check_log_file
from lakescan.formats.hudi.slices.one_schema import OneSchema
from lakescan.io.storage import Storage
from lakescan.reader.read_plan import undeleted_files


@dataclass(frozen=True)
class HudiFiles:
    """Implements `reader.DataFiles`."""

    storage: Storage
    instant: str
    """Blocks of later commits are not merged."""
    schema: pa.Schema
    """All columns of the table."""
    names: tuple[FileNames, ...] = ()
    """How files of an age name their fields, oldest first."""
    keys: tuple[str, ...] = ()
    """Columns that merging needs besides those that are asked for."""
    nulls_keep_values: bool = False
    """Whether a null in a log record leaves the value as it was."""

    def path(self, file: Mapping[str, Any]) -> str:
        path: str = file["path"]
        return path

    def source(self, file: Mapping[str, Any], source: pa.Schema) -> pa.Schema:
        names = self._names(_written_at(file["path"]))
        return source if names is None else names.rename(source)

    def deleted_rows(self, file: Mapping[str, Any]) -> None:
        return None

    def merged_rows(self, file: Mapping[str, Any], source: pa.Schema) -> Iterator[pa.RecordBatch] | None:
        logs = file["merged_with"]
        if logs is None:
            return None
        rows = self._merged(file["path"], logs, _records(file["expected_records"]), source.names)
        return (_as_floats(batch, source) for batch in rows)

    def plain_files(self, pieces: pa.Table) -> pa.Table:
        is_plain = pa.scalar(False) if self.names else pieces["merged_with"].is_null()
        return undeleted_files(pc.if_else(is_plain, self.storage.plain_paths(pieces["path"]), None))

    def _names(self, instant: str) -> FileNames | None:
        known = [names for names in self.names if names.since <= int(instant or 0)]
        return known[-1] if known and known[-1].names else None

    def _keeps_nested_values(self, columns: list[str]) -> bool:
        """Whether nulls of nested columns keep values: hudi-rs then needs base and log files of the same Arrow types.

        A list in an Avro record may have nulls in it and one in a base file may not, which are two types.
        """
        known = {field.name: field.type for field in self.schema}
        return self.nulls_keep_values and any(name in known and pa.types.is_nested(known[name]) for name in columns)

    def _merged(
        self, path: str, logs: list[str], written: Mapping[str, Mapping[str, int]], columns: list[str]
    ) -> Iterator[pa.RecordBatch]:
        base = _base(path)
        if base:
            wanted = {*columns, *self.keys, *META_COLUMNS}
            check_base_file(self.storage, base, wanted, next(iter(written.get(base, {}).values()), None))
        for log in logs:
            check_log_file(self.storage, log, written.get(log, {}))
        if self._names(_written_at(path)) is None and not (base and self._keeps_nested_values(columns)):
            try:
                yield from merged(self.storage, self.instant, base, logs, columns)
                return
            except SchemasDiffer:
                pass
        if not base:
            raise UnsupportedFeature(
                self.storage.full_path(path),
                "log files without a base file from before a column was changed",
                "Compact the table, then read it.",
            )
        with OneSchema(self.storage, self.schema, self._names).rewritten(base, logs) as place:
            yield from merged_as_they_are(place, self.instant, base, logs, columns)


def _written_at(path: str) -> str:
    name = path.rsplit("/", 1)[-1]
    return instant_of_base_file(name) or instant_of_log_file(name)


def _records(written: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """How many records commits wrote, by file and by instant."""
    records: dict[str, dict[str, int]] = {}
    for one in written:
        records.setdefault(one["file"], {})[one["instant"]] = one["records"]
    return records


def _base(path: str) -> str:
    """The base file of a slice, empty where it has none: its path is then that of its first log file."""
    return "" if instant_of_log_file(path.rsplit("/", 1)[-1]) else path


def _as_floats(batch: pa.RecordBatch, source: pa.Schema) -> pa.RecordBatch:
    """Floats that hudi-rs gives as doubles, because they are doubles by now, as the floats that they were."""
    for at, field in enumerate(batch.schema):
        wanted = source.field(field.name).type if field.name in source.names else field.type
        if pa.types.is_float32(wanted) and pa.types.is_float64(field.type):
            batch = batch.set_column(at, field.with_type(wanted), batch.column(at).cast(wanted))
    return batch
