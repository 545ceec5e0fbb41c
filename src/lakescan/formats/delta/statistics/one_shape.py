"""Integers out of many JSON texts that are spelled alike, without reading them as JSON.

The writer of a table spells the statistics of all its files with the same keys in the same order: a text is runs of the
same bytes with values between them. Every text is held against the runs of the first one. Where all have them, the
integers that are wanted are cut out from between, a column at a time; where one has not, nothing is given, and a parser
reads them all. A value that nobody wants is not looked at.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_Places = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]
# A key with its colon, a text, a mark, or any other value.
_TOKEN = re.compile(rb'"([^"]*)":|"([^"]*)"|([{},])|([^"{}\[\],:\s]+)')
# One byte is searched for many times faster than a choice of them.
_ESCAPE = re.compile(rb"\\")
_FIRST_CHARACTER = 0x20
_WORD = 8
_MOST_DIGITS = 18
_MINUS, _NOUGHT, _QUOTE = b'-0"'
_NOUGHTS = np.uint64(0x3030303030303030)
# A byte is a digit where its upper half is a nought's, and still is when six are added.
_HIGH, _SIXES = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0606060606060606)
# By how many of a word's last bytes are wanted: the others.
_OTHERS = np.array([2**64 - 1, *((1 << (_WORD - wanted) * 8) - 1 for wanted in range(1, _WORD + 1))], np.uint64)


@dataclass(frozen=True)
class _Shape:
    """The runs of bytes before, between and behind the values of a text, and for each value the keys above it."""

    runs: tuple[bytes, ...]
    keys: tuple[tuple[str, ...], ...]
    is_text: tuple[bool, ...]
    first: tuple[bytes, ...]
    """The values of the text that it is the shape of."""


@dataclass(frozen=True)
class _Texts:
    """Texts behind each other, as bytes and as the words that begin at each byte."""

    characters: npt.NDArray[np.uint8]
    words: _Words
    begins: _Places
    ends: _Places

    @staticmethod
    def of(data: memoryview, offsets: _Places) -> "_Texts":
        # A word before the first byte, and one behind the last.
        padded = np.zeros(len(data) + 2 * _WORD, np.uint8)
        padded[_WORD : _WORD + len(data)] = np.frombuffer(data, np.uint8)
        words: _Words = np.ndarray((len(data) + _WORD,), "<u8", padded, strides=(1,))
        return _Texts(padded, words, offsets[:-1] + _WORD, offsets[1:] + _WORD)

    def have(self, begins: _Places, run: bytes) -> bool:
        """Whether each has these bytes, from its place on."""
        for at in range(0, len(run), _WORD):
            part = run[at : at + _WORD]
            own = np.uint64((1 << len(part) * 8) - 1)
            if np.any((self.words[begins + at] & own) != np.uint64(int.from_bytes(part, "little"))):
                return False
        return True


def integers(texts: pa.Array, wanted: pa.StructType) -> pa.StructArray | None:
    """The members of `wanted`, integers and truths in structs, of each text; None where they cannot be cut out."""
    if len(texts) < 2 or texts.null_count or not pa.types.is_string(texts.type) or not _is_simple(wanted):
        return None
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset :][: len(texts) + 1].astype(np.int64)
    data = memoryview(texts.buffers()[2] or b"")[offsets[0] : offsets[-1]]
    offsets -= offsets[0]
    # Escapes, and bytes that no JSON text has, are a parser's.
    odd = not len(data) or _ESCAPE.search(data) or np.frombuffer(data, np.uint8).min() < _FIRST_CHARACTER
    shape = None if odd else _shape(bytes(data[: offsets[1]]))
    if shape is None:
        return None
    known = _Texts.of(data, offsets)
    places = _places(known, shape)
    return None if places is None else _members(known, shape, places, wanted, ())


def _is_simple(type_: pa.DataType) -> bool:
    if pa.types.is_struct(type_):
        return all(_is_simple(field.type) for field in type_)
    return bool(pa.types.is_signed_integer(type_) or pa.types.is_boolean(type_))


def _shape(text: bytes) -> _Shape | None:
    try:
        if not isinstance(json.loads(text), dict):
            return None
    except (ValueError, RecursionError):
        return None
    runs, first = [], []
    keys: list[tuple[str, ...]] = []
    is_text = []
    above: list[str] = []
    key, at, begun = "", 0, 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        name, string, mark, _ = token.groups()
        if name is not None:
            key = name.decode()
        elif mark == b"{":
            above.append(key)
        elif mark == b"}":
            above.pop()
        elif mark is None:
            begin, end = token.span(4 if string is None else 2)
            runs.append(text[begun:begin])
            first.append(text[begin:end])
            keys.append((*above[1:], key))
            is_text.append(string is not None)
            begun = end
        at = token.end()
    if len(set(keys)) < len(keys):
        return None
    return _Shape((*runs, text[begun:]), tuple(keys), tuple(is_text), tuple(first))


def _places(texts: _Texts, shape: _Shape) -> list[tuple[_Places, _Places]] | None:
    """Where each value begins and ends in each text; None where a text is of another shape."""
    every = np.flatnonzero(texts.characters == _QUOTE)
    count = sum(run.count(b'"') for run in shape.runs)
    if len(every) != count * len(texts.begins):
        return None
    # Where one text has more of them than another, a run is not where it should be.
    quotes = every.reshape(len(texts.begins), count)
    found: list[tuple[_Places, _Places]] = []
    seen, ends = 0, texts.begins
    for at, run in enumerate(shape.runs):
        quote, last = run.find(b'"'), at == len(shape.runs) - 1
        # What follows a value is found by its first quote, and the end of the text by its end.
        begins = ends if at == 0 else texts.ends - len(run) if quote < 0 else quotes[:, seen] - quote
        shortest = 0 if at == 0 or shape.is_text[at - 1] else 1
        too_far = begins + len(run) != texts.ends if last else begins + len(run) > texts.ends
        if np.any(begins < ends + shortest) or np.any(too_far) or not texts.have(begins, run):
            return None
        if at:
            found.append((ends, begins))
        seen, ends = seen + run.count(b'"'), begins + len(run)
    return found


def _members(
    texts: _Texts,
    shape: _Shape,
    places: Sequence[tuple[_Places, _Places]],
    wanted: pa.StructType,
    above: tuple[str, ...],
) -> pa.StructArray | None:
    columns = []
    for field in wanted:
        path = (*above, field.name)
        column: pa.Array | None = pa.nulls(len(texts.begins), field.type)
        if pa.types.is_struct(field.type):
            column = _members(texts, shape, places, field.type, path)
        elif path in shape.keys:
            at = shape.keys.index(path)
            column = None if shape.is_text[at] else _column(texts, *places[at], shape.first[at], field.type)
        if column is None:
            return None
        columns.append(column)
    return pa.StructArray.from_arrays(columns, fields=list(wanted))


def _column(texts: _Texts, begins: _Places, ends: _Places, first: bytes, type_: pa.DataType) -> pa.Array | None:
    if pa.types.is_boolean(type_):
        truth = {b"true": True, b"false": False}.get(first)
        same = truth is not None and np.all(ends - begins == len(first)) and texts.have(begins, first)
        return pa.repeat(pa.scalar(truth, type_), len(begins)) if same else None
    numbers = _numbers(texts, begins, ends)
    try:
        return None if numbers is None else pa.array(numbers).cast(type_)
    except pa.ArrowInvalid:
        return None


def _numbers(texts: _Texts, begins: _Places, ends: _Places) -> npt.NDArray[np.int64] | None:
    """The integers that stand there; None where something else does."""
    is_negative = texts.characters[begins] == _MINUS
    digits = ends - begins - is_negative
    longest = int(digits.max())
    if digits.min() < 1 or longest > _MOST_DIGITS:
        return None
    if np.any((digits > 1) & (texts.characters[ends - digits] == _NOUGHT)):
        return None
    value = np.zeros(len(begins), np.uint64)
    for at in range(0, longest, _WORD):
        others = _OTHERS[np.clip(digits - at, 0, _WORD)]
        word = (texts.words[ends - at - _WORD] & ~others) | (_NOUGHTS & others)
        if np.any((word & _HIGH) != _NOUGHTS) or np.any(((word + _SIXES) & _HIGH) != _NOUGHTS):
            return None
        value += _eight_digits(word) * np.uint64(10**at)
    numbers = value.astype(np.int64)
    return np.where(is_negative, -numbers, numbers)


def _eight_digits(word: _Words) -> _Words:
    """The number whose digits, the first one lowest, are the bytes of each word: by pairs, fours and all eight."""
    word = (word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64((10 << 8) + 1) >> np.uint64(8)
    word = (word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64((100 << 16) + 1) >> np.uint64(16)
    word = (word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64((10000 << 32) + 1) >> np.uint64(32)
    return word
