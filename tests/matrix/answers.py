"""One question to both sides: rows in any order, or the condition of an error; and the smallest question that differs.

Many questions go into one query, since a query costs more than an answer. Where a query fails on either side or the
answers differ, its questions are asked in halves, down to one: so an error hides no other question, and the report has
the least that shows the difference.
"""

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.compare import canonical

WHOLE = float(os.environ.get("LAKESCAN_FUZZ", "1")) > 1 or "LAKESCAN_WALKS" in os.environ
"""Whether every question is asked, and not only those of each run."""

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Code that is generated for a dozen rows costs far more than it saves; where everything is asked it is generated."""

Asked = TypeVar("Asked")


@dataclass(frozen=True)
class Answer:
    """Rows with how often each occurs, or the condition of an error."""

    rows: Counter[Any] = field(default_factory=Counter)
    error: str = ""

    def same(self, other: "Answer", rounded: bool = False) -> bool:
        """Whether both are the same; `rounded` where floats were added up in an order that nobody promises."""
        if self.error or other.error:
            return self.error == other.error
        if self.rows == other.rows:
            return True
        return rounded and _close(self.rows, other.rows)

    def __str__(self) -> str:
        if self.error:
            return f"error {self.error}"
        shown = sorted(map(repr, self.rows.elements()))
        return f"{len(shown)} rows {', '.join(shown[:6])[:800]}"


def answer(query: Callable[[], Any]) -> Answer:
    """What a call gives: a DataFrame's rows, or the value itself. An error of Lakescan's own is never like Spark's."""
    try:
        value = query()
        rows = value.collect() if isinstance(value, DataFrame) else [value]
    except (PySparkException, Py4JJavaError, ValueError, TypeError) as error:
        return Answer(error=condition(error))
    return Answer(Counter(canonical(plain(row)) for row in rows))


def plain(value: Any) -> Any:
    """A value of PySpark's that can be compared: a Variant as its bytes."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return dict(sorted(((str(key), plain(item)) for key, item in value.items()), key=lambda pair: pair[0]))
    if hasattr(value, "toJson"):
        return value.toJson()
    if isinstance(value, bytearray):
        return bytes(value)
    return value if isinstance(value, (int, float, str, bytes, type(None))) else f"{type(value).__name__} {value}"


def condition(error: Exception) -> str:
    text = str(error)
    if "LAKESCAN" in text or "lakescan" in text:
        return "LAKESCAN " + " ".join(text.split())[:300]
    if isinstance(error, PySparkException) and error.getCondition():
        return str(error.getCondition())
    if bracketed := re.search(r"\[([A-Z][A-Z_.]+)\]", text):
        return bracketed[1]
    # Without the numbers that Py4J and Spark give to objects and columns.
    return f"{type(error).__name__} {re.sub('[0-9]+', '', text)[:120]}"


def _close(one: Counter[Any], other: Counter[Any]) -> bool:
    left, right = (sorted(rows.elements(), key=lambda row: repr(_coarse(row))) for rows in (one, other))
    return len(left) == len(right) and all(map(_near, left, right))


def _coarse(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_coarse, value))
    number = _number(value) if isinstance(value, str) else value
    return float(f"{number:.5g}") + 0.0 if isinstance(number, float) else value


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_near, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, str) and isinstance(other, str) and one != other:
        return _near(_number(one), _number(other))
    return bool(one == other)


def _number(text: str) -> Any:
    """The number that `describe` writes as text; nothing else is near anything."""
    try:
        return float(text)
    except ValueError:
        return object()


@dataclass
class Comparison:
    """What was compared: how many questions, which differed, which both sides refuse."""

    asked: int = 0
    different: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def check(self, most_refused: float = 0.5) -> None:
        """Fail where answers differed, or where so many questions were refused that little was compared."""
        shown = "\n\n".join(self.different[:20])
        assert not self.different, f"{len(self.different)} of {self.asked} questions differ:\n{shown}"
        assert len(self.refused) <= most_refused * self.asked, (
            f"{len(self.refused)} of {self.asked}: {self.refused[:5]}"
        )


def compare(
    questions: Sequence[Asked],
    ask: Callable[[Sequence[Asked], str], Answer],
    at_once: int,
    rounded: bool = False,
    said: Callable[[Asked], str] = str,
) -> Comparison:
    """Ask both sides, `ours` and `theirs`, so many questions at a time, and by halves where they do not agree."""
    comparison = Comparison(len(questions))

    def part(some: Sequence[Asked]) -> None:
        theirs, ours = ask(some, "theirs"), ask(some, "ours")
        if not theirs.error and ours.same(theirs, rounded):
            return
        if len(some) > 1:
            part(some[: len(some) // 2])
            part(some[len(some) // 2 :])
        elif not ours.same(theirs, rounded):
            comparison.different.append(f"{said(some[0])}\n  ours   {ours}\n  theirs {theirs}")
        else:
            comparison.refused.append(f"{said(some[0])}: {theirs.error}")

    for start in range(0, len(questions), at_once):
        part(questions[start : start + at_once])
    return comparison


@contextmanager
def confs(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """These settings in the session, as they were afterwards."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.unset(name) if earlier is None else spark.conf.set(name, earlier)
