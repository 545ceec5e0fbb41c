"""Random queries over several tables, as trees that can be written as SQL and made smaller.

A tree is typed as it grows, so nearly every query is one that Spark accepts, and its rows are certain: a LIMIT stands
behind an order by every column, windows have no ties that matter, and floats are never added up. One seed gives one
query in every run.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeAlias

from tests.walks.tables import TABLES, VERSIONS, VIEW_COLUMNS

Scope: TypeAlias = "tuple[tuple[str, str], ...]"
"""Columns that an expression may name: SQL and kind."""

LITERALS: Mapping[str, Sequence[str]] = {
    "int": ["0", "2", "5", "NULL", "-1"],
    "long": ["3L", "12L", "0L"],
    "text": ["'a'", "'pen'", "''", "'B'", "NULL"],
    "bool": ["true", "false", "CAST(NULL AS BOOLEAN)"],
    "date": ["DATE'2024-01-12'", "DATE'2024-02-01'"],
    "moment": ["TIMESTAMP'2024-01-01 09:00:00.000001Z'", "TIMESTAMP'2024-01-02 00:00:00Z'"],
    "local": ["TIMESTAMP_NTZ'2024-01-03 00:00:00'", "TIMESTAMP_NTZ'2024-01-04 12:00:00'"],
    "decimal": ["0.50", "1.25BD", "-1.00"],
    "double": ["1.5D", "0.0D", "double('NaN')"],
    "ints": ["array(1)", "array(1, 2)"],
    "info": ["named_struct('city', 'a', 'n', 2)"],
}
FUNCTIONS: Mapping[str, Sequence[str]] = {
    "int": [
        "({int} + 1)",
        "length({text})",
        "year({date})",
        "({int} % 3)",
        "size({ints})",
        "coalesce({int}, 0)",
        "abs({int})",
    ],
    "long": ["({long} + {int})", "CAST({int} AS BIGINT)", "({long} * 2)"],
    "text": [
        "upper({text})",
        "substring({text}, 1, 1)",
        "concat({text}, {text})",
        "coalesce({text}, 'none')",
        "{info}.city",
    ],
    "bool": ["({int} > 2)", "({text} IS NULL)", "NOT {bool}"],
    "date": ["date_add({date}, 3)", "CAST({moment} AS DATE)", "trunc({date}, 'MONTH')"],
    "moment": ["({moment} + INTERVAL '1' HOUR)"],
    "local": ["date_trunc('DAY', {local})"],
    "decimal": ["({decimal} * 2)", "({decimal} + 0.50)", "CAST({int} AS DECIMAL(7,2))"],
    "double": ["CAST({int} AS DOUBLE)", "coalesce({double}, 0.0D)"],
    "ints": [],
    "info": [],
}
AGGREGATES: Mapping[str, Sequence[tuple[str, str]]] = {
    "int": [("min({e})", "int"), ("max({e})", "int"), ("sum({e})", "long"), ("count(DISTINCT {e})", "long")],
    "long": [("min({e})", "long"), ("max({e})", "long"), ("sum({e})", "long"), ("count({e})", "long")],
    "text": [("min({e})", "text"), ("max({e})", "text"), ("count(DISTINCT {e})", "long")],
    "bool": [("count_if({e})", "long"), ("bool_or({e})", "bool"), ("max({e})", "bool")],
    "date": [("min({e})", "date"), ("max({e})", "date"), ("count({e})", "long")],
    "moment": [("max({e})", "moment"), ("min({e})", "moment")],
    "local": [("max({e})", "local"), ("min({e})", "local")],
    "decimal": [("sum({e})", "wide"), ("max({e})", "decimal"), ("avg({e})", "wide"), ("count({e})", "long")],
    "double": [("max({e})", "double"), ("count({e})", "long")],
    "ints": [("count({e})", "long"), ("max({e})", "ints"), ("count(DISTINCT {e})", "long")],
    "info": [("count({e})", "long"), ("min({e})", "info"), ("count(DISTINCT {e})", "long")],
}
KINDS = list(LITERALS)


@dataclass(frozen=True)
class Named:
    """A table, an older version of one, a view or a CTE."""

    token: str
    alias: str
    columns: Scope

    def text(self) -> str:
        return f"{self.token} AS {self.alias}"

    def smaller(self) -> "Iterator[Source]":
        if "@" in self.token:
            yield replace(self, token=self.token.partition("@")[0] + "⟫")


@dataclass(frozen=True)
class Inner:
    """A query in FROM."""

    query: "Query"
    alias: str

    def text(self) -> str:
        return f"({self.query.text()}) AS {self.alias}"

    def smaller(self) -> "Iterator[Source]":
        for query in self.query.smaller():
            yield replace(self, query=query)


@dataclass(frozen=True)
class Joined:
    left: "Source"
    right: "Source"
    how: str
    on: str

    def text(self) -> str:
        condition = f" ON {self.on}" if self.on else ""
        return f"{self.left.text()} {self.how} {self.right.text()}{condition}"

    def smaller(self) -> "Iterator[Source]":
        yield self.left
        yield self.right
        if self.how not in ("JOIN", "CROSS JOIN"):
            yield replace(self, how="JOIN")
        for left in self.left.smaller():
            yield replace(self, left=left)
        for right in self.right.smaller():
            yield replace(self, right=right)


Source: TypeAlias = "Named | Inner | Joined"


@dataclass(frozen=True)
class Select:
    items: tuple[tuple[str, str], ...]
    source: Source
    where: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    grouping: str = ""
    having: tuple[str, ...] = ()
    distinct: bool = False
    limit: str = ""
    """With the order before it."""

    def text(self) -> str:
        columns = ", ".join(f"{text} AS c{at}" for at, (text, _) in enumerate(self.items))
        parts = [f"SELECT {'DISTINCT ' if self.distinct else ''}{columns} FROM {self.source.text()}"]
        if self.where:
            parts.append("WHERE " + " AND ".join(self.where))
        if self.group:
            keys = ", ".join(self.group)
            parts.append(f"GROUP BY {self.grouping} ({keys})" if self.grouping else f"GROUP BY {keys}")
        if self.having:
            parts.append("HAVING " + " AND ".join(self.having))
        return " ".join([*parts, self.limit] if self.limit else parts)

    def columns(self, alias: str) -> Scope:
        return tuple((f"{alias}.c{at}", kind) for at, (_, kind) in enumerate(self.items))

    def smaller(self) -> "Iterator[Query]":
        if isinstance(self.source, Inner):
            yield self.source.query
        if self.limit:
            yield replace(self, limit="")
        if self.distinct:
            yield replace(self, distinct=False)
        if self.grouping:
            yield replace(self, grouping="")
        for name in ("where", "having", "group", "items"):
            parts = getattr(self, name)
            for at in range(len(parts)):
                if name != "items" or len(parts) > 1:
                    yield replace(self, limit="", **{name: parts[:at] + parts[at + 1 :]})
        for source in self.source.smaller():
            yield replace(self, source=source)


@dataclass(frozen=True)
class SetOf:
    left: "Query"
    right: "Query"
    how: str

    def text(self) -> str:
        return f"({self.left.text()}) {self.how} ({self.right.text()})"

    def columns(self, alias: str) -> Scope:
        return self.left.columns(alias)

    def smaller(self) -> "Iterator[Query]":
        yield self.left
        yield self.right
        for left in self.left.smaller():
            yield replace(self, left=left)
        for right in self.right.smaller():
            yield replace(self, right=right)


@dataclass(frozen=True)
class With:
    """A query after common table expressions, of which one may be recursive; all as text, with their names."""

    tables: tuple[tuple[str, str], ...]
    query: "Query"
    recursive: bool = False

    def text(self) -> str:
        made = ", ".join(f"{name} AS ({text})" for name, text in self.tables)
        return f"WITH {'RECURSIVE ' if self.recursive else ''}{made} {self.query.text()}"

    def columns(self, alias: str) -> Scope:
        return self.query.columns(alias)

    def smaller(self) -> "Iterator[Query]":
        yield self.query
        for query in self.query.smaller():
            yield replace(self, query=query)


Query: TypeAlias = "Select | SetOf | With"


@dataclass
class Maker:
    """Makes the queries of one seed."""

    random: Random
    recursion: bool = True
    _aliases: int = 0
    _tables: list[Named] = field(default_factory=list)

    def query(self, depth: int = 2) -> Query:
        roll = self.random.random()
        if depth == 2 and self.recursion and roll < 0.06:
            return self._recursive()
        if depth == 2 and roll < 0.16:
            return self._with()
        if depth > 0 and roll < 0.26:
            return self._set(depth)
        return self._select(depth)

    # FROM

    def _alias(self) -> str:
        self._aliases += 1
        return f"t{self._aliases}"

    def _named(self) -> Named:
        alias = self._alias()
        if self._tables and self.random.random() < 0.6:
            chosen = self.random.choice(self._tables)
            return Named(chosen.token, alias, tuple((f"{alias}.{name}", kind) for name, kind in chosen.columns))
        if self.random.random() < 0.12:
            name = self.random.choice(list(VIEW_COLUMNS))
            return Named(f"⟪{name}⟫", alias, tuple((f"{alias}.{n}", kind) for n, kind in VIEW_COLUMNS[name].items()))
        table = self.random.choice(TABLES)
        version = f"@{self.random.randint(0, VERSIONS[table.name])}" if self.random.random() < 0.15 else ""
        columns = tuple((f"{alias}.{name}", kind) for name, kind in table.columns.items())
        return Named(f"⟪{table.name}{version}⟫", alias, columns)

    def _source(self, depth: int) -> tuple[Source, Scope]:
        source: Source
        if depth > 0 and self.random.random() < 0.25:
            query, alias = self.query(depth - 1) if depth > 1 else self._select(0), self._alias()
            source, scope = Inner(query, alias), query.columns(alias)
        else:
            source = self._named()
            scope = source.columns
        joins = self.random.choice([0, 0, 1, 1, 2]) if depth > 0 else self.random.choice([0, 0, 0, 1])
        for _ in range(joins):
            source, scope = self._join(source, scope, depth)
        return source, scope

    def _join(self, left: Source, scope: Scope, depth: int) -> tuple[Source, Scope]:
        right: Source
        if depth > 0 and self.random.random() < 0.2:
            query, alias = self._select(0), self._alias()
            right, others = Inner(query, alias), query.columns(alias)
        else:
            right = self._named()
            others = right.columns
        how = self.random.choices(
            ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN"],
            [8, 4, 2, 2, 2, 2, 1],
        )[0]
        if how == "CROSS JOIN" and self.random.random() < 0.8:
            how = "JOIN"
        on = "" if how == "CROSS JOIN" else self._on(scope, others)
        both = scope if "SEMI" in how or "ANTI" in how else (*scope, *others)
        return Joined(left, right, how, on), both

    def _on(self, left: Scope, right: Scope) -> str:
        pairs = [
            (one, other) for one, kind in left for other, like in right if kind == like and kind not in ("info", "bool")
        ]
        if not pairs:
            return self.condition((*left, *right), 0)
        chosen = self.random.sample(pairs, min(len(pairs), self.random.choice([1, 1, 1, 2])))
        parts = [f"{one} {self.random.choice(['=', '=', '=', '=', '<=>'])} {other}" for one, other in chosen]
        if self.random.random() < 0.25:
            parts.append(self.condition((*left, *right), 0))
        return " AND ".join(parts)

    # Expressions

    def expression(self, kind: str, scope: Scope, depth: int) -> str:
        columns = [name for name, of in scope if of == kind]
        made = FUNCTIONS.get(kind, ())
        if depth > 0 and made and self.random.random() < 0.4:
            text = self.random.choice(made)
            for slot in KINDS:
                while f"{{{slot}}}" in text:
                    text = text.replace(f"{{{slot}}}", self.expression(slot, scope, depth - 1), 1)
            return text
        if columns and self.random.random() < 0.9:
            return self.random.choice(columns)
        literal = self.random.choice(LITERALS[kind]) if kind in LITERALS else "1.5"
        return f"CAST(NULL AS {'STRING' if kind == 'text' else 'INT'})" if literal == "NULL" else literal

    def condition(self, scope: Scope, depth: int) -> str:
        roll = self.random.random()
        if depth > 0 and roll < 0.2:
            word = self.random.choice([" OR ", " AND "])
            return f"({word.join([self.condition(scope, depth - 1), self.condition(scope, depth - 1)])})"
        if depth > 0 and roll < 0.28:
            return f"NOT ({self.condition(scope, depth - 1)})"
        if depth > 0 and roll < 0.45:
            return self._subquery_condition(scope)
        kind = self._kind(scope)
        one = self.expression(kind, scope, depth)
        if roll < 0.55:
            return f"{one} IS {self.random.choice(['', 'NOT '])}NULL"
        if kind == "bool" and roll < 0.7:
            return one
        if kind == "text" and roll < 0.7:
            return f"{one} LIKE {self.random.choice(['a', '%n', 'p%', '%', '_'])!r}"
        literals = [text for text in LITERALS.get(kind, ()) if text != "NULL"]
        if literals and roll < 0.75:
            return f"{one} {self.random.choice(['IN', 'NOT IN'])} ({', '.join(self.random.choices(literals, k=2))})"
        operator = self.random.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        other = (
            self.random.choice(literals) if literals and self.random.random() < 0.7 else self.expression(kind, scope, 0)
        )
        return f"{one} {operator} {other}"

    def _kind(self, scope: Scope) -> str:
        return self.random.choice([kind for _, kind in scope if kind != "wide"] or ["int"])

    def _subquery_condition(self, scope: Scope) -> str:
        inner = self._named()
        pairs = [
            (a, b) for a, kind in scope for b, like in inner.columns if kind == like and kind not in ("info", "bool")
        ]
        where = [self.condition(inner.columns, 0)] if self.random.random() < 0.6 else []
        roll = self.random.random()
        if not pairs or roll < 0.2:
            kind = self._kind(inner.columns)
            aggregate, gives = self.random.choice(AGGREGATES[kind])
            value = aggregate.replace("{e}", self.expression(kind, inner.columns, 0))
            told = f"SELECT {value} FROM {inner.text()}{_where(where)}"
            if self.random.random() < 0.4 or gives == "wide":
                return f"{self.random.choice(['', 'NOT '])}EXISTS ({told})"
            return f"{self.expression(gives, scope, 0)} {self.random.choice(['=', '<', '>=', '<>'])} ({told})"
        outer, own = self.random.choice(pairs)
        if roll < 0.5:
            word = self.random.choice(["IN", "IN", "NOT IN"])
            return f"{outer} {word} (SELECT {own} FROM {inner.text()}{_where(where)})"
        where.append(f"{own} = {outer}")
        if roll < 0.8:
            return f"{self.random.choice(['', 'NOT '])}EXISTS (SELECT 1 FROM {inner.text()}{_where(where)})"
        return f"(SELECT count(*) FROM {inner.text()}{_where(where)}) {self.random.choice(['>', '=', '<='])} 1"

    def _scalar(self, scope: Scope) -> tuple[str, str]:
        """A subquery that is one value, of all rows or of those that belong to the row outside."""
        inner = self._named()
        kind = self._kind(inner.columns)
        aggregate, gives = self.random.choice(AGGREGATES[kind])
        value = aggregate.replace("{e}", self.expression(kind, inner.columns, 0))
        where = [self.condition(inner.columns, 0)] if self.random.random() < 0.5 else []
        pairs = [
            (a, b) for a, kind in scope for b, like in inner.columns if kind == like and kind in ("int", "long", "text")
        ]
        if pairs and self.random.random() < 0.5:
            where.append("{1} = {0}".format(*self.random.choice(pairs)))
        return f"(SELECT {value} FROM {inner.text()}{_where(where)})", gives

    def _window(self, scope: Scope) -> tuple[str, str]:
        by = self.expression(self._kind(scope), scope, 0)
        order = self.expression(self._kind(scope), scope, 0)
        number = self.expression("int", scope, 0)
        return self.random.choice(
            [
                (f"count(*) OVER (PARTITION BY {by})", "long"),
                (f"sum({number}) OVER (PARTITION BY {by})", "long"),
                (f"max({number}) OVER (PARTITION BY {by} ORDER BY {order})", "int"),
                (f"rank() OVER (PARTITION BY {by} ORDER BY {order} DESC)", "int"),
                (f"dense_rank() OVER (ORDER BY {order})", "int"),
                (f"count({number}) OVER (ORDER BY {order})", "long"),
            ]
        )

    # SELECT

    def _select(self, depth: int) -> Select:
        source, scope = self._source(depth)
        where = tuple(self.condition(scope, depth) for _ in range(self.random.choice([0, 0, 1, 1, 2])))
        if self.random.random() < 0.4:
            return self._grouped(source, scope, where, depth)
        items = []
        for _ in range(self.random.randint(1, 4)):
            roll = self.random.random()
            if depth > 0 and roll < 0.1:
                items.append(self._scalar(scope))
            elif depth > 0 and roll < 0.2:
                items.append(self._window(scope))
            else:
                kind = self._kind(scope)
                items.append((self.expression(kind, scope, depth), kind))
        distinct = self.random.random() < 0.15
        return Select(tuple(items), source, where, distinct=distinct, limit=self._limit(len(items)))

    def _limit(self, items: int) -> str:
        if self.random.random() < 0.8:
            return ""
        directions = ["", " DESC", " NULLS LAST", " DESC NULLS FIRST"]
        order = ", ".join(f"{at + 1}{self.random.choice(directions)}" for at in range(items))
        offset = f" OFFSET {self.random.randint(1, 3)}" if self.random.random() < 0.3 else ""
        return f"ORDER BY {order} LIMIT {self.random.choice([1, 3, 10])}{offset}"

    def _grouped(self, source: Source, scope: Scope, where: tuple[str, ...], depth: int) -> Select:
        keys = []
        for _ in range(self.random.choice([0, 0, 1, 1, 2])):
            kind = self._kind(scope)
            key = self.expression(kind, scope, self.random.choice([0, 0, 1]))
            if any(name in key for name, _ in scope):
                keys.append((key, kind))
        shown = [key for key in keys if self.random.random() < 0.85]
        items = list(shown)
        for _ in range(self.random.randint(0 if items else 1, 3)):
            kind = self._kind(scope)
            aggregate, gives = self.random.choice([*AGGREGATES[kind], ("count(*)", "long")])
            text = aggregate.replace("{e}", self.expression(kind, scope, self.random.choice([0, 0, 1])))
            if self.random.random() < 0.12:
                text += f" FILTER (WHERE {self.condition(scope, 0)})"
            items.append((text, gives))
        having = ("count(*) > 1",) if self.random.random() < 0.15 else ()
        grouping = self.random.choice(["ROLLUP", "CUBE"]) if keys and self.random.random() < 0.1 else ""
        group = tuple(dict.fromkeys(key for key, _ in keys))
        return Select(tuple(items), source, where, group, grouping, having, limit=self._limit(len(items)))

    def _set(self, depth: int) -> Query:
        left = self._select(depth - 1)
        source, scope = self._source(depth - 1)
        items = tuple((self.expression(kind, scope, 1) if kind != "wide" else "1.5", kind) for _, kind in left.items)
        right = Select(items, source, (self.condition(scope, 0),))
        how = self.random.choice(
            ["UNION", "UNION ALL", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]
        )
        return SetOf(left, right, how)

    def _with(self) -> Query:
        made = []
        for at in range(self.random.choice([1, 1, 2])):
            query = self._select(1)
            columns = tuple((name.partition(".")[2], kind) for name, kind in query.columns("x"))
            made.append((f"w{at}", query.text()))
            self._tables.append(Named(f"w{at}", "", columns))
        query = self._select(1)
        self._tables.clear()
        return With(tuple(made), query)

    def _recursive(self) -> Query:
        child, parent, table = self.random.choice(
            [
                ("id", "parent", "people"),
                ("id", "id - 1", "people"),
                ("id", "id - 2", "orders"),
                ("id", "id - 1", "events"),
            ]
        )
        kinds = dict(next(of.columns for of in TABLES if of.name == table))
        scope = tuple((f"x.{name}", kind) for name, kind in kinds.items())
        start = self.random.choice([f"x.{child} < 2", self.condition(scope, 0)])
        step = f" AND {self.condition(scope, 0)}" if self.random.random() < 0.5 else ""
        text = (
            f"SELECT x.{child}, 0 FROM ⟪{table}⟫ AS x WHERE {start} UNION ALL "
            f"SELECT x.{child}, r.d + 1 FROM r JOIN ⟪{table}⟫ AS x ON x.{parent} = r.n WHERE r.d < 3{step}"
        )
        self._tables.append(Named("r", "", (("n", kinds[child]), ("d", "int"))))
        query = self._select(0)
        self._tables.clear()
        return With((("r(n, d)", text),), query, recursive=True)


def _where(conditions: Sequence[str]) -> str:
    return " WHERE " + " AND ".join(conditions) if conditions else ""
