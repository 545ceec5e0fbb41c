"""What is done to one file of a table: bytes, lines, or fields of what the file says.

A mutation follows from a random number generator alone, so that a case can be repeated by its seed. Each gives the
file's new content, None where the file is taken away, and says in a few words what it did and where.
"""

import io
import json
import random
from collections.abc import Callable, MutableMapping, MutableSequence
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

Mutated = tuple[bytes | None, str]
Mutation = Callable[[bytes, random.Random], Mutated]

_BYTES = (0x00, 0x01, 0x40, 0x7F, 0x80, 0xFE, 0xFF)
_HUGE = (
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x00",
    b"\x7f" + b"\xff" * 7,
    b"\xff" * 8,
    b"\x00\x00\x00\x10\x00\x00\x00\x00",
    # A long of Avro, a number of Thrift and of Protocol Buffers: 2 to the power of some 40, of 62, of more than 64.
    b"\xfe\xff\xff\xff\xff\xff\x01",
    b"\xff" * 8 + b"\x7f",
    b"\xff" * 12,
)
_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1, 2**31, 2**45, 2**62, 2**70, 1.5, float("inf")),
    *("", "x", "é\ud800", "../..", "a" * 5000, "1e400", "\0", "-1", "null"),
    *([], {}, [None], [[]], {"x": 1}),
)
_DEPTH = 100_000


def mutate(name: str, content: bytes, rng: random.Random) -> Mutated:
    """One mutation that fits the file."""
    chosen = rng.choice([_of_bytes, *_fitting(name, content)])
    try:
        return chosen(content, rng)
    except Exception:
        # What cannot be written in the file's own form is left to a change of bytes.
        return _of_bytes(content, rng)


def _fitting(name: str, content: bytes) -> list[Mutation]:
    if name.endswith((".properties", ".hoodie_partition_metadata")):
        return [_of_properties, _of_lines]
    if content[:4] == b"Obj\x01":
        return [_of_avro]
    if content[:4] == b"PAR1":
        return [_of_parquet_rows] if "_delta_log" in name else []
    if content.lstrip()[:1] in (b"{", b"["):
        return [_of_json, _of_json, _of_lines]
    return []


def _of_bytes(content: bytes, rng: random.Random) -> Mutated:
    kind = rng.choice(["bit", "byte", "byte", "number", "number", "cut", "range", "insert", "repeat", "zero", "file"])
    if not content or kind == "file":
        what = rng.choice(["removed", "emptied", "garbage"])
        if what == "removed":
            return None, "file removed"
        return (b"", "file emptied") if what == "emptied" else (rng.randbytes(64), "file of 64 other bytes")
    at = _place(content, rng)
    end = min(len(content), at + rng.choice([1, 2, 4, 8, 64, 1024]))
    if kind == "bit":
        bit = rng.randrange(8)
        return _with(content, at, bytes([content[at] ^ 1 << bit])), f"bit {bit} of byte {at} flipped"
    if kind == "byte":
        value = rng.choice([*_BYTES, rng.randrange(256)])
        return _with(content, at, bytes([value])), f"byte {at} set to {value:#04x}"
    if kind == "number":
        number = rng.choice(_HUGE)
        return _with(content, at, number)[: len(content)], f"bytes at {at} set to {number.hex()}"
    if kind == "cut":
        return content[:at], f"cut off at byte {at}"
    if kind == "range":
        return content[:at] + content[end:], f"bytes {at} to {end} removed"
    if kind == "insert":
        given = rng.choice([*_HUGE, rng.randbytes(rng.choice([1, 2, 8, 100]))])
        return content[:at] + given + content[at:], f"{given.hex()} put in at byte {at}"
    if kind == "repeat":
        return content[:end] + content[at:], f"bytes {at} to {end} repeated"
    return content[:at] + bytes(end - at) + content[end:], f"bytes {at} to {end} set to zero"


def _place(content: bytes, rng: random.Random) -> int:
    """Anywhere, or near the beginning or the end, where files describe themselves."""
    near = rng.randrange(4)
    if near == 0:
        return rng.randrange(min(len(content), 128))
    if near == 1:
        return len(content) - 1 - rng.randrange(min(len(content), 600))
    return rng.randrange(len(content))


def _with(content: bytes, at: int, given: bytes) -> bytes:
    return content[:at] + given + content[at + len(given) :]


def _of_lines(content: bytes, rng: random.Random) -> Mutated:
    lines = content.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    kind = rng.choice(["removed", "repeated", "moved", "half", "null"])
    if kind == "removed":
        del lines[at]
    elif kind == "repeated":
        lines.insert(at, lines[at])
    elif kind == "moved":
        lines.append(lines.pop(at))
    elif kind == "half":
        lines[at] = lines[at][: len(lines[at]) // 2]
    else:
        lines[at] = rng.choice([b"null\n", b"[]\n", b"\n", b"1\n", b"{}\n", b"\xff\xfe\n"])
    return b"".join(lines), f"line {at} {kind}"


def _of_properties(content: bytes, rng: random.Random) -> Mutated:
    lines = content.decode("latin-1").splitlines()
    places = [at for at, line in enumerate(lines) if "=" in line and not line.startswith("#")]
    at = rng.choice(places)
    key, _, value = lines[at].partition("=")
    kind = rng.choice(["value", "value", "key", "escape"])
    if kind == "value":
        value = rng.choice(["", "x", "-1", "99999999999999999999", "true", "1.5", value + "x", value[:-1], "a,b,,c"])
    elif kind == "key":
        key = key[:-1] + "x"
    else:
        value = rng.choice(["\\u12", "\\ud800", "\xff\xfe", "\\", "\0"]) + value
    lines[at] = f"{key}={value}"
    return "\n".join(lines).encode("latin-1"), f"line {at} is {lines[at][:200]!r}"


def _of_json(content: bytes, rng: random.Random) -> Mutated:
    """A field of a document, or of one of the documents that stand on a line each."""
    try:
        documents, joined = [json.loads(content)], b""
    except ValueError:
        documents, joined = [json.loads(line) for line in content.splitlines() if line.strip()], b"\n"
    at = rng.randrange(len(documents))
    if rng.randrange(50) == 0:
        return content + b"\n" + b'{"add":' * _DEPTH, "very deep JSON at the end"
    what = _change(documents, at, rng, f"document {at}")
    return joined.join(json.dumps(document).encode("utf-8", "surrogatepass") for document in documents), what


def _change(parent: Any, key: Any, rng: random.Random, path: str) -> str:
    """Walk down from a member at random and change what is there."""
    chosen = parent[key]
    if isinstance(chosen, str) and chosen[:1] in ("{", "[") and rng.randrange(2):
        inner = [json.loads(chosen)]
        what = _change(inner, 0, rng, f"{path} (text)")
        parent[key] = json.dumps(inner[0])
        return what
    if isinstance(chosen, (dict, list)) and chosen and rng.randrange(8):
        below = rng.choice(list(chosen) if isinstance(chosen, dict) else list(range(len(chosen))))
        return _change(chosen, below, rng, f"{path}.{below}")
    kinds = ["value", "value", "value", "removed", "repeated", "renamed", "near"]
    kind = rng.choice(kinds)
    if kind == "removed" and isinstance(parent, (MutableMapping, MutableSequence)):
        del parent[key]
        return f"{path} removed"
    if kind == "repeated" and isinstance(parent, list):
        parent.insert(key, chosen)
        return f"{path} repeated"
    if kind == "renamed" and isinstance(parent, dict):
        other = key[:-1] + "x" if rng.randrange(2) else key.upper()
        parent[other] = parent.pop(key)
        return f"{path} renamed to {other}"
    if kind == "near" and isinstance(chosen, (int, str)):
        parent[key] = _near(chosen, rng)
    else:
        parent[key] = rng.choice(_VALUES)
    return f"{path} set to {str(parent[key])[:60]!r}"


def _near(original: int | str, rng: random.Random) -> Any:
    if isinstance(original, bool):
        return not original
    if isinstance(original, int):
        return rng.choice([original + 1, original - 1, -original, original * 2, str(original)])
    at = rng.randrange(len(original) + 1)
    return rng.choice([original[:at] + "x" + original[at + 1 :], original[:at], original + "x", original.upper()])


def _of_avro(content: bytes, rng: random.Random) -> Mutated:
    """A field of a record of an Avro file, written anew in the same schema."""
    reader = fastavro.reader(io.BytesIO(content))
    records = list(reader)
    what = _change(records, rng.randrange(len(records)), rng, "record")
    sink = io.BytesIO()
    codec = reader.metadata.get("avro.codec", "null")
    fastavro.writer(sink, reader.writer_schema, records, codec=codec)
    return sink.getvalue(), what


def _of_parquet_rows(content: bytes, rng: random.Random) -> Mutated:
    """A row or a field of a checkpoint, written anew in the same schema, or a column less."""
    table = pq.read_table(io.BytesIO(content))
    kind = rng.choice(["column", "row", "twice", "field", "field", "field"])
    sink = io.BytesIO()
    if kind == "column":
        name = rng.choice(table.column_names)
        pq.write_table(table.drop_columns([name]), sink)
        return sink.getvalue(), f"column {name} removed"
    at = rng.randrange(table.num_rows)
    if kind == "row":
        pq.write_table(pa.concat_tables([table.slice(0, at), table.slice(at + 1)]), sink)
        return sink.getvalue(), f"row {at} removed"
    if kind == "twice":
        pq.write_table(pa.concat_tables([table, table.slice(at, 1)]), sink)
        return sink.getvalue(), f"row {at} repeated"
    rows = table.to_pylist()
    named = {key: value for key, value in rows[at].items() if value is not None}
    rows[at] = named
    what = _change(rows, at, rng, f"row {at}")
    pq.write_table(pa.Table.from_pylist(rows, table.schema), sink)
    return sink.getvalue(), what
