"""An additional suite over tables of other projects, which runs where LAKESCAN_GOLDEN names their folder.

Nothing else may need these tables: what they show is also shown by the tables of `tests/sample_tables.py`. Here is
where they are, and what the few of them must do that do not simply give rows.
"""

import json
import os
from pathlib import Path
from typing import Any

from lakescan import errors

# Where the variable is not set the suite is one skipped test (see conftest), and these are empty.
GOLDEN = Path(os.environ.get("LAKESCAN_GOLDEN") or os.devnull)
TABLES = sorted(str(log.parent.relative_to(GOLDEN / "delta")) for log in (GOLDEN / "delta").rglob("_delta_log"))
EXPECTED: dict[str, Any] = json.loads((GOLDEN / "expected.json").read_text())["delta"] if TABLES else {}

# Tables that cannot be opened, and why: (error, a part of its message).
REFUSED: dict[str, tuple[type[Exception], str]] = {
    "catalog-owned-preview": (errors.CatalogManaged, "catalogManaged"),
    "data-reader-absolute-paths-escaped-chars": (errors.CorruptLog, "no metaData action"),
    "deltalog-invalid-protocol-version": (errors.UnsupportedFeature, "version 99"),
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": (errors.CorruptLog, "no metaData action"),
    "deltalog-state-reconstruction-from-checkpoint-missing-protocol": (errors.CorruptLog, "no protocol action"),
    "deltalog-state-reconstruction-without-metadata": (errors.CorruptLog, "no metaData action"),
    "deltalog-state-reconstruction-without-protocol": (errors.CorruptLog, "no protocol action"),
    "versions-not-contiguous": (errors.MissingCommit, "00000000000000000001.json"),
}
# Tables with a log and no data files: (version, the paths that the log keeps alive).
WITHOUT_DATA: dict[str, tuple[int, list[str]]] = {
    "checkpoint": (14, ["15"]),
    "corrupted-last-checkpoint": (10, [str(number) for number in range(11)]),
    "delete-re-add-same-file-different-transactions": (3, ["bar", "foo"]),
    "deltalog-commit-info": (0, ["abc"]),
    "log-replay-special-characters-b": (0, ["special p@#h"]),
    # Its data files are there, but under names without the prefix that the log gives them.
    "spark-variant-stable-feature-checkpoint": (
        1,
        [
            "test%file%prefix-part-00000-5f6f82ed-28c5-4f4e-b358-93904826c84d-c000.snappy.parquet",
            "test%file%prefix-part-00000-c98a0433-2bfc-4903-9b2e-0fb34243f552-c000.snappy.parquet",
            "test%file%prefix-part-00001-95062e44-13fa-4917-b169-d289cd21c717-c000.snappy.parquet",
            "test%file%prefix-part-00001-c7ee7ba3-625c-495b-95df-06f44ffb72c9-c000.snappy.parquet",
        ],
    ),
    "update-deleted-directory": (0, [str(number) for number in range(1, 11)]),
}
# Tables whose files are all removed again, under another spelling of their path, which deltalake does not see.
EMPTIED = {
    "canonicalized-paths-normal-a",
    "canonicalized-paths-normal-b",
    "canonicalized-paths-special-a",
    "canonicalized-paths-special-b",
}
