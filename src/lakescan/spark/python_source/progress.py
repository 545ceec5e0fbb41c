"""What each batch of a stream read, from the progress that Spark keeps.

A Python data source cannot report metrics of its own (Spark asks only Java sources for them), but the offsets that
any source gives are shown in the progress as they are: what a batch held is in its end or, where the ends are another
engine's too, in the newest offset, for which Spark asks with each batch.
"""

import json
from ast import literal_eval
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class BatchProgress:
    """One batch of one table: its versions, both included, and how far behind the newest version it left the stream."""

    batch: int
    from_version: int | str
    to_version: int | str
    files: int
    bytes: int
    rows: int
    newest_version: int | str
    versions_behind: int
    warning: str | None = None


def progress_of(query: StreamingQuery) -> list[BatchProgress]:
    """The batches that Spark still remembers, oldest first."""
    batches = []
    for progress in query.recentProgress:
        for source in progress["sources"]:
            latest = _offset(source["latestOffset"])
            notes = _offset(source["endOffset"]).get("batch", latest.get("batch"))
            # A trigger that found nothing new shows the offset of the batch before it.
            if notes is None or source["endOffset"] == source["startOffset"]:
                continue
            newest = latest.get("newestVersion", notes["newestVersion"])
            # Versions that are numbers can be counted; one that is an instant only says when.
            behind = notes["versionsBehind"] if isinstance(newest, str) else max(0, newest - notes["toVersion"])
            batches.append(
                BatchProgress(
                    batch=progress["batchId"],
                    from_version=notes["fromVersion"],
                    to_version=notes["toVersion"],
                    files=notes["files"],
                    bytes=notes["bytes"],
                    rows=source["numInputRows"],
                    newest_version=newest,
                    versions_behind=behind,
                    warning=notes.get("warning"),
                )
            )
    return batches


def _offset(text: Any) -> dict[str, Any]:
    """An offset of ours; nothing where there is none or it is another source's."""
    offset = text
    for read in (json.loads, literal_eval):
        # PySpark 4.0 and 4.1 show the JSON of an offset as Python writes a dictionary.
        if isinstance(offset, str):
            with suppress(ValueError, SyntaxError):
                offset = read(offset)
    return offset if isinstance(offset, dict) and "lakescanOffset" in offset else {}
