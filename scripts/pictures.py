"""Take the pictures in docs/pictures: the report of a query over the demo's table, in a real browser.

At two widths and in dark mode, with headless Chromium (`apt-get install chromium`, or CHROMIUM=/path/to/it). `make
pictures` runs this; look at what changed before you commit it.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import lakescan
from lakescan.demo import TABLE
from lakescan.scan.report import Report

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
WHERE = "day >= '2024-01-03' AND order_id < 2600 AND order_id IS NOT NULL"
NAMED = "/lake/orders"
# Name, width, height, and what else the browser is told.
PICTURES = [
    ("report", 1000, 560, ()),
    ("report-narrow", 400, 900, ()),
    ("report-dark", 1000, 560, ("--blink-settings=preferredColorScheme=0",)),
]


def browser() -> str | None:
    named = os.environ.get("CHROMIUM")
    paths = [shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome")]
    return named or next((path for path in paths if path), None)


def report() -> Report:
    """A report without the figures that differ from run to run, and without the path of this machine."""
    plan = lakescan.open(TABLE).snapshot().scan().filter(WHERE).select("order_id", "city").build()
    readers = (("Arrow in this process", len(plan.tasks(2))),)
    rows = plan.to_arrow().num_rows
    told = replace(plan.report(), table=NAMED, planning_ms=2.1, reading_ms=6.4, rows=rows, readers=readers)
    return Report((told,), lambda: plan.spec.description.replace(str(TABLE), NAMED))


def main() -> int:
    chromium = browser()
    if chromium is None:
        print("No Chromium here: apt-get install chromium, or set CHROMIUM.", file=sys.stderr)
        return 1
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        report().save(page)
        for name, width, height, more in PICTURES:
            words = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *more]
            size = [f"--window-size={width},{height}", f"--screenshot={FOLDER / name}.png", page.as_uri()]
            subprocess.run([*words, *size], check=True, capture_output=True, timeout=120)
            print(FOLDER / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
