"""Write `docs/options.md` from the table of options in the code; with `--check`, fail where it is not up to date."""

import sys
from collections.abc import Iterable
from pathlib import Path

from lakescan.formats.registry import FORMATS
from lakescan.options import OF_A_SOURCE, Option, Read
from lakescan.scan import settings

PAGE = Path(__file__).resolve().parent.parent / "docs" / "options.md"
READS = {Read.BATCH: "batch", Read.CHANGES: "changes", Read.STREAM: "stream"}
INTRODUCTION = """\
# Options

Made by `scripts/options_page.py` from the table of options in the code; `make docs` checks that it is up to date.

Options are given to a read in any of these ways, and mean the same in each. Names may be written in any case. An
option that is not on this page, or that the kind of read does not take, is refused with the nearest ones there are: an
ignored option would give the rows of another question.

| way | how |
| --- | --- |
| `lakescan.read` | `lakescan.read(spark, path, options={"versionAsOf": 3})` |
| `lakescan.attach` | `lakescan.attach(spark, "orders", path, options=…)`; a query's own options win over these |
| SQL | `` SELECT * FROM delta.`/path` WITH (`readChangeFeed` = 'true', `startingVersion` = '0') `` |
| `table` | ``spark.read.option("readChangeFeed", "true").option("startingVersion", 0).table("delta.`/path`")`` |
| `format` | `spark.read.format("delta").option("versionAsOf", 3).load(path)`; also `hudi`, and `lakescan` for either |
| a stream | `spark.readStream.format("delta").option("startingVersion", 0).load(path)` |

A batch reads one version. With `readChangeFeed` = `true` (Delta) it gives changes: the rows that a range of versions
inserted, updated and deleted ([changes](changes.md)). Streams have a [page](streams.md) of their own.

PySpark up to 4.2 loads a table before it looks at options. There, SQL's `WITH` and `spark.read.option(…).table(…)` take
settings, `versionAsOf` and `timestampAsOf`; other options that decide which rows a table has are refused with what to
write instead (`lakescan.read(spark, path, options=…)`). Of a table that one query names twice, these releases forget
the options of the second: give such options to `lakescan.read` or `lakescan.attach`.
"""


def rows(options: Iterable[Option]) -> list[str]:
    lines = ["| option | read | value | what it does |", "| --- | --- | --- | --- |"]
    for option in options:
        names = ", ".join(f"`{name}`" for name in option.names if not name.startswith("spark."))
        lines.append(
            f"| {names} | {', '.join(READS[read] for read in option.reads)} | {option.value.says} | {option.says} |"
        )
    return lines


def page() -> str:
    common = settings.OPTIONS.known
    parts = [INTRODUCTION]
    for format_ in FORMATS:
        parts += [f"## {format_.title} tables\n", *rows(format_.options.known), ""]
    parts += ["## Only of `format(…)`\n", *rows(OF_A_SOURCE.known), ""]
    parts += ["## Settings\n", "Of all tables; also Spark confs, see [settings](settings.md).\n", *rows(common), ""]
    return "\n".join(parts)


def main() -> int:
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        print("docs/options.md is not what the code says: run scripts/options_page.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
