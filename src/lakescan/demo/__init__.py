"""The sample table, three queries over it, and what the engine that wrote the table answered: all that a demo needs."""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TABLE = HERE / "orders"
EXPECTED = HERE / "orders_expected.json"


def known_answers() -> dict[str, Any]:
    """Who wrote the table, and that engine's answers: `queries`, a list of `name`, `columns` and `rows`."""
    answers: dict[str, Any] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    return answers
