"""The page of compatibility lists what is compared with Delta Spark, all of it and nothing else."""

import re
from pathlib import Path

from tests.peers.snippets import SNIPPETS

PAGE = Path(__file__).parents[2] / "docs" / "compatibility.md"


def test_every_snippet_is_in_the_table_of_compatibility() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert listed == [snippet.__name__ for snippet in SNIPPETS]
    assert len(listed) >= 25
