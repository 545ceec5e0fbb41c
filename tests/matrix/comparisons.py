"""Comparisons of every column with literals that occur, that do not, that lie on a bound, and with NULL and NaN."""

from collections.abc import Iterator

from tests.matrix.tables import COLUMNS, ColumnOfType

OPERATORS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
TEXTS = ("text", "fixed", "short", "folded", "two words", "UPPER", "kind")
PATTERNS = ("'a%'", "'%b'", "'%ä%'", "'a_'", "''", "'%'", "'a!%%' ESCAPE '!'", "NULL")


def conditions() -> Iterator[str]:
    """Each condition, and the NOT of it."""
    for of in COLUMNS:
        for text in _of(of):
            yield text
            yield f"NOT ({text})"
    yield from (
        "nothing IS NULL",
        "nothing IS NOT NULL",
        "nothing <=> NULL",
        "whole = tiny",
        "real > single",
        "text = kind",
    )
    yield from ("st.deep.z = 0.5D", "st.y IN ('a', 'zz')", "st.x BETWEEN 1 AND 2", "st.deep IS NULL", "pairs[0].x = 1")
    yield from (
        "counts['a'] = 1",
        "ints[0] IS NULL",
        "size(ints) > 1",
        "array_contains(ints, 2)",
        "true",
        "false",
        "NULL",
    )
    yield from (
        "id IN (SELECT 3L)",
        "whole + tiny > 3",
        "CAST(whole AS STRING) = '4'",
        "year(day) = 2024",
        "flag",
        "NOT flag",
    )


def _of(of: ColumnOfType) -> Iterator[str]:
    name, literals = of.quoted, of.literals
    yield f"{name} IS NULL"
    if not literals:
        return
    for operator in OPERATORS:
        for literal in literals:
            yield f"{name} {operator} {literal}"
    yield f"{name} = {name}"
    yield f"{name} IN ({literals[0]})"
    yield f"{name} IN ({', '.join(literals)})"
    yield f"{name} NOT IN ({', '.join(literals)})"
    yield f"{name} IN ({literals[0]}, NULL)"
    yield f"{name} NOT IN ({literals[-1]}, NULL)"
    yield f"{name} BETWEEN {literals[0]} AND {literals[-1]}"
    yield f"{name} NOT BETWEEN {literals[-1]} AND {literals[0]}"
    yield f"{literals[0]} < {name}"
    yield f"{name} = {literals[0]} OR {name} IS NULL"
    if of.name in TEXTS:
        yield from (f"{name} LIKE {pattern}" for pattern in PATTERNS)
        yield f"{name} RLIKE '^a'"
        yield f"startswith({name}, 'a') AND length({name}) > 1"
