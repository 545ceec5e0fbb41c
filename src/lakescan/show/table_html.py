"""A version of a table as a notebook shows it: what `lakescan inspect` says."""

from collections.abc import Sequence

from lakescan.show.html import facts, fragment, lines, tag
from lakescan.show.schema import schema_tree


def version_html(location: str, pairs: Sequence[tuple[str, object]], schema_json: str, advised: Sequence[str]) -> str:
    """Facts, schema and advice."""
    advice = [tag("p", tag("b", "advice: "), sentence) for sentence in advised]
    return fragment(tag("h2", location), facts(pairs), tag("pre", lines(schema_tree(schema_json))), *advice)
