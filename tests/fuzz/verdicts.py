"""What became of a damaged table, and whether anything in it could have told.

Other rows than before are a fault where one of these says so:

- a page's checksum: Arrow's own reader, told to verify, refuses the file that was changed;
- the number of rows: the log, or a commit, says how many rows the changed data file has, and there are more or fewer;
- Delta's `.crc` of the version that was read: other files, bytes, deleted rows or columns than it has;
- the form of the file: a deletion vector has a checksum, a Hudi log file says how many records each block has;
- the file's place: a `.crc`, an index, a plan or a hint never decides what the rows are;
- the answers themselves: COUNT(*) is not the number of rows given.

What changes a value and nothing that anyone counted (a partition value in a commit, a column's name in a schema) is
"other rows": nobody could tell.
"""

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lakescan

from .questions import ROWS, Answer, is_aggregate

SAME, NAMED, OTHER_ROWS = "the same rows", "a named error", "other rows, nobody could tell"
EXCEPTION, COULD_TELL, CRASH, HANG = "another exception", "other rows, and it could be told", "a crash", "a hang"
BUGS = (EXCEPTION, COULD_TELL, CRASH, HANG)
_RANK = (SAME, NAMED, OTHER_ROWS, COULD_TELL, EXCEPTION)

_NEVER_DECIDES = re.compile(
    r"(\.crc|_last_checkpoint|\.requested|\.inflight|\.hoodie_partition_metadata|\.index_defs/.*)$|\.hoodie/metadata/"
)
_HUDI_LOG = re.compile(r"\.log\.\d+[^/]*$")


@dataclass(frozen=True)
class Verdict:
    """The worst of what became of the questions, with the question and what was seen."""

    outcome: str
    question: str = ""
    detail: str = ""
    trace: str = ""


def judge(file: str, before: Mapping[str, Answer], after: Mapping[str, Answer], table: Path, whole: Path) -> Verdict:
    """`table` is the damaged table, of which `file` was changed; `whole` is the file as it was."""
    verdicts = [_judge_one(name, file, before[name], after[name], table, whole) for name in after]
    rows, counted = after[ROWS], [answer for name, answer in after.items() if is_aggregate(name) and not answer.error]
    for count in (answer.rows["value_0"][0].as_py() for answer in counted if not rows.error):
        if count != rows.rows.num_rows:
            verdicts.append(
                Verdict(COULD_TELL, "aggregates", f"COUNT(*) is {count}, and there are {rows.rows.num_rows}")
            )
    return max(verdicts, key=lambda verdict: _RANK.index(verdict.outcome))


def _judge_one(question: str, file: str, before: Answer, after: Answer, table: Path, whole: Path) -> Verdict:
    if after.error and not after.named:
        return Verdict(EXCEPTION, question, after.error, after.trace)
    if after.error:
        return Verdict(NAMED, question, after.error)
    if before.error or before.equals(after):
        # What could not be asked before has no answer to compare with.
        return Verdict(SAME, question)
    changed = f"{before.rows.num_rows} rows, now {after.rows.num_rows}"
    teller = _teller(question, file, before, after, table, whole)
    return Verdict(COULD_TELL if teller else OTHER_ROWS, question, f"{changed}; {teller}".rstrip("; "))


def _teller(question: str, file: str, before: Answer, after: Answer, table: Path, whole: Path) -> str:
    """What could have told, empty where nothing could."""
    damaged = table / file
    if _NEVER_DECIDES.search(file):
        return "such a file does not decide what the rows are"
    if "deletion_vector" in file:
        return "a deletion vector has a checksum"
    if _HUDI_LOG.search(file):
        return "the blocks have other records" if _blocks(damaged) != _blocks(whole) else ""
    if file.endswith(".parquet"):
        if damaged.exists() and not _passes_checksums(damaged):
            return "a page's checksum"
        if "_delta_log" not in file and before.rows.num_rows != after.rows.num_rows:
            return "the number of rows in the log"
    return _by_checksum_file(table) if question == ROWS and "_delta_log" in file else ""


def _passes_checksums(file: Path) -> bool:
    try:
        pq.read_table(file, page_checksum_verification=True, partitioning=None)
    except (pa.ArrowException, OSError):
        return False
    return True


def _by_checksum_file(table: Path) -> str:
    snapshot = lakescan.open(table).snapshot()
    try:
        said = json.loads((table / "_delta_log" / f"{snapshot.version:020d}.crc").read_bytes())
        columns = [field["name"] for field in json.loads(said["metadata"]["schemaString"])["fields"]]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    vectors = snapshot.files()["deletion_vector"].to_pylist()
    deleted = sum((vector or {}).get("cardinality") or 0 for vector in vectors)
    seen = {"numFiles": snapshot.num_files, "tableSizeBytes": snapshot.size_in_bytes, "numDeletedRecords": deleted}
    said.setdefault("numDeletedRecords", said.get("numDeletedRecordsOpt"))
    differ = [name for name, value in seen.items() if said.get(name) is not None and said[name] != value]
    differ += ["columns"] if columns != snapshot.schema.names else []
    return f"the .crc has other {', '.join(differ)}" if differ else ""


def _blocks(file: Path) -> list[tuple[int, int, bytes]]:
    """(kind, records where the block counts them, the instant) of each block of a Hudi log file."""
    content, at, blocks = file.read_bytes() if file.exists() else b"", 0, []
    try:
        while at < len(content):
            (length,) = struct.unpack_from(">q", content, at + 6)
            _, kind, headers = struct.unpack_from(">iii", content, at + 14)
            place, instant = at + 26, b""
            for _ in range(headers):
                key, size = struct.unpack_from(">ii", content, place)
                instant = content[place + 8 : place + 8 + size] if key == 0 else instant
                place += 8 + size
            records = struct.unpack_from(">i", content, place + 12)[0] if kind == 3 else -1
            blocks.append((kind, records, instant))
            at += 14 + length
    except struct.error:
        blocks.append((-1, at, b""))
    return blocks
