"""The SQL expression of a generated column, read with sqlglot, as one of the few functions that keep order.

An expression that is anything else, or that uses an option not known here, is None: nothing is derived from it.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakescan.predicate import Column
from lakescan.types.calendar_units import UNITS

# Patterns whose texts sort as the times do.
_PATTERNS = {
    "yyyy": "%Y",
    "yyyy-MM": "%Y-%m",
    "yyyy-MM-dd": "%Y-%m-%d",
    "yyyy-MM-dd-HH": "%Y-%m-%d-%H",
    "yyyyMM": "%Y%m",
    "yyyyMMdd": "%Y%m%d",
    "yyyyMMddHH": "%Y%m%d%H",
}
_PARTS: dict[str, str] = {"Year": "year", "Month": "month", "Day": "day", "DayOfMonth": "day", "Hour": "hour"}


@dataclass(frozen=True)
class Generation:
    """How a column is made of its base: identity, date, a part, format, trunc, date_trunc or prefix."""

    function: str
    base: Column
    pattern: str = ""
    unit: str = ""
    length: int | None = None


@lru_cache(maxsize=256)
def read_generation(text: str) -> Generation | None:
    """The expression's meaning, or None."""
    try:
        node = sqlglot.parse_one(text, dialect="spark")
        return _read(cast(exp.Expression, node), text)
    except (SqlglotError, ValueError):
        return None


def _read(node: exp.Expression, text: str) -> Generation | None:
    kind = type(node).__name__
    if kind == "Anonymous" and str(node.this).lower() == "hour" and len(node.expressions) == 1:
        return _of("hour", node.expressions[0])
    if isinstance(node, exp.Column):
        return _of("identity", node)
    if isinstance(node, exp.Cast):
        return _of("date", node.this) if node.to.this == exp.DataType.Type.DATE else None
    if kind == "TsOrDsToDate" and not node.args.get("format"):
        return _of("date", node.this)
    if kind in _PARTS:
        return _of(_PARTS[kind], node.this)
    if kind == "TimeToStr":
        # sqlglot rewrites the pattern in its own terms; the text as it was written is exact.
        pattern = _PATTERNS.get(_only_string(text))
        inner = node.this.this if type(node.this).__name__ == "TimeStrToTime" else node.this
        return _of("format", inner, pattern=pattern) if pattern else None
    if kind in ("TimestampTrunc", "DateTrunc"):
        unit = UNITS.get(node.args["unit"].name.upper(), "")
        function = "date_trunc" if kind == "TimestampTrunc" else "trunc"
        return _of(function, node.this, unit=unit) if unit else None
    if kind == "Substring" and _number(node.args.get("start")) in (0, 1):
        return _prefix(node.this, node.args.get("length"))
    if kind == "Left":
        return _prefix(node.this, node.expression)
    return None


def _prefix(inner: exp.Expression, length: exp.Expression | None) -> Generation | None:
    count = _number(length)
    return _of("prefix", inner, length=count) if count and count > 0 else None


def _of(
    function: str, inner: exp.Expression, pattern: str | None = None, unit: str = "", length: int | None = None
) -> Generation | None:
    # sqlglot adds this around the argument of YEAR and its like; of a date or a timestamp it changes nothing.
    if type(inner).__name__ == "TsOrDsToDate" and not inner.args.get("format"):
        inner = inner.this
    if isinstance(inner, exp.Cast) and inner.to.this == exp.DataType.Type.DATE and function in ("year", "month", "day"):
        inner = inner.this
    if not isinstance(inner, exp.Column) or not all(isinstance(part, exp.Identifier) for part in inner.parts):
        return None
    return Generation(function, Column(tuple(part.this for part in inner.parts)), pattern or "", unit, length)


def _number(node: exp.Expression | None) -> int | None:
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    return int(node.this)


def _only_string(text: str) -> str:
    strings = [
        token.text for token in sqlglot.tokenize(text, dialect="spark") if token.token_type == sqlglot.TokenType.STRING
    ]
    return strings[0] if len(strings) == 1 else ""
