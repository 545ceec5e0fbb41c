"""Every function that Spark's V2 translation knows, as SQL over typed slots, and random expressions made of them.

`FUNCTIONS` follows `V2ExpressionBuilder` of PySpark 4.0 to 4.3: (Spark's name for it, what it gives, the SQL). A slot
`{int}` takes any expression of that kind. A `Words` draws expressions: the same seed gives the same text.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

_COMPARED = ("int", "double", "decimal", "text", "folded", "date", "moment", "local", "bytes", "bool")
FUNCTIONS: Sequence[tuple[str, str, str]] = [
    ("ABS", "int", "abs({int})"),
    ("ABS", "double", "abs({double})"),
    ("COALESCE", "int", "coalesce({int}, {int})"),
    ("COALESCE", "text", "coalesce({text}, {text}, 'none')"),
    ("GREATEST", "int", "greatest({int}, {int})"),
    ("LEAST", "date", "least({date}, {date})"),
    ("LOG", "double", "log({double}, {double})"),
    ("LOG10", "double", "log10({double})"),
    ("LOG2", "double", "log2({double})"),
    ("LN", "double", "ln({double})"),
    ("EXP", "double", "exp({double})"),
    ("POWER", "double", "power({double}, {double})"),
    ("SQRT", "double", "sqrt({double})"),
    ("FLOOR", "int", "floor({double})"),
    ("CEIL", "int", "ceil({double})"),
    ("ROUND", "double", "round({double}, 1)"),
    ("ROUND", "decimal", "round({decimal}, 1)"),
    *[
        (name.upper(), "double", f"{name}({{double}})")
        for name in (
            *("sin", "sinh", "cos", "cosh", "tan", "tanh", "cot", "cbrt", "sign"),
            *("asin", "asinh", "acos", "acosh", "atan", "atanh", "degrees", "radians"),
        )
    ],
    ("ATAN2", "double", "atan2({double}, {double})"),
    ("WIDTH_BUCKET", "int", "width_bucket({double}, 0.0D, 10.0D, 5L)"),
    ("AND", "bool", "NOT ({bool} AND {int} > 12)"),
    ("OR", "bool", "({bool} OR {bool} OR {int} > 12)"),
    ("NOT", "bool", "(NOT {bool})"),
    *[
        (op, "bool", f"({{{kind}}} {op} {{{kind}}})")
        for at, op in enumerate(("=", "<>", "<", "<=", ">", ">=", "<=>"))
        for kind in (_COMPARED * 4)[at * 3 : at * 3 + 3]
    ],
    ("+", "int", "({int} + {int})"),
    ("-", "int", "({int} - {int})"),
    ("*", "decimal", "({decimal} * 2)"),
    ("/", "double", "({double} / ({double} + 100.0D))"),
    ("%", "int", "({int} % 7)"),
    ("-", "int", "(-{int})"),
    ("&", "int", "({int} & {int})"),
    ("|", "int", "({int} | {int})"),
    ("^", "int", "({int} ^ {int})"),
    ("~", "int", "(~{int})"),
    ("CASE_WHEN", "int", "CASE WHEN {bool} THEN {int} ELSE {int} END"),
    ("CASE_WHEN", "bool", "CASE WHEN {bool} THEN {bool} WHEN {bool} THEN {bool} END"),
    ("CASE_WHEN", "text", "if({bool}, {text}, {text})"),
    ("SUBSTRING", "text", "substring({text}, 2)"),
    ("SUBSTRING", "text", "substring({text}, 1, 3)"),
    ("UPPER", "text", "upper({text})"),
    ("LOWER", "text", "lower({text})"),
    ("BIT_LENGTH", "int", "bit_length({text})"),
    ("CHAR_LENGTH", "int", "length({text})"),
    ("CONCAT", "text", "concat({text}, {text})"),
    ("TRANSLATE", "text", "translate({text}, 'ab', 'xy')"),
    ("TRIM", "text", "trim({text})"),
    ("LTRIM", "text", "ltrim({text})"),
    ("RTRIM", "text", "rtrim({text})"),
    ("TRIM", "text", "trim(BOTH 'a' FROM {text})"),
    ("OVERLAY", "text", "overlay({text} PLACING 'x' FROM 2)"),
    ("OVERLAY", "text", "overlay({text} PLACING 'xyz' FROM 2 FOR 1)"),
    ("DATE_ADD", "date", "date_add({date}, 3)"),
    ("DATE_DIFF", "int", "datediff({date}, {date})"),
    ("TRUNC", "date", "trunc({date}, 'MONTH')"),
    ("SECOND", "int", "second({moment})"),
    ("MINUTE", "int", "minute({moment})"),
    ("HOUR", "int", "hour({moment})"),
    ("MONTH", "int", "month({date})"),
    ("QUARTER", "int", "quarter({date})"),
    ("YEAR", "int", "year({date})"),
    ("YEAR", "int", "year({moment})"),
    ("DAY_OF_WEEK", "int", "dayofweek({date})"),
    ("DAY_OF_WEEK", "int", "weekday({date})"),
    ("DAY", "int", "day({date})"),
    ("DAY_OF_YEAR", "int", "dayofyear({date})"),
    ("WEEK", "int", "weekofyear({date})"),
    ("YEAR_OF_WEEK", "int", "extract(YEAROFWEEK FROM {date})"),
    ("CRC32", "int", "crc32({bytes})"),
    ("MD5", "text", "md5({bytes})"),
    ("SHA1", "text", "sha1({bytes})"),
    ("SHA2", "text", "sha2({bytes}, 256)"),
    ("LPAD", "text", "lpad({text}, 5, '#')"),
    ("RPAD", "text", "rpad({text}, 5, '#')"),
    ("IN", "bool", "({int} IN (1, 2, {int}))"),
    ("IN", "bool", "({text} IN ('a', 'b', 'ab', 'z', 'x', 'y'))"),
    ("IN", "bool", "({date} IN (DATE'2024-01-01', NULL))"),
    ("IS_NULL", "bool", "({int} IS NULL)"),
    ("IS_NULL", "bool", "({nested} IS NULL)"),
    ("IS_NOT_NULL", "bool", "({nested} IS NOT NULL)"),
    ("IS_NOT_NULL", "bool", "({text} IS NOT NULL)"),
    ("STARTS_WITH", "bool", "startswith({text}, 'a')"),
    ("STARTS_WITH", "bool", "startswith({folded}, 'A')"),
    ("ENDS_WITH", "bool", "endswith({text}, 'b')"),
    ("CONTAINS", "bool", "contains({text}, 'b')"),
    ("CAST", "text", "CAST({int} AS STRING)"),
    ("CAST", "double", "CAST({int} AS DOUBLE)"),
    ("CAST", "date", "CAST({moment} AS DATE)"),
    ("CAST", "date", "CAST({local} AS DATE)"),
    ("CAST", "moment", "CAST({date} AS TIMESTAMP)"),
    ("CAST", "local", "CAST({moment} AS TIMESTAMP_NTZ)"),
    ("CAST", "decimal", "CAST({int} AS DECIMAL(20, 2))"),
    ("CAST", "bool", "CAST({int} AS BOOLEAN)"),
    ("GET_ARRAY_ITEM", "int", "get({ints}, 0)"),
    ("GET_ARRAY_ITEM", "int", "get({ints}, {int})"),
    ("GET_ARRAY_ITEM", "text", "get({structs}, 0).y"),
    ("VARIANT_GET", "int", "variant_get({variant}, '$.a', 'int')"),
    ("VARIANT_GET", "bool", "variant_get({variant}, '$.b', 'boolean')"),
    # Not of the translation, yet able to stand around what is: a map's value, a variant of an expression, text.
    ("", "int", "{map}['a']"),
    ("", "int", "size({ints})"),
    ("", "text", "({text} || CAST({date} AS STRING))"),
    ("", "bool", "({text} LIKE 'a%b')"),
    ("", "bool", "({text} RLIKE '^a')"),
    ("", "int", "try_divide({int}, {int})"),
    ("", "int", "nullif({int}, {int})"),
]

COLUMNS: Mapping[str, Sequence[str]] = {
    "int": ["id", "i", "h", "y", "p", "st.x", "st.inner.z", "req.n"],
    "double": ["d", "f", "st.inner.w"],
    "decimal": ["m", "big", "st.m"],
    "text": ["s", "q", "st.y", "c", "vc"],
    "folded": ["folded"],
    "date": ["t", "r"],
    "moment": ["ts"],
    "local": ["n"],
    "bytes": ["b"],
    "bool": ["k", "st.k"],
    "ints": ["ints", "st.ints"],
    "structs": ["structs"],
    "map": ["map"],
    "variant": ["v"],
    "nested": ["ints", "structs", "map", "st", "st.inner", "v", "req", "b"],
}
LITERALS: Mapping[str, Sequence[str]] = {
    "int": ["0", "1", "2", "7L", "-3", "CAST(NULL AS INT)"],
    "double": ["0.5D", "2.0D", "-1.5D", "double('NaN')", "0.0D"],
    "decimal": ["1.50", "0.01BD", "-10.25", "2"],
    "text": ["'a'", "'ab'", "''", "'bä'", "CAST(NULL AS STRING)"],
    "folded": ["'A'", "'aB'"],
    "date": ["DATE'2024-01-01'", "DATE'1969-12-31'", "DATE'2023-06-15'"],
    "moment": ["TIMESTAMP'2024-01-01 07:00:00Z'", "TIMESTAMP'2023-12-31 00:00:00Z'"],
    "local": ["TIMESTAMP_NTZ'2024-01-01 07:00:00'"],
    "bytes": ["X'61'", "X''"],
    "bool": ["true", "false", "CAST(NULL AS BOOLEAN)"],
}
_SLOT = re.compile(r"\{(\w+)\}")


def kind_of(name: str) -> list[tuple[str, str]]:
    """What gives that kind, and how."""
    return [(kind, text) for _, kind, text in FUNCTIONS if kind == name]


class Words:
    """Random expressions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def expression(self, kind: str, depth: int) -> str:
        inner = kind_of(kind)
        if depth > 0 and inner and self.random.random() < 0.85:
            return self.filled(self.random.choice(inner)[1], depth - 1)
        leaves = [*COLUMNS.get(kind, ()), *COLUMNS.get(kind, ()), *LITERALS.get(kind, ())]
        return self.random.choice(leaves)

    def plainly(self, text: str) -> str:
        """The slots of a text filled with columns: the first with one that Spark can surely hand over."""
        return self.filled(_SLOT.sub(lambda slot: COLUMNS[slot[1]][0], text, count=1), 0)

    def filled(self, text: str, depth: int) -> str:
        """The slots of a text filled with expressions that nest so deep; with columns where nothing nests."""
        return _SLOT.sub(lambda slot: self._slot(slot[1], depth), text)

    def _slot(self, kind: str, depth: int) -> str:
        return self.expression(kind, depth) if depth > 0 else self.random.choice(COLUMNS[kind])
