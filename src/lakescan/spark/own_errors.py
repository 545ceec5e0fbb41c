"""An error of Lakescan's inside one of Spark's, as itself again: with its class and its one sentence."""

import re

from lakescan import errors
from lakescan.errors import LakescanError

# By its condition from the driver, by its class from a worker.
_OWN = re.compile(r"(?:\[LAKESCAN_(?P<condition>\w+)\]|lakescan\.errors\.(?P<name>\w+):) ?(?P<message>[^\n]*)")


def own_error(text: str) -> LakescanError | None:
    """The error that a text of Spark's carries, None where it carries none."""
    match = _OWN.search(text)
    if match is None:
        return None
    kinds = {kind.__name__.upper(): kind for kind in vars(errors).values() if isinstance(kind, type)}
    kind = kinds.get((match["condition"] or match["name"]).replace("_", "").upper())
    if kind is None or not issubclass(kind, LakescanError):
        return None
    # The message is made already.
    error = kind.__new__(kind)
    error.args = (match["message"].strip(),)
    return error
