"""A table's history: what each commit that is still in the log says of itself, newest first.

The columns are those of Delta's DESCRIBE HISTORY. A commit without notes on itself has a version and a time and
nothing else. A parameter that is not text is given as the JSON it was written in.
"""

import json
from typing import Any

import pyarrow as pa

from lakescan.errors import CorruptLog, InvalidLimit
from lakescan.formats.delta.log.commits import read_commits
from lakescan.formats.delta.log.log_segment import LogListing
from lakescan.formats.delta.log.names import LOG_FOLDER
from lakescan.formats.delta.log.time_travel import own_times_from, rising_times
from lakescan.formats.delta.log.typed_action import TypedAction
from lakescan.io.storage import Storage

_TEXTS = pa.map_(pa.string(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("version", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", "UTC"), nullable=False),
        ("userId", pa.string()),
        ("userName", pa.string()),
        ("operation", pa.string()),
        ("operationParameters", _TEXTS),
        ("job", _TEXTS),
        ("notebook", _TEXTS),
        ("clusterId", pa.string()),
        ("readVersion", pa.int64()),
        ("isolationLevel", pa.string()),
        ("isBlindAppend", pa.bool_()),
        ("operationMetrics", _TEXTS),
        ("userMetadata", pa.string()),
        ("engineInfo", pa.string()),
    ]
)
_NOTES = [field for field in SCHEMA if field.name not in ("version", "timestamp")]


def read_history(storage: Storage, listing: LogListing, properties: dict[str, str], limit: int | None) -> pa.Table:
    """The newest commits, at most `limit` of them; all that the log still has where none is given."""
    if limit is not None and limit < 0:
        raise InvalidLimit(limit)
    count = len(listing.commits) if limit is None else min(limit, len(listing.commits))
    commits = listing.commits[len(listing.commits) - count :]
    texts = read_commits(storage, commits, listing.latest)
    file_times = rising_times(listing.commits)
    own_from = own_times_from(properties)
    rows = []
    for commit, text in zip(reversed(commits), reversed(texts), strict=True):
        info = TypedAction("commitInfo", next(text.actions("commitInfo"), {}), text.file)
        own = info.integer("inCommitTimestamp") if own_from is not None and commit.version >= own_from else None
        moment = (file_times[commit.version] if own is None else own) * 1000
        if abs(moment) >= 1 << 63:
            raise info.malformed("inCommitTimestamp", "a time in milliseconds")
        rows.append(
            {"version": commit.version, "timestamp": moment} | {field.name: _read(info, field) for field in _NOTES}
        )
    try:
        return pa.Table.from_pylist(rows, SCHEMA)
    except UnicodeEncodeError as error:
        # A JSON text may hold half of a character.
        raise CorruptLog(storage.full_path(LOG_FOLDER), f"a commitInfo action has no UTF-8 text ({error})") from error


def _read(info: TypedAction, field: pa.Field) -> Any:
    raw = info.fields.get(field.name)
    if raw is None:
        return None
    if pa.types.is_map(field.type):
        return [(key, _text(value)) for key, value in info.map(field.name).items()]
    if pa.types.is_integer(field.type):
        return info.integer(field.name)
    if pa.types.is_boolean(field.type):
        return raw if isinstance(raw, bool) else str(raw).lower() == "true"
    return _text(raw)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
