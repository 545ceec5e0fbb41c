"""Shredded variants made whole: `metadata`, `value` and `typed_value` of a file back to `value` and `metadata`.

Every row means what it meant before it was shredded; its bytes may differ where the encoding leaves a choice.
Bytes that were not shredded are taken over as they are: a value never says where it stands, and it names fields
only by their numbers in `metadata`, which is kept and, where a shredded field's name is missing from it, extended.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakescan.types.columns import member
from lakescan.types.schema import VARIANT

_PRIMITIVE, _SHORT_STRING, _OBJECT, _ARRAY = range(4)
_NULL = b"\x00"
_MOST_SHORT = 64

Bytes = list[bytes | None]


def whole_variants(array: pa.StructArray) -> pa.StructArray:
    """A file's variant column, shredded or not, as `schema.VARIANT`."""
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    metadata, value = member(array, "metadata"), member(array, "value")
    if metadata is None:
        raise pa.ArrowInvalid(f"{array.type} is not a variant")
    if array.type.get_field_index("typed_value") >= 0:
        value, metadata = _unshredded(array, metadata)
    elif value is None:
        raise pa.ArrowInvalid(f"{array.type} is not a variant")
    mask = array.is_null() if array.null_count else None
    columns = [_filled(value.cast(pa.binary())), _filled(metadata.cast(pa.binary()))]
    return pa.StructArray.from_arrays(columns, fields=list(VARIANT), mask=mask)


def _filled(column: pa.Array) -> pa.Array:
    return pc.fill_null(column, b"") if column.null_count else column


def _unshredded(array: pa.StructArray, metadata: pa.Array) -> tuple[pa.Array, pa.Array]:
    encoded = metadata.dictionary_encode()
    names = [_Names(data) for data in encoded.dictionary.to_pylist()]
    # A null variant has no metadata; it needs names only to be written and then masked.
    names.append(_Names(b"\x01\x00\x00"))
    which = pc.fill_null(encoded.indices, len(names) - 1).to_numpy(zero_copy_only=False)
    dictionaries = [names[at] for at in which]
    values = [_NULL if data is None else data for data in _values(array, dictionaries)]
    written = pa.array([known.data() for known in names], pa.binary())
    return pa.array(values, pa.binary()), written.take(pa.array(which))


class _Names:
    """The field names of a variant's metadata, in both directions."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        width = (data[0] >> 6) + 1
        count = int.from_bytes(data[1 : 1 + width], "little")
        offsets = [
            int.from_bytes(data[at : at + width], "little") for at in range(1 + width, 1 + width * (count + 2), width)
        ]
        begin = 1 + width * (count + 2)
        self.names = [data[begin + a : begin + b] for a, b in pairwise(offsets)]
        self._known = count
        self._ids = {name: at for at, name in enumerate(self.names)}

    def id_of(self, name: bytes) -> int:
        if name not in self._ids:
            self._ids[name] = len(self.names)
            self.names.append(name)
        return self._ids[name]

    def data(self) -> bytes:
        if len(self.names) == self._known:
            return self._data
        ends = list(accumulate(map(len, self.names), initial=0))
        width = _width(max(ends[-1], len(self.names)))
        # The names at the end are in no order, so the mark that says they are sorted stays off.
        header = self._data[0] & 0x0F | (width - 1) << 6
        return bytes([header]) + _numbers([len(self.names), *ends], width) + b"".join(self.names)


def _values(group: pa.StructArray, names: Sequence[_Names]) -> Bytes:
    """One value a row of a group of `value` and `typed_value`; None where it has neither."""
    plain = member(group, "value")
    rest: Bytes = [None] * len(group) if plain is None else plain.to_pylist()
    typed = member(group, "typed_value")
    if typed is None:
        return rest
    if pa.types.is_struct(typed.type):
        return _objects(typed, rest, names)
    shredded = _arrays(typed, names) if _is_list(typed.type) else _primitives(typed)
    return [old if new is None else new for new, old in zip(shredded, rest, strict=True)]


def _objects(typed: pa.StructArray, rest: Bytes, names: Sequence[_Names]) -> Bytes:
    shredded = [
        (field.name.encode(), _values(member(typed, field.name), names))
        for field in typed.type
        if pa.types.is_struct(field.type)
    ]
    valid = typed.is_valid().to_numpy(zero_copy_only=False)
    objects: Bytes = []
    for row, known in enumerate(names):
        if not valid[row]:
            objects.append(rest[row])
            continue
        fields = {name: value for name, values in shredded if (value := values[row]) is not None}
        other = rest[row]
        if other is not None:
            fields.update(_fields(other, known))
        objects.append(_object(fields, known))
    return objects


def _arrays(typed: pa.Array, names: Sequence[_Names]) -> Bytes:
    lengths = pc.fill_null(pc.list_value_length(typed), 0).to_numpy(zero_copy_only=False)
    owners = [known for known, length in zip(names, lengths, strict=True) for _ in range(length)]
    items = _values(typed.flatten(), owners)
    ends = np.cumsum(lengths)
    valid = typed.is_valid().to_numpy(zero_copy_only=False)
    return [
        _array([_NULL if item is None else item for item in items[end - length : end]]) if live else None
        for live, end, length in zip(valid, ends, lengths, strict=True)
    ]


def _object(fields: dict[bytes, bytes], known: _Names) -> bytes:
    names = sorted(fields)
    ids = [known.id_of(name) for name in names]
    datas = [fields[name] for name in names]
    ends = list(accumulate(map(len, datas), initial=0))
    large = len(names) > 0xFF
    id_width, offset_width = _width(max(ids, default=0)), _width(ends[-1])
    header = _OBJECT | ((offset_width - 1) | (id_width - 1) << 2 | large << 4) << 2
    return b"".join(
        [
            bytes([header]),
            len(names).to_bytes(4 if large else 1, "little"),
            _numbers(ids, id_width),
            _numbers(ends, offset_width),
            *datas,
        ]
    )


def _array(items: list[bytes]) -> bytes:
    ends = list(accumulate(map(len, items), initial=0))
    large = len(items) > 0xFF
    width = _width(ends[-1])
    header = _ARRAY | ((width - 1) | large << 2) << 2
    size = len(items).to_bytes(4 if large else 1, "little")
    return b"".join([bytes([header]), size, _numbers(ends, width), *items])


def _fields(data: bytes, known: _Names) -> dict[bytes, bytes]:
    """The fields of an encoded object; offsets need not be in the order of the names, so ends are looked up."""
    if data[0] & 3 != _OBJECT:
        raise pa.ArrowInvalid("a shredded object has a rest that is no object")
    header = data[0] >> 2
    offset_width, id_width, size_width = (header & 3) + 1, (header >> 2 & 3) + 1, 4 if header >> 4 & 1 else 1
    count = int.from_bytes(data[1 : 1 + size_width], "little")
    ids_at = 1 + size_width
    offsets_at = ids_at + count * id_width
    values_at = offsets_at + (count + 1) * offset_width
    ids = [_number(data, ids_at + at * id_width, id_width) for at in range(count)]
    offsets = [_number(data, offsets_at + at * offset_width, offset_width) for at in range(count + 1)]
    edges = sorted(offsets)
    following = dict(pairwise(edges))
    return {
        known.names[number]: data[values_at + begin : values_at + following[begin]]
        for number, begin in zip(ids, offsets, strict=False)
    }


def _numbers(numbers: list[int], width: int) -> bytes:
    if width == 1:
        return bytes(numbers)
    return b"".join([number.to_bytes(width, "little") for number in numbers])


def _number(data: bytes, at: int, width: int) -> int:
    return int.from_bytes(data[at : at + width], "little")


def _primitives(typed: pa.Array) -> Bytes:
    """A typed column's values in the variant encoding; None where it is null."""
    if pa.types.is_boolean(typed.type):
        return [None if value is None else bytes([_kind(1 if value else 2)]) for value in typed.to_pylist()]
    if pa.types.is_string(typed.type) or pa.types.is_large_string(typed.type):
        return [None if value is None else _string(value.encode()) for value in typed.to_pylist()]
    if pa.types.is_fixed_size_binary(typed.type) and typed.type.byte_width == 16:
        return [None if value is None else bytes([_kind(20)]) + value for value in typed.to_pylist()]
    if pa.types.is_binary(typed.type) or pa.types.is_large_binary(typed.type):
        return [None if value is None else _sized(15, value) for value in typed.to_pylist()]
    kind, width, scale = _layout(typed.type)
    prefix = bytes([_kind(kind)]) + scale
    numbers = _fixed_width(typed)
    valid = typed.is_valid().to_numpy(zero_copy_only=False)
    stored = len(numbers) // max(1, len(typed))
    return [
        prefix + numbers[at * stored : at * stored + width] if live else None for at, live in enumerate(valid.tolist())
    ]


def _layout(type_: pa.DataType) -> tuple[int, int, bytes]:
    """A fixed-width type's number in the variant encoding, its bytes there, and what stands before them."""
    if pa.types.is_decimal(type_):
        kind, width = (8, 4) if type_.precision <= 9 else (9, 8) if type_.precision <= 18 else (10, 16)
        return kind, width, bytes([type_.scale])
    if pa.types.is_timestamp(type_) and type_.unit in ("us", "ns"):
        kinds = {("us", True): 12, ("us", False): 13, ("ns", True): 18, ("ns", False): 19}
        return kinds[type_.unit, type_.tz is not None], 8, b""
    fixed: dict[pa.DataType, tuple[int, int]] = {
        pa.int8(): (3, 1),
        pa.int16(): (4, 2),
        pa.int32(): (5, 4),
        pa.int64(): (6, 8),
        pa.float64(): (7, 8),
        pa.date32(): (11, 4),
        pa.float32(): (14, 4),
        pa.time64("us"): (17, 8),
    }
    if type_ not in fixed:
        raise pa.ArrowInvalid(f"a variant cannot be shredded as {type_}")
    return *fixed[type_], b""


def _fixed_width(typed: pa.Array) -> bytes:
    """The values' own bytes: Arrow keeps every fixed-width type as the variant encoding wants it, least byte first."""
    width = typed.type.bit_width // 8
    data: Any = typed.buffers()[1]
    return bytes(data[typed.offset * width : (typed.offset + len(typed)) * width]) if data is not None else b""


def _string(data: bytes) -> bytes:
    if len(data) < _MOST_SHORT:
        return bytes([len(data) << 2 | _SHORT_STRING]) + data
    return _sized(16, data)


def _sized(kind: int, data: bytes) -> bytes:
    return bytes([_kind(kind)]) + len(data).to_bytes(4, "little") + data


def _kind(number: int) -> int:
    return number << 2 | _PRIMITIVE


def _width(most: int) -> int:
    return max(1, -(-most.bit_length() // 8))


def _is_list(type_: pa.DataType) -> bool:
    return bool(pa.types.is_list(type_) or pa.types.is_large_list(type_))
