"""Predicates taken apart and put together, with nothing lost.

Every function gives a predicate, or parts whose AND is a predicate, with the same answer as before for every
row: TRUE, FALSE and NULL alike.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

from lakescan.predicate.tree import FALSE, TRUE, And, Comparison, Constant, Not, Or, Predicate, columns_of

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """The parts of which the predicate is the AND, from left to right; TRUE has no parts."""
    parts: list[Predicate] = []
    pending = [predicate]
    while pending:
        part = pending.pop()
        if isinstance(part, And):
            pending += [part.right, part.left]
        elif part != TRUE:
            parts.append(part)
    return tuple(parts)


def conjoin(parts: Iterable[Predicate]) -> Predicate:
    """The AND of the parts; TRUE when there are none, or none that asks for anything.

    Parts that are ANDs themselves are taken apart, so that what grows part by part does not nest as deep.
    """
    whole = tuple(one for part in parts for one in conjuncts(part))
    return combine(And, whole) if whole else TRUE


def disjoin(parts: Iterable[Predicate]) -> Predicate:
    """The OR of the parts; FALSE when there are none, TRUE when one of them is TRUE."""
    given = tuple(part for part in parts if part != FALSE)
    if TRUE in given:
        return TRUE
    return combine(Or, given) if given else FALSE


def combine(kind: Callable[[Predicate, Predicate], Predicate], parts: Sequence[Predicate]) -> Predicate:
    """One tree of AND or OR over the parts, balanced so that thousands of them do not nest thousands deep."""
    if len(parts) == 1:
        return parts[0]
    middle = (len(parts) + 1) // 2
    return kind(combine(kind, parts[:middle]), combine(kind, parts[middle:]))


def split_by_columns(predicate: Predicate, names: Collection[str]) -> tuple[Predicate, Predicate]:
    """(what only needs the top-level columns in `names`, the rest): their AND is the predicate."""
    inside: list[Predicate] = []
    outside: list[Predicate] = []
    for part in conjuncts(predicate):
        within = all(column.path[0] in names for column in columns_of(part))
        (inside if within else outside).append(part)
    return conjoin(inside), conjoin(outside)


def push_not_inwards(predicate: Predicate) -> Predicate:
    """The negation normal form: NOT is left only over `<=>`, IN, IS NULL and startswith."""
    match predicate:
        case And(left, right):
            return And(push_not_inwards(left), push_not_inwards(right))
        case Or(left, right):
            return Or(push_not_inwards(left), push_not_inwards(right))
        case Not(child):
            return negate(child)
        case _:
            return predicate


def negate(predicate: Predicate) -> Predicate:
    """The negation normal form of NOT predicate."""
    match predicate:
        case And(left, right):
            return Or(negate(left), negate(right))
        case Or(left, right):
            return And(negate(left), negate(right))
        case Not(child):
            return push_not_inwards(child)
        case Constant(value):
            return predicate if value is None else Constant(not value)
        case Comparison(op, left, right) if op in _OPPOSITE:
            return Comparison(_OPPOSITE[op], left, right)
        case _:
            return Not(predicate)
