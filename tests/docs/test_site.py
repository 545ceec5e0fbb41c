"""The site takes in pages from outside `docs/`: links from file to file become links from page to page."""

import pytest

from scripts.site_hooks import completed, rewritten


@pytest.mark.parametrize(
    ("source", "written", "on_the_site"),
    [
        ("docs/README.md", "[a](../ARCHITECTURE.md)", "[a](architecture.md)"),
        ("docs/README.md", "[a](../ARCHITECTURE.md#the-picture)", "[a](architecture.md#the-picture)"),
        ("docs/streams.md", "[a](hudi.md#streams)", "[a](hudi.md#streams)"),
        ("CONTRIBUTING.md", "[a](docs/fuzzing.md)", "[a](fuzzing.md)"),
        ("CONTRIBUTING.md", "[a](tests/data/README.md)", "[a](sample-tables.md)"),
        ("CONTRIBUTING.md", "[a](#releases)", "[a](#releases)"),
        ("examples/README.md", "[a](../tests/data/README.md)", "[a](sample-tables.md)"),
        ("docs/hudi.md", "[a](https://github.com/apache/hudi-rs)", "[a](https://github.com/apache/hudi-rs)"),
    ],
)
def test_a_link_leads_to_the_same_page(source: str, written: str, on_the_site: str) -> None:
    assert rewritten(written, source) == on_the_site


def test_a_link_to_a_file_that_is_no_page_is_its_text() -> None:
    assert rewritten("see [LICENSE](LICENSE).", "README.md") == "see LICENSE."


def test_a_link_to_nothing_stays_for_the_build_to_refuse() -> None:
    assert rewritten("[a](nowhere.py)", "docs/README.md") == "[a](nowhere.py)"


def test_a_page_that_the_navigation_does_not_name_is_listed_last() -> None:
    nav = ["README.md", {"How to": [{"Streams": "streams.md"}]}]
    assert completed(nav, ["README.md", "new.md", "streams.md"]) == [*nav, {"More": ["new.md"]}]
    assert completed(nav, ["README.md", "streams.md"]) == nav
