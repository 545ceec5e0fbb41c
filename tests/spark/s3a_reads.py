"""Reads a table in a session whose Hadoop has S3A, from Maven Central: `python -m tests.spark.s3a_reads`, told by JSON.

It has a process of its own: the JVM of the other tests has no such class.
"""

import json
import sys
import time
from typing import Any

import lakescan


def main() -> None:
    told: dict[str, Any] = json.load(sys.stdin)
    packages = {"spark.jars.packages": f"org.apache.hadoop:hadoop-aws:{told['hadoop']}"}
    spark = lakescan.session(master="local[2]", **{name.replace(".", "_"): value for name, value in packages.items()})
    answers = []
    for case in told["cases"]:
        session = lakescan.install(spark.newSession())
        for name, value in case["session"].items():
            session.conf.set(name, value)
        begun = time.monotonic()
        frame = lakescan.read(session, told["location"], options=case["options"])
        rows = sorted([*row] for row in frame.selectExpr("*", "input_file_name()").collect())
        seconds = time.monotonic() - begun
        frame.collect()
        (scan,) = lakescan.report(frame).scans
        answers.append({"rows": rows, "readers": scan.readers, "why": scan.why_workers, "seconds": seconds})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
