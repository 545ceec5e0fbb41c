"""How many examples a property takes: its own number times `LAKESCAN_FUZZ`, which is 1 unless it is set.

`make test` sets 0.2, `make properties` 20.
"""

import os

_FACTOR = float(os.environ.get("LAKESCAN_FUZZ", "1"))


def examples(number: int) -> int:
    """That many, times the factor."""
    return max(1, round(number * _FACTOR))


def seeds(number: int) -> range:
    """Seeds of tests that each are a test of their own: there are never fewer, so their names do not change."""
    return range(number * max(1, int(_FACTOR)))
