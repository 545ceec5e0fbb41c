"""Write `src/lakescan/reader/zones_before_1900.txt` from the table in the JARs of the installed PySpark.

The table has, for each zone, moments in the hybrid calendar and what to add to them from there on. Until 1582 that is
the difference of the calendars, the same for all zones but for their offset, and what remains is the zone's own: that
is written. A zone that cannot be taken apart so stops the script.
"""

import json
import zipfile
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

NAME = "julian-gregorian-rebase-micros.json"
TARGET = Path(__file__).resolve().parent.parent / "src" / "lakescan" / "reader" / "zones_before_1900.txt"
HEAD = f"""\
# Made by scripts/zones_before_1900.py from {NAME} of Apache Spark.
# Standard offset, seconds to add, then pairs of a moment and the seconds to add from it on; a tab; the zones.
"""


def main() -> None:
    (jar,) = Path(str(files("pyspark") / "jars")).glob("spark-sql-api_*.jar")
    records = json.loads(zipfile.ZipFile(jar).read(NAME))
    (utc,) = (record for record in records if record["tz"] == "UTC")
    calendars = len(utc["switches"])
    zones: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for record in records:
        switches, diffs = record["switches"], record["diffs"]
        offset, later = utc["switches"][0] - switches[0], diffs[0] - utc["diffs"][0]
        if switches[:calendars] != [moment - offset for moment in utc["switches"]]:
            raise SystemExit(f"{record['tz']} changes calendars at other moments")
        if diffs[:calendars] != [diff + later for diff in utc["diffs"]]:
            raise SystemExit(f"{record['tz']} has other offsets before 1582")
        rest = [number for pair in zip(switches[calendars:], diffs[calendars:], strict=True) for number in pair]
        key = (offset, later, *rest)
        zones[key].append(record["tz"])
    lines = [f"{' '.join(map(str, key))}\t{' '.join(sorted(names))}\n" for key, names in sorted(zones.items())]
    TARGET.write_text(HEAD + "".join(lines))


if __name__ == "__main__":
    main()
