"""Columns of a data file in the table's exact type and names, however the file was written.

Fields are found by id where the table says so, by name otherwise; a field that the file lacks is null; a type that
widens to the table's (`widening`) is widened; a file in any other type is an error, and so is a value that does not
fit: nothing is ever cut; a CHAR is padded to its length. Structs, lists and maps are rebuilt around their aligned
children, sharing buffers.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.errors import SchemaMismatch
from lakescan.reader.variant import whole_variants
from lakescan.types.columns import empty_structs
from lakescan.types.schema import FIELD_ID, WIDEN_BY_TEXT, has_padding, is_variant, padded
from lakescan.types.widening import is_read_as, is_read_by_text


def has_id(field: pa.Field) -> bool:
    return FIELD_ID in (field.metadata or {})


def find_field(source: pa.Field, fields: Iterable[pa.Field]) -> int | None:
    """Where the file holds a field: by its id, or by its name, exactly or else in another case."""
    return find_fields([source], fields)[0]


def find_fields(sources: Iterable[pa.Field], fields: Iterable[pa.Field]) -> list[int | None]:
    """The same for several, in one pass over the file's fields: of a wide table both are many."""
    ids: dict[bytes, int] = {}
    names: dict[str, int] = {}
    folded: dict[str, int] = {}
    for at, field in enumerate(fields):
        names.setdefault(field.name, at)
        folded.setdefault(field.name.lower(), at)
        if field.metadata and FIELD_ID in field.metadata:
            ids.setdefault(field.metadata[FIELD_ID], at)
    places = []
    for source in sources:
        wanted_id = (source.metadata or {}).get(FIELD_ID)
        by_name = names.get(source.name, folded.get(source.name.lower()))
        places.append(by_name if wanted_id is None else ids.get(wanted_id))
    return places


def align_batch(
    name: str, count: int, stored: list[tuple[pa.Array, pa.Field] | None], source: pa.Schema, schema: pa.Schema
) -> pa.RecordBatch:
    """`count` rows of the file `name` in the table's schema; `stored` is each column as the file has it, or None."""
    columns = []
    for held, physical, target in zip(stored, source, schema, strict=True):
        if held is None:
            columns.append(pa.nulls(count, target.type))
            continue
        try:
            columns.append(align(*held, physical, target))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SchemaMismatch(name, target.name, str(held[1].type), str(target.type)) from error
    if not columns:
        return pa.RecordBatch.from_struct_array(empty_structs(count))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def align(array: pa.Array, stored: pa.Field, source: pa.Field, target: pa.Field) -> pa.Array:
    """`array`, which is the file's field `stored`, as the table's field `target`; `source` is the same
    field of the physical schema."""
    wanted = target.type
    if not pa.types.is_nested(wanted):
        return padded(_align_value(array, wanted, source), target)
    if is_variant(wanted):
        return whole_variants(array)
    # The same names in the file mean the same fields only where the table's own names are the files' names.
    if array.type.equals(wanted) and source.type.equals(wanted, check_metadata=True) and not has_padding(wanted):
        return array
    if pa.types.is_struct(wanted) and pa.types.is_struct(array.type):
        return _align_struct(array, stored, source, target)
    if pa.types.is_map(wanted) and pa.types.is_map(array.type):
        return _align_map(array, stored, source, target)
    if _is_list(wanted) and _is_list(array.type):
        return _align_list(array, stored, source, target)
    raise pa.ArrowInvalid(f"{array.type} is not {wanted}")


def _align_struct(array: pa.StructArray, stored: pa.Field, source: pa.Field, target: pa.Field) -> pa.Array:
    children = []
    places = find_fields(source.type, stored.type)
    for at, child_source, child_target in zip(places, source.type, target.type, strict=True):
        if at is None:
            children.append(pa.nulls(len(array), child_target.type))
        else:
            children.append(align(array.field(at), stored.type.field(at), child_source, child_target))
    mask = array.is_null() if array.null_count else None
    if not children:
        return pa.Array.from_buffers(target.type, len(array), [array.buffers()[0]], offset=array.offset)
    return pa.StructArray.from_arrays(children, fields=list(target.type), mask=mask)


def _align_list(array: pa.Array, stored: pa.Field, source: pa.Field, target: pa.Field) -> pa.Array:
    array = _from_zero(array if _has_offsets(array.type) else array.cast(pa.list_(array.type.value_field)))
    items = align(array.values, stored.type.value_field, source.type.value_field, target.type.value_field)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(array.offsets.cast(pa.int32()), items, type=target.type, mask=mask)


def _align_map(array: pa.MapArray, stored: pa.Field, source: pa.Field, target: pa.Field) -> pa.Array:
    array = _from_zero(array)
    keys = align(array.keys, stored.type.key_field, source.type.key_field, target.type.key_field)
    items = align(array.items, stored.type.item_field, source.type.item_field, target.type.item_field)
    mask = array.is_null() if array.null_count else None
    return pa.MapArray.from_arrays(array.offsets, keys, items, type=target.type, mask=mask)


def _align_value(array: pa.Array, wanted: pa.DataType, source: pa.Field) -> pa.Array:
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if array.type.equals(wanted):
        return array
    if goes_by_text(array.type, source, wanted):
        return array.cast(pa.string()).cast(wanted)
    if pa.types.is_null(wanted):
        return pa.nulls(len(array))
    if pa.types.is_dictionary(array.type):
        return _align_value(array.dictionary_decode(), wanted, source)
    if not is_read_as(array.type, wanted):
        raise pa.ArrowInvalid(f"{array.type} is not {wanted}")
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        # Spark keeps microseconds and drops the rest; a checked cast would refuse instead.
        array = pc.floor_temporal(array, unit="microsecond")
    return array.cast(wanted)


def goes_by_text(stored: pa.DataType, source: pa.Field, wanted: pa.DataType) -> bool:
    """Whether a file's type becomes the table's by way of its text, because the format says so."""
    return WIDEN_BY_TEXT in (source.metadata or {}) and is_read_by_text(stored, wanted)


def _is_list(type_: pa.DataType) -> bool:
    return _has_offsets(type_) or bool(pa.types.is_fixed_size_list(type_))


def _has_offsets(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_))


def _from_zero(array: pa.Array) -> pa.Array:
    """The same rows with offsets that count from zero: a slice's cannot be given a mask."""
    return pa.concat_arrays([array]) if array.offset else array
