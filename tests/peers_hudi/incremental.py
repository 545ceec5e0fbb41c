"""What Hudi's own incremental queries give of a finished walk: ranges of commits, each kept with its rows."""

import json
import random as randoms
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

RANGES = 4
_COMPLETED = re.compile(r"^(\d+)(?:_(\d+))?\.(?:commit|deltacommit|replacecommit)$")


def record_changes(hudi_on_spark: Callable[[], SparkSession], folder: Path, walk: dict[str, Any]) -> None:
    """Some ranges of commits, both ends included; the last is the whole timeline.

    A range that Hudi cannot read is noted and left out. That may end Java with it (seen with Hudi 1.2: a segmentation
    fault), so each range asks for the session anew.
    """
    done = _completed(folder / "table")
    instants = sorted(done)
    random = randoms.Random(folder.name)
    ranges = [sorted(random.choices(range(len(instants)), k=2)) for _ in range(RANGES - 1)]
    recorded = []
    for number, (first, last) in enumerate([*ranges, [0, len(instants) - 1]]):
        # Hudi leaves out the commit that a range begins at, and names commits by when they were completed.
        settings = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": done[instants[first - 1]] if first else "000",
            "hoodie.datasource.read.end.instanttime": done[instants[last]],
            "hoodie.schema.on.read.enable": str(walk["shape"]["evolution"] == "read").lower(),
        }
        name = f"changes-{number}"
        known = {"start": instants[first], "end": instants[last], "folder": name}
        try:
            frame = hudi_on_spark().read.format("hudi").options(**settings).load(str(folder / "table"))
            frame.coalesce(1).write.mode("overwrite").parquet(str(folder / name))
        except (PySparkException, Py4JError, ConnectionError) as error:
            causes = [line for line in str(error).splitlines() if line.startswith("Caused by")]
            known = {**known, "refused": (causes or [str(error)])[-1][:300]}
        recorded.append(known)
    (folder / "changes.json").write_text(json.dumps(recorded, indent=1))


def _completed(table: Path) -> dict[str, str]:
    """Each completed commit, and what Hudi's queries call it. ALTER TABLE may have made the table a newer version."""
    own = table / ".hoodie" / "timeline"
    folder = own if own.exists() else own.parent
    matches = (_COMPLETED.match(file.name) for file in folder.iterdir())
    return {match[1]: match[2] or match[1] for match in matches if match}
