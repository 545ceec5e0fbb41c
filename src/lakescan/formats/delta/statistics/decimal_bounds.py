"""Which bounds of decimals a double has kept exactly.

Some writers (delta-rs) write a decimal's statistics by way of a double, which keeps 15 digits: the least value
1.00000000000000000001 is in the log as 1.0. A bound of more digits, counted from the type's last decimal place on, is
therefore only near the value.
"""

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS_OF_A_DOUBLE = 15


def is_kept_by_a_double(values: pa.Array) -> pa.Array:
    """Where the bound is the value itself: so few digits that a double loses none of them."""
    type_ = values.type
    if type_.precision <= _DIGITS_OF_A_DOUBLE:
        return values.is_valid()
    smallest_lost = pa.scalar(Decimal(1).scaleb(_DIGITS_OF_A_DOUBLE - type_.scale), pa.decimal256(76, type_.scale))
    return pc.fill_null(pc.less(pc.abs(_wide(values)), smallest_lost), False)


def _wide(values: pa.Array) -> pa.Array:
    """The same values in a type that has room for a sum."""
    return values.cast(pa.decimal256(75, values.type.scale))
