"""The picture of a query: what it says, that it loads nothing, that nothing of a table becomes markup."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lakescan
from lakescan.demo import TABLE
from lakescan.scan.plan import Plan
from lakescan.scan.report import FileFates, Report, ScanReport, Step
from lakescan.show.html import Markup, tag
from tests.sample_tables import SampleTable, sample_tables
from tests.tables import DeltaBuilder

HOSTILE = "</style></pre><script>alert(1)</script>\"'&\x1b[31m"


class Seen(HTMLParser):
    """The elements and the text of a page; every element that is opened must be closed."""

    EMPTY = frozenset({"meta"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.EMPTY:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def plan() -> Plan:
    return lakescan.open(TABLE).snapshot().scan().filter("day = '2024-01-03' AND order_id < 2000").build()


def html(value: Any) -> str:
    """What a notebook shows of a value."""
    return str(value._repr_html_())


def loads_nothing(seen: Seen) -> bool:
    names = {name for name, _ in seen.attributes}
    return not names & {"src", "href", "srcset", "data", "action"} and not {"script", "link", "iframe"} & set(seen.tags)


def test_a_page_says_what_each_step_left_and_why_each_file_was_skipped() -> None:
    report = replace(plan().report(), readers=(("Arrow in this process", 2),), reading_ms=12.0, rows=41)
    seen = Seen(Report((report,), lambda: "the plan").html())
    for words in ("partitions", "statistics", "skipped by partitions: ", "2 by Arrow in this process", "12.0 ms", "41"):
        assert words in seen.text
    assert "the plan" in seen.text
    assert seen.tags.count("rect") == report.files_total
    assert loads_nothing(seen)


def test_a_page_tells_the_browser_to_load_nothing() -> None:
    page = Report((plan().report(),)).html()
    assert "Content-Security-Policy" in page
    assert "default-src &#x27;none&#x27;" in page
    assert "http://" not in page
    assert "https://" not in page


def test_a_notebook_gets_the_same_picture_as_a_part_of_its_page() -> None:
    for value in (plan(), plan().report(), Report((plan().report(),))):
        seen = Seen(value._repr_html_())
        assert seen.tags[0] == "div"
        assert "skipped by partitions" in seen.text
        assert loads_nothing(seen)


def test_whatever_a_table_says_stays_text(tmp_path: Path) -> None:
    columns = pa.schema([("id", pa.int64()), (HOSTILE, pa.string())])
    table = DeltaBuilder(tmp_path / "<script>", columns, [HOSTILE], properties={HOSTILE: HOSTILE})
    table.append(pa.table({"id": [1]}), partition={HOSTILE: HOSTILE})
    snapshot = lakescan.open(table.root).snapshot()
    scan = snapshot.scan().filter(lakescan.col(HOSTILE) == HOSTILE).build()
    pages = [
        Report((scan.report(),), lambda: HOSTILE).html(),
        scan._repr_html_(),
        html(snapshot),
        html(lakescan.open(table.root)),
    ]
    for page in pages:
        seen = Seen(page)
        assert loads_nothing(seen)
        assert "<script>" in seen.text
        assert "alert(1)" in seen.text
        assert "\x1b" not in page
    for text in (repr(scan), repr(snapshot), str(scan.report())):
        assert "\x1b" not in text
        assert "alert(1)" in text


def test_a_name_becomes_markup_by_no_way_but_markup() -> None:
    assert tag("b", "<i>", title='"') == '<b title="&quot;">&lt;i&gt;</b>'
    assert tag("b", Markup("<i></i>")) == "<b><i></i></b>"


def test_a_million_files_stay_legible() -> None:
    fates = FileFates(("read", "statistics"), (np.arange(1_000_000) >= 10).astype(np.int8))
    steps = (Step("table", 1_000_000, 10**12), Step("statistics", 10, 10**7))
    report = ScanReport("/t", 1, "TRUE", ("id",), steps, 0, 1.0, fates=lambda: fates)
    page = Report((report,)).html()
    seen = Seen(page)
    assert seen.tags.count("rect") == 481
    assert len(page) < 100_000
    assert "a bar some 2,084 files" in seen.text


def test_a_query_without_a_scan_says_so() -> None:
    assert "No scan by Lakescan" in Report(()).html()


def test_a_page_is_saved_as_one_file(tmp_path: Path) -> None:
    Report((plan().report(),)).save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("table", sample_tables(), ids=lambda table: table.name)
def test_every_sample_table_shows_itself(table: SampleTable, tmp_path: Path) -> None:
    opened = lakescan.open(table.unpack(tmp_path))
    snapshot = opened.snapshot()
    assert repr(opened) == f"<{table.format} table {opened.location}>"
    assert f"at version {snapshot.version}: " in repr(snapshot)
    assert Seen(html(snapshot)).tags.count("pre") == 1
    assert f"scan of {opened.location}" in repr(Report((snapshot.scan().build().report(),)))
