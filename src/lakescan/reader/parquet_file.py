"""One Parquet file seen as the table's columns: what to read of it, and rows in the table's schema out of it.

Only the leaves that the plan needs are read. The file is read one row group at a time, in batches of a bounded
number of bytes, so memory grows neither with the file nor with the width of its rows.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from lakescan.errors import CorruptDataFile, InvalidTimeZone
from lakescan.io.storage import Storage
from lakescan.predicate import TRUE, Column, Predicate, columns_of
from lakescan.reader.align import align_batch, find_field, find_fields, goes_by_text, has_id
from lakescan.reader.dictionaries import is_by_dictionary, with_dictionary
from lakescan.reader.file_checks import (
    NOTHING_SAID,
    Said,
    check_columns,
    check_rows,
    check_size,
    check_values,
    named_damage,
)
from lakescan.reader.rebase import HybridCalendar, hybrid_calendar, leaf_count, rebased
from lakescan.reader.row_groups import LeafColumn, RowGroup, row_groups
from lakescan.reader.zones_before_1900 import old_zone
from lakescan.types.columns import empty_structs
from lakescan.types.schema import is_variant, padded_length

_BATCH_BYTES = 8 << 20
_MOST_ROWS = 1 << 16
_FEWEST_ROWS = 256


@dataclass(frozen=True)
class ParquetRows:
    """An open data file and the table's columns to read from it: `schema`, named `source` in the file.

    Columns of text in `by_dictionary` come as dictionaries where the file stores them so.
    """

    name: str
    file: pq.ParquetFile
    schema: pa.Schema
    source: pa.Schema
    size: int
    content: pa.NativeFile
    by_dictionary: frozenset[str]

    @staticmethod
    def open(
        storage: Storage,
        path: str,
        schema: pa.Schema,
        source: pa.Schema,
        said: Said = NOTHING_SAID,
        by_dictionary: frozenset[str] = frozenset(),
    ) -> "ParquetRows":
        name = storage.full_path(path)
        with named_damage(name):
            content = storage.open(path)
            size = content.size()
            check_size(name, size, said)
            file = _opened(content)
            check_rows(name, file.metadata, said)
            held = file.schema_arrow if any(map(has_id, source)) else pa.schema([])
            if len(held) and not any(map(has_id, held)):
                raise CorruptDataFile(
                    name, "columns are found by their Parquet field id, and none of its columns has one"
                )
        return ParquetRows(name, file, schema, source, size, content, by_dictionary)

    @cached_property
    def _held(self) -> pa.Schema:
        """The file's own schema, which Arrow makes anew from the footer each time."""
        return self.file.schema_arrow

    @cached_property
    def _first_leaves(self) -> list[int]:
        """For each top-level column of the file the number of its first leaf, and the number of all leaves."""
        return list(accumulate((leaf_count(field.type) for field in self._held), initial=0))

    @property
    def num_rows(self) -> int:
        return int(self.file.metadata.num_rows)

    def groups(self, start: int, length: int, skip: Predicate, computed: Collection[str] = ()) -> list[RowGroup]:
        """The row groups of a piece that may have a row for which `skip` is true. Nothing is known of columns that are
        computed: what the file has under such a name need not be their values."""
        with named_damage(self.name):
            whole = start <= 0 and start + length >= self.size
            if not whole or skip != TRUE:
                self._check_columns()
            leaves = {column: leaf for column, leaf in self._leaves(skip).items() if column.path[0] not in computed}
            return row_groups(self.file.metadata, start, length, skip, leaves, whole)

    def batches(self, group: RowGroup) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, all of them, in order."""
        with named_damage(self.name):
            if not self._columns:
                self._check_columns()
                # A count of rows alone rests on what the first column says of them.
                self._check_values(group, range(min(1, self.file.metadata.num_columns)))
                for start in range(0, group.num_rows, _MOST_ROWS):
                    yield self._aligned(empty_structs(min(_MOST_ROWS, group.num_rows - start)))
                return
            read = 0
            rows = self._rows_in_a_batch(group)
            file = self._file_by_dictionary
            batches = file.iter_batches(rows, row_groups=[group.index], columns=self._columns, use_threads=False)
            for batch in batches:
                if not read:
                    # Arrow has looked at these columns by now, so they need no other check.
                    self._check_values(group, self._read_leaves)
                read += batch.num_rows
                yield self._aligned(batch.to_struct_array())
            if read != group.num_rows:
                raise CorruptDataFile(self.name, f"of {group.num_rows} rows of a row group its pages have {read}")

    @cached_property
    def _file_by_dictionary(self) -> pq.ParquetFile:
        """The file, opened so that it gives dictionaries where that is wanted."""
        names = [self._held.field(self._places[at]).name for at in self._by_dictionary]
        return _opened(self.content, self.file.metadata, names) if names else self.file

    @cached_property
    def _by_dictionary(self) -> list[int]:
        """The places of the columns that come as dictionaries."""
        # A CHAR's texts are padded when they are read, so its dictionary does not have them.
        text = [
            at
            for at, field in enumerate(self.schema)
            if field.name in self.by_dictionary and field.type == pa.string() and padded_length(field) is None
        ]
        if not text or self._calendar is not None:
            return []
        self._check_columns()
        return [at for at in text if self._is_coded(at)]

    def _is_coded(self, at: int) -> bool:
        place, leaf = self._places[at], self._leaf(Column((self.schema.field(at).name,)))
        if place is None or leaf is None:
            return False
        stored = self._held.field(place)
        plain = stored.type == pa.string() and "." not in stored.name
        return plain and is_by_dictionary(self.file.metadata, leaf.index)

    def _check_columns(self) -> None:
        """To be called before Arrow is asked for a column of the footer, unless it has begun to read it."""
        _ = self._columns_are_described

    @cached_property
    def _columns_are_described(self) -> bool:
        check_columns(self.file.metadata, self.size)
        return True

    def _check_values(self, group: RowGroup, leaves: Sequence[int]) -> None:
        check_values(self.name, self.file, self.file.metadata.row_group(group.index), leaves)

    @cached_property
    def _places(self) -> list[int | None]:
        """For each column of the schema, which top-level column of the file holds it."""
        return find_fields(self.source, self._held)

    @cached_property
    def _columns(self) -> list[str]:
        """Dotted names of the file's leaves to read."""
        names: list[str] = []
        for at, source in zip(self._places, self.source, strict=True):
            if at is not None:
                field = self._held.field(at)
                names.extend(_leaf_names(field, source, field.name))
        return names

    @cached_property
    def _read_leaves(self) -> list[int]:
        """Where the leaves to read are among the file's."""
        wanted, schema = set(self._columns), self.file.schema
        return [at for at in range(len(schema)) if _is_within(schema.column(at).path, wanted)]

    @cached_property
    def _int96_leaves(self) -> frozenset[int]:
        schema = self.file.schema
        return frozenset(at for at in range(len(schema)) if schema.column(at).physical_type == "INT96")

    @cached_property
    def _calendar(self) -> HybridCalendar | None:
        calendar = hybrid_calendar(self.file.metadata.metadata, bool(self._int96_leaves))
        try:
            _ = calendar and old_zone(calendar.zone)
        except InvalidTimeZone as error:
            raise CorruptDataFile(self.name, "its footer names a time zone that there is not") from error
        return calendar

    def _are_int96(self, place: int) -> list[bool]:
        """Of each leaf that is read of a top-level column whether it is stored in INT96."""
        first, end = self._first_leaves[place], self._first_leaves[place + 1]
        own = self._read_leaves[bisect_left(self._read_leaves, first) : bisect_left(self._read_leaves, end)]
        return [at in self._int96_leaves for at in own]

    def _aligned(self, read: pa.StructArray) -> pa.RecordBatch:
        stored: list[tuple[pa.Array, pa.Field] | None] = []
        type_ = read.type
        for at in self._places:
            if at is None:
                stored.append(None)
                continue
            name = self._held.field(at).name
            index = type_.get_field_index(name)
            if index < 0:
                raise CorruptDataFile(self.name, f"it has more than one column with the name {name}")
            column = read.field(index)
            if self._calendar is not None:
                column = rebased(column, self._calendar, self._are_int96(at))
            stored.append((column, type_.field(index)))
        coded = {at: stored[at] for at in self._by_dictionary}
        plain = [None if at in coded else one for at, one in enumerate(stored)]
        batch = align_batch(self.name, len(read), plain, self.source, self.schema)
        for at, held in coded.items():
            if held is not None:
                batch = with_dictionary(self.name, batch, at, held[0])
        return batch

    def _rows_in_a_batch(self, group: RowGroup) -> int:
        metadata = self.file.metadata.row_group(group.index)
        if metadata.total_byte_size <= _BATCH_BYTES:
            return _MOST_ROWS
        self._check_columns()
        read = sum(metadata.column(at).total_uncompressed_size for at in self._read_leaves)
        width = max(1, int(read) // max(1, group.num_rows))
        return max(_FEWEST_ROWS, min(_MOST_ROWS, _BATCH_BYTES // width))

    def _leaves(self, predicate: Predicate) -> dict[Column, LeafColumn]:
        """Where the predicate's columns are among the file's leaves; only those reached through structs alone."""
        leaves = {column: self._leaf(column) for column in columns_of(predicate)}
        return {column: leaf for column, leaf in leaves.items() if leaf is not None}

    def _leaf(self, column: Column) -> LeafColumn | None:
        # Counted, not looked up by its dotted path: a column `a.b` and the field b of a struct a have the same one.
        at = min(self.schema.get_all_field_indices(column.path[0]), default=None)
        place = None if at is None else self._places[at]
        if at is None or place is None:
            return None
        target, source, field = self.schema.field(at), self.source.field(at), self._held.field(place)
        names, index = [field.name], self._first_leaves[place]
        for part in column.path[1:]:
            if not (pa.types.is_struct(target.type) and pa.types.is_struct(field.type)):
                return None
            at = min(target.type.get_all_field_indices(part), default=None)
            place = None if at is None else find_field(source.type.field(at), field.type)
            if at is None or place is None:
                return None
            index += sum(leaf_count(field.type.field(before).type) for before in range(place))
            target, source, field = target.type.field(at), source.type.field(at), field.type.field(place)
            names.append(field.name)
        if pa.types.is_nested(field.type) or self.file.schema.column(index).path != ".".join(names):
            return None
        if self._calendar is not None and (pa.types.is_date(target.type) or pa.types.is_timestamp(target.type)):
            # The footer's bounds are in the file's own calendar.
            return None
        if goes_by_text(field.type, source, target.type):
            # The footer's bounds are of the numbers, and these have another order.
            return None
        return LeafColumn(index, target.type)


def _opened(
    content: pa.NativeFile, metadata: pq.FileMetaData | None = None, by_dictionary: Sequence[str] = ()
) -> pq.ParquetFile:
    # Buffered beforehand: what a row group needs is asked of a store at once, neighbours in one request.
    return pq.ParquetFile(
        content,
        metadata=metadata,
        read_dictionary=list(by_dictionary),
        coerce_int96_timestamp_unit="us",
        pre_buffer=True,
        page_checksum_verification=True,
    )


def _is_within(path: str, columns: Collection[str]) -> bool:
    """Whether a leaf, by its dotted path, is one of the columns or inside one."""
    at = len(path)
    while at > 0:
        if path[:at] in columns:
            return True
        at = path.rfind(".", 0, at)
    return False


def _leaf_names(field: pa.Field, source: pa.Field, path: str) -> list[str]:
    """The parts of a file's column that `source` asks for; all of it where it is not a struct with fields to choose."""
    if is_variant(source.type) or not (pa.types.is_struct(field.type) and pa.types.is_struct(source.type)):
        return [path]
    names: list[str] = []
    for child, at in zip(source.type, find_fields(source.type, field.type), strict=True):
        if at is not None:
            inner = field.type.field(at)
            names.extend(_leaf_names(inner, child, f"{path}.{inner.name}"))
    # A struct none of whose wanted fields are in the file still says which rows are null.
    return names or [path]
