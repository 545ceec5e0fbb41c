"""Floating-point numbers as the text that Java writes for them, with the fewest digits that tell a number from others.

From a thousandth to ten millions it is plain (`5.0`), otherwise it has an exponent (`1.0E20`). Java before 19 writes a
digit more of some numbers.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_PLAIN = (1e-3, 1e7)
_OTHERS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def java_text(values: pa.Array) -> pa.Array:
    """The text of each; null stays null."""
    text, size = values.cast(pa.string()), pc.abs(values.cast(pa.float64()))
    is_plain = pc.or_(pc.and_(pc.greater_equal(size, _PLAIN[0]), pc.less(size, _PLAIN[1])), pc.equal(size, 0.0))
    plain = pc.if_else(pc.match_substring(text, "."), text, pc.binary_join_element_wise(text, "0", "."))
    if pc.all(is_plain, min_count=0).as_py():
        return plain
    # Few are so large or so small, so they are written one by one.
    others = pc.if_else(is_plain, None, values).dictionary_encode()
    numbers = others.dictionary.to_pylist()
    spelled = map(_spelled, numbers, others.dictionary.cast(pa.string()).to_pylist())
    return pc.if_else(is_plain, plain, pa.array(spelled, pa.string()).take(others.indices))


def _spelled(number: float, text: str) -> str:
    """A number with an exponent; `text` has the fewest digits, of which Java writes two at least."""
    if text in _OTHERS:
        return _OTHERS[text]
    shortest = Decimal(text).normalize()
    sign, digits, _ = (shortest if len(shortest.as_tuple().digits) > 1 else Decimal(f"{number:.1e}")).as_tuple()
    first, *rest = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(rest)}E{Decimal(text).adjusted()}"
