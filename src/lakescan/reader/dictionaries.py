"""Text that a file stores by dictionary stays so until a filter has chosen its rows, and rows are grouped.

A filter then looks at each text of the dictionary once, and only texts of rows that pass, or of groups, are made.
Whether a column is read so changes no row: it is done where it pays, and an index that is in no dictionary is damage
like any other.
"""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakescan.errors import CorruptDataFile

# Writers give a dictionary up beyond this, and an index takes no more bytes than that where it pays.
_DICTIONARY_BYTES, _INDEX_BYTES = 1 << 20, 2


def is_by_dictionary(metadata: pq.FileMetaData, leaf: int) -> bool:
    """Whether, by its size, nearly all of a column of a file is indices into dictionaries."""
    chunks = [metadata.row_group(at).column(leaf) for at in range(metadata.num_row_groups)]
    return all(
        chunk.has_dictionary_page
        and chunk.total_uncompressed_size <= _DICTIONARY_BYTES + _INDEX_BYTES * chunk.num_values
        for chunk in chunks
    )


def with_dictionary(name: str, batch: pa.RecordBatch, at: int, column: pa.DictionaryArray) -> pa.RecordBatch:
    """The batch with this in the place of a column of its texts."""
    ends = pc.min_max(column.indices).as_py()
    if ends["max"] is not None and not 0 <= ends["min"] <= ends["max"] < len(column.dictionary):
        raise CorruptDataFile(name, f"its column {batch.schema.names[at]} has indices that are in no dictionary")
    return batch.set_column(at, batch.schema.field(at).with_type(column.type), column)


def decoded(batch: pa.RecordBatch, kept: Collection[str] = ()) -> pa.RecordBatch:
    """The batch with every dictionary's texts in their rows, but for columns that are kept as they are."""
    for at, field in enumerate(batch.schema):
        column = batch.column(at)
        if isinstance(column, pa.DictionaryArray) and field.name not in kept:
            batch = batch.set_column(at, field.with_type(column.type.value_type), column.dictionary_decode())
    return batch


def with_types_of(columns: Collection[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """The columns by the names in a schema, in their own types: some may be dictionaries."""
    fields = [field.with_type(column.type) for field, column in zip(schema, columns, strict=True)]
    return pa.RecordBatch.from_arrays(list(columns), schema=pa.schema(fields))
