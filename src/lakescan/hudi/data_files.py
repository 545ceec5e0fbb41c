"""What executors must know of Hudi's data files: which slices are merged from base and log files, and how.

A slice without log files is a Parquet file like any other. One with log files is merged by hudi-rs, from nothing but
paths and an instant, so that a task stays a few hundred bytes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakescan.hudi.engine import merged
from lakescan.hudi.log_blocks import check_log_file
from lakescan.hudi.names import COMMIT_TIME
from lakescan.storage import Storage


@dataclass(frozen=True)
class HudiFiles:
    """Implements `reader.DataFiles`."""

    storage: Storage
    instant: str
    """Blocks of later commits are not merged."""
    since: str | None = None
    """Only rows that this commit or a later one wrote."""

    def path(self, file: Mapping[str, Any]) -> str:
        path: str = file["path"]
        return path

    def deleted_rows(self, file: Mapping[str, Any]) -> None:
        return None

    def merged_rows(self, file: Mapping[str, Any], columns: list[str]) -> Iterator[pa.RecordBatch] | None:
        logs = file["log_files"]
        if logs is None:
            return None
        return self._merged(file["path"], logs, columns)

    def _merged(self, base: str, logs: list[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
        for log in logs:
            check_log_file(self.storage, log)
        if self.since is None:
            yield from merged(self.storage, self.instant, base, logs, columns)
            return
        # The commit of a row is known only after merging, so it is read too; the reader leaves it out again.
        for batch in merged(self.storage, self.instant, base, logs, list(dict.fromkeys([*columns, COMMIT_TIME]))):
            yield batch.filter(pc.greater_equal(batch.column(COMMIT_TIME), self.since))
