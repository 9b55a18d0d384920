"""What of a statement's WHERE names keys, and what is left to test.

Keys are used if equalities with the whole partition key, or IN, are among the conditions that AND joins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar

from sortkey.expressions.bindings import Bindings
from sortkey.expressions.condition import CompiledCondition, compile_condition
from sortkey.expressions.partiql_parser import shown_name
from sortkey.expressions.partiql_tree import Delete, Insert, Select, Statement, Update
from sortkey.expressions.paths import find, resolve
from sortkey.expressions.tree import (
    Between,
    Call,
    Comparison,
    Condition,
    Junction,
    Membership,
    Not,
    Operand,
    Path,
    Value,
)
from sortkey.expressions.update import CompiledUpdate, compile_update
from sortkey.values.attribute import AttributeValue, Item

_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

_MOST_KEPT: Final = 32
"""What is kept with a statement: a few things for each table key that it has met."""

P = ParamSpec("P")
R = TypeVar("R")


def kept_with_statement(
    compute: Callable[Concatenate[Statement, P], R],
) -> Callable[Concatenate[Statement, P], R]:
    """Computes once for each statement and each key. The results go when the statement does, whose text is cached."""

    @wraps(compute)
    def kept(statement: Statement, /, *names: P.args, **nothing: P.kwargs) -> R:
        key = (compute, *names)
        known: tuple[R] | None = statement.kept.get(key)
        if known is None:
            if len(statement.kept) >= _MOST_KEPT:
                statement.kept.clear()
            known = statement.kept[key] = (compute(statement, *names, **nothing),)
        return known[0]

    return kept


class Term(NamedTuple):
    """A condition on one attribute, by constants."""

    path: Path
    operator: str
    """A comparator, BETWEEN, IN or begins_with."""
    operands: tuple[Value, ...]


class Access(NamedTuple):
    """How a WHERE uses the key of a table or an index."""

    partitions: tuple[Term, ...]
    """For each attribute of the partition key `=` or IN; none if it does not name the partition."""
    sorts: tuple[Term, ...]
    """For attributes of the sort key, from the left; only the last may have a range."""
    rest: Condition | None


class Equalities(NamedTuple):
    """What a WHERE says of the key that a write needs."""

    terms: Mapping[str, tuple[Value, ...]]
    rest: tuple[Condition, ...]


def conjuncts(where: Condition | None) -> tuple[Condition, ...]:
    if where is None:
        return ()
    return where.conditions if isinstance(where, Junction) and where.operator == "AND" else (where,)


@kept_with_statement
def access(statement: Statement, partitions: tuple[str, ...], sorts: tuple[str, ...]) -> Access:
    parts = conjuncts(statement.where)
    left = list(parts)
    found: list[Term] = []
    for name in partitions:
        # Several partition keys with several values each would be many combinations.
        operators = ("=", "IN") if len(partitions) == 1 else ("=",)
        place = _place(statement, left, name, operators)
        if place is None:
            return Access((), (), statement.where)
        found.append(_taken(left, place))
    ranges: list[Term] = []
    for name in sorts:
        place = _place(statement, left, name, ("=",))
        is_range = place is None
        if place is None:
            place = _place(statement, left, name, ("<", "<=", ">", ">=", "BETWEEN", "begins_with"))
        if place is None:
            break
        ranges.append(_taken(left, place))
        if is_range:
            break
    return Access(tuple(found), tuple(ranges), _joined(left))


def _place(statement: Statement, parts: Sequence[Condition], name: str, operators: tuple[str, ...]) -> int | None:
    """The first of the conditions that has one of these operators on the attribute."""
    for place, part in enumerate(parts):
        term = _term(part)
        if term is not None and term.operator in operators and _name(statement, term.path) == name:
            return place
    return None


def _taken(parts: list[Condition], place: int) -> Term:
    term = _term(parts.pop(place))
    assert term is not None
    return term


def _name(statement: Statement, path: Path) -> str | None:
    """The attribute; None for a part of one."""
    name = str(path.parts[0])
    return statement.names.get(name, name) if len(path.parts) == 1 else None


def _joined(parts: Sequence[Condition]) -> Condition | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Junction("AND", tuple(parts))


def _term(part: Condition) -> Term | None:
    match part:
        case Comparison(operator, Path() as path, Value() as value):
            return Term(path, operator, (value,))
        case Comparison(operator, Value() as value, Path() as path):
            return Term(path, _MIRRORED.get(operator, operator), (value,))
        case Between(Path() as path, Value() as low, Value() as high):
            return Term(path, "BETWEEN", (low, high))
        case Membership(Path() as path, choices):
            return _term_of(path, "IN", choices)
        case Call("begins_with", (Path() as path, Value() as value)):
            return Term(path, "begins_with", (value,))
        case Junction("OR", parts):
            return _choices(parts)
    return None


def _term_of(path: Path, operator: str, operands: Sequence[Operand]) -> Term | None:
    values = tuple(each for each in operands if isinstance(each, Value))
    return Term(path, operator, values) if len(values) == len(operands) else None


def _choices(parts: Sequence[Condition]) -> Term | None:
    """`a = 1 OR a = 2` as `a IN [1, 2]`."""
    terms = [_term(part) for part in parts]
    first = terms[0]
    if first is None:
        return None
    values: list[Value] = []
    for term in terms:
        if term is None or term.path != first.path or term.operator not in ("=", "IN"):
            return None
        values += term.operands
    return Term(first.path, "IN", tuple(values))


@kept_with_statement
def equalities(statement: Statement, names: tuple[str, ...]) -> Equalities:
    """The constants that the key attributes are compared with by `=`."""
    terms: dict[str, tuple[Value, ...]] = {}
    rest: list[Condition] = []
    for part in conjuncts(statement.where):
        term = _term(part)
        name = _name(statement, term.path) if term is not None and term.operator == "=" else None
        if term is not None and name in names:
            terms[str(name)] = terms.get(str(name), ()) + term.operands
        else:
            rest.append(part)
    return Equalities(terms, tuple(rest))


def key_operands(statement: Statement, names: frozenset[str]) -> Iterator[tuple[str, Value]]:
    """All constants that key attributes are compared with, anywhere in the WHERE."""
    pending = [*conjuncts(statement.where)]
    while pending:
        part = pending.pop()
        if isinstance(part, Junction):
            pending += part.conditions
        elif isinstance(part, Not):
            pending.append(part.condition)
        elif (term := _term(part)) is not None and (name := _name(statement, term.path)) in names:
            yield from ((str(name), value) for value in term.operands)


# what is compiled once for a statement


@kept_with_statement
def compiled_where(statement: Statement) -> CompiledCondition:
    """The whole WHERE, for its checks."""
    assert statement.where is not None
    return compile_condition(statement.where)


@kept_with_statement
def compiled_filter(
    statement: Statement, partitions: tuple[str, ...], sorts: tuple[str, ...]
) -> CompiledCondition | None:
    """What is left of the WHERE when the key has been used."""
    rest = access(statement, partitions, sorts).rest
    return None if rest is None else compile_condition(rest)


@kept_with_statement
def compiled_condition(statement: Statement, names: tuple[str, ...]) -> CompiledCondition | None:
    """The condition of a write: an update and EXISTS need the item, and a deletion of no item is none."""
    if isinstance(statement.body, Insert):
        return None
    key = Path((_written(statement, names[0]),))
    rest = equalities(statement, names).rest
    if isinstance(statement.body, Delete):
        if not rest:
            return None
        joined = _joined(rest)
        assert joined is not None
        return compile_condition(Junction("OR", (Call("attribute_not_exists", (key,)), joined)))
    exists = Call("attribute_exists", (key,))
    return compile_condition(Junction("AND", (exists, *rest)) if rest else exists)


def _written(statement: Statement, name: str) -> str:
    """The name as paths of the statement have it."""
    return next((placeholder for placeholder, each in statement.names.items() if each == name), name)


@kept_with_statement
def compiled_actions(statement: Statement) -> CompiledUpdate:
    assert isinstance(statement.body, Update)
    # In the order in which DynamoDB reports paths that overlap.
    return compile_update(statement.body.actions[::-1])


class ShownPaths:
    """A SELECT's list: each path becomes an attribute of its own, named by its end."""

    __slots__ = ("_shown", "attributes", "nested")

    whole: Final = None
    """Paths may have other names in the answer."""

    def __init__(self, statement: Statement, bindings: Bindings) -> None:
        assert isinstance(statement.body, Select)
        paths = (statement.body.paths or ())[::-1]
        names = [shown_name(path, statement.names) for path in paths]
        self._shown = list(zip(names, resolve(paths, bindings), strict=True))[::-1]
        self.attributes = frozenset(str(path[0]) for _, path in self._shown)
        """The top-level attributes that it reads, whole or in part."""
        self.nested = frozenset(str(path[0]) for _, path in self._shown if len(path) > 1)

    def __call__(self, item: Item) -> Item:
        found: list[tuple[str, AttributeValue | None]] = [(name, find(item, path)) for name, path in self._shown]
        return {name: value for name, value in found if value is not None}
