"""Hadoop's own S3A, with Amazon's client, reads in executors what workers read, from a real server on this machine.

Maven Central gives S3A and its client, 690 MB, when the session starts; so this is `make s3a`.
"""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.object_store import ObjectStore
from tests.tables import DeltaBuilder

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not os.environ.get("LAKESCAN_S3A"), reason="LAKESCAN_S3A=1 (make s3a) downloads S3A, 690 MB"),
]
SPARK, WORKERS = "Spark's own Parquet reader", "Arrow in Python workers"
OFF = {"lakescan.pushdown.plain_files": "false"}


def hadoop() -> str:
    """The release of Hadoop that PySpark has: another one's S3A does not fit it."""
    pyspark = find_spec("pyspark")
    assert pyspark is not None
    assert pyspark.origin is not None
    (jar,) = (Path(pyspark.origin).parent / "jars").glob("hadoop-client-api-*.jar")
    (release,) = re.findall(r"api-(.*)\.jar$", jar.name)
    return str(release)


def read(store: ObjectStore, location: str, *cases: tuple[dict[str, str], dict[str, str]]) -> list[dict[str, Any]]:
    """What each session reads with its options, and who reads."""
    told = {"fs.s3a.endpoint": store.url, "fs.s3a.endpoint.region": "us-east-1"}
    told |= {"fs.s3a.access.key": "a key", "fs.s3a.secret.key": "a secret", "lakescan.planning.store_files": "true"}
    given = {
        "hadoop": hadoop(),
        "location": location,
        "cases": [{"session": {**told, **session}, "options": options} for session, options in cases],
    }
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    words = [sys.executable, "-m", "tests.spark.s3a_reads"]
    done = subprocess.run(words, input=json.dumps(given), capture_output=True, text=True, env=environment, timeout=800)
    assert done.returncode == 0, done.stderr[-4000:]
    answers: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_s3a_and_workers_read_the_same_rows(object_store: ObjectStore, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64()), ("name", pa.string()), ("city", pa.string())])
    table = DeltaBuilder(tmp_path / "t", schema, ["city"], features=["deletionVectors"])
    for number, city in enumerate(["a b", "100%", "São Paulo"]):
        rows = pa.table({"id": range(100), "name": [f"{city} {at}" for at in range(100)]})
        added = table.append(rows, partition={"city": city}, name=f"city={city}/#{number}.parquet", row_group_size=30)
        table.delete(added, [number, 50, 99], "iuu"[number])
    location = object_store.put(table.root, "by s3a").replace("s3:", "s3a:")
    object_store.keys_seen.clear()
    own = {"fs.s3a.access.key": "the read's key", "fs.s3a.secret.key": "a secret"}
    # A proxy that only Hadoop knows of, and that is not there: S3A fails, and is not asked for each file.
    no_proxy = {"fs.s3a.proxy.host": "127.0.0.1", "fs.s3a.proxy.port": "9"}
    by_s3a, by_workers, by_options, failed = read(
        object_store, location, ({}, {}), ({}, OFF), ({}, own), (no_proxy, {})
    )
    assert len(by_s3a["rows"]) == 291
    assert by_s3a["rows"] == by_workers["rows"] == by_options["rows"] == failed["rows"]
    assert [name for name, _ in by_s3a["readers"]] == [SPARK]
    assert [name for name, _ in by_workers["readers"]] == [WORKERS] == [name for name, _ in by_options["readers"]]
    assert by_options["why"] == ["files that are not on this machine: options of the read open the store"]
    assert object_store.keys_seen == {"a key", "the read's key"}
    assert failed["seconds"] < 60
