"""What an expression that is no predicate still says of its columns.

`implied` gives a predicate that is TRUE wherever the expression is; it may be TRUE elsewhere too, so it serves for
skipping only and the expression must still be evaluated. A part that says nothing is TRUE.
"""

import pyarrow as pa

from lakescan.predicate.expression import MIRRORED, Call, Expression, exact
from lakescan.predicate.split import conjoin, disjoin, negate, push_not_inwards
from lakescan.predicate.tree import OPERATORS, TRUE, Literal, Predicate
from lakescan.predicate.unwrap import unwrap


def implied(expression: Expression, schema: pa.Schema, zone: str, negated: bool = False) -> Predicate:
    """A predicate that is TRUE wherever the expression (its negation) is; `zone` is the session's time zone."""
    whole = exact(expression, schema)
    if whole is not None:
        return negate(whole) if negated else push_not_inwards(whole)
    match expression:
        case Call("NOT", (child,)):
            return implied(child, schema, zone, not negated)
        case Call("AND" | "OR" as name, parts):
            either = (name == "OR") != negated
            said = [implied(part, schema, zone, negated) for part in parts]
            return disjoin(said) if either else conjoin(said)
        case Call("IN", (left, *values)) if not negated:
            return disjoin(
                unwrap("=", left, value, schema, zone) if isinstance(value, Literal) else TRUE for value in values
            )
        case Call(op, (left, Literal() as right)) if op in OPERATORS:
            return unwrap(_opposite(op) if negated else op, left, right, schema, zone)
        case Call(op, (Literal() as left, right)) if op in OPERATORS:
            op = MIRRORED.get(op, op)
            return unwrap(_opposite(op) if negated else op, right, left, schema, zone)
    return TRUE


def _opposite(op: str) -> str:
    opposites = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
    # NOT (a <=> b) is TRUE beside a NULL, where no comparison is.
    return opposites.get(op, "")
