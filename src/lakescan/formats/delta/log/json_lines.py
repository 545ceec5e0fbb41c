"""JSON lines to Arrow in one call: a log's commits, and the statistics of many files.

A text that is not JSON raises `pa.ArrowInvalid`, always: Arrow's reader ends the whole process when it meets a
bare `null` where an object should be, and takes any bytes for text, so both are found before the reader sees them.
"""

import json
import re
from typing import Any

import pyarrow as pa
import pyarrow.json as paj

# A line break is never inside a JSON string, so this is a row; `} null` may also be a part of a string.
_NULL_LINE = re.compile(rb"\n[ \t\r]*null")  # what begins with one byte is found ten times faster
_NULL_AT_START = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r]*null")
_NULL_AFTER_OBJECT = re.compile(rb"\}[ \t\r]*null")


def read_json_lines(text: bytes, schema: pa.Schema, block_size: int, threads: bool) -> pa.Table:
    """One row an object, with the columns of `schema`; a block must be longer than the longest line."""
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid(f"it is no UTF-8 text ({error})") from None
    if _has_null_row(text):
        raise pa.ArrowInvalid("JSON parse error: null where an object should be")
    return paj.read_json(
        pa.BufferReader(text),
        read_options=paj.ReadOptions(use_threads=threads, block_size=block_size),
        parse_options=paj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
    )


def parse_json(text: bytes | str) -> Any:
    """One JSON document; whatever is wrong with it, its depth and its encoding included, is a ValueError."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _has_null_row(text: bytes) -> bool:
    if _NULL_AT_START.match(text) or _NULL_LINE.search(text):
        return True
    for suspect in _NULL_AFTER_OBJECT.finditer(text):
        start, end = text.rfind(b"\n", 0, suspect.start()) + 1, text.find(b"\n", suspect.start())
        try:
            parse_json(text[start : None if end < 0 else end])
        except ValueError:
            return True
    return False
