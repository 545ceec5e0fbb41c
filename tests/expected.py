"""Tables that Delta Spark wrote, with what Delta Spark reads from them; `tests/data/make_changes.py` makes both."""

import json
import math
import os
import shutil
from datetime import date, datetime, timezone
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

DATA = Path(os.environ.get("LAKESCAN_CHANGES", Path(__file__).parent / "data"))


def tables() -> list[str]:
    return sorted(file.parent.name for file in DATA.glob("*/expected.json"))


def copied(name: str, folder: Path) -> tuple[Path, dict[str, Any]]:
    """A copy of the table whose commit files have the times at which they were written, and what is expected of it."""
    expected = json.loads((DATA / name / "expected.json").read_text())
    root = folder / name
    shutil.copytree(DATA / name, root)
    for version, time in enumerate(expected["commit_times"]):
        os.utime(root / "_delta_log" / f"{version:020d}.json", ns=(time * 1_000_000, time * 1_000_000))
    return root, expected


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    """Rows that can be compared whatever order they came in."""
    return sorted(json.dumps(plain(row), sort_keys=True) for row in rows)


def plain(value: Any) -> Any:
    """A value as the files of expectations write it: JSON, with text for what JSON has no form for."""
    match value:
        case {"value": bytes() | bytearray() as variant, "metadata": bytes() | bytearray() as names} if len(value) == 2:
            return {"variant": _variant(bytes(variant), bytes(names))}
        case dict():
            return {str(key if isinstance(key, str) else plain(key)): plain(inner) for key, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).isoformat()
        case date() | Decimal():
            return str(value)
        case bytes() | bytearray():
            return value.hex()
        case str() if len(value) > 200:
            return f"{value[:20]}... {len(value)} characters, {sha256(value.encode()).hexdigest()}"
        case float() if not math.isfinite(value):
            return str(value)
        case _ if type(value).__name__ == "VariantVal":
            return {"variant": value.toJson()}
        case _:
            return value


def _variant(value: bytes, metadata: bytes) -> str:
    from pyspark.sql.types import VariantVal

    return str(VariantVal(value, metadata).toJson())


def plain_rows(table: "pa.Table") -> list[dict[str, Any]]:
    return [plain(row) for row in table.to_pylist(maps_as_pydicts="strict")]
