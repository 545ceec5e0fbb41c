"""Spark SQL text made safe for sqlglot, whose reading of strings differs from Spark's and between its releases.

In a text that passes, every string constant is read by sqlglot as Spark 4 reads it; a text in which that cannot
be had raises ValueError with the reason.
"""

import re
from itertools import pairwise

import sqlglot

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_NAMED = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def as_sqlglot_reads_it(text: str) -> str:
    """The text with 'it''s' written as 'it\\'s': sqlglot takes the former for two strings, Spark 4 for one."""
    tokens = sqlglot.tokenize(text, dialect="spark")
    for token in tokens:
        source = text[token.start : token.end + 1]
        if token.token_type == sqlglot.TokenType.HEX_STRING and source.startswith("0"):
            raise ValueError(f"{source} is not a constant in Spark SQL; write X'..'")
        if token.token_type == sqlglot.TokenType.STRING and token.text != _unescaped(source[1:-1]):
            raise ValueError(f"the string {source} has an escape that cannot be read for sure")
    for left, right in reversed(list(pairwise(tokens))):
        strings = left.token_type == right.token_type == sqlglot.TokenType.STRING
        if strings and right.start == left.end + 1 and text[left.end] == text[right.start]:
            text = f"{text[: left.end]}\\{text[right.start :]}"
    return text


def _unescaped(source: str) -> str:
    return _ESCAPE.sub(_character, source)


def _character(escape: re.Match[str]) -> str:
    short, long, octal, plain = escape.groups()
    if plain is not None:
        return _NAMED.get(plain, plain)
    return chr(int(octal, 8)) if octal else chr(int(short or long, 16))
