"""The request that a statement stands for, as somebody would have written it without PartiQL.

It is for people to read. The engine runs the statement itself: a request has limits that a statement has not, such as a
filter without keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.partiql_keys import Access, Term, access, compiled_condition, equalities
from sortkey.expressions.partiql_tree import Delete, Exists, Insert, Select, Statement, Update
from sortkey.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Condition,
    Junction,
    Membership,
    Not,
    Operand,
    Path,
    Set,
    Value,
)
from sortkey.expressions.tree import Delete as DeleteElements
from sortkey.expressions.tree_checks import is_reserved
from sortkey.values.attribute import AttributeValue


class KeyNames(NamedTuple):
    """The attributes of the key of a table or an index."""

    partitions: tuple[str, ...]
    sorts: tuple[str, ...]


class StandsFor(NamedTuple):
    operation: str
    request: dict[str, Any]
    requests: int = 1
    """How many requests: one for each partition. `request` is the first of them."""


def stands_for(
    statement: Statement, parameters: list[AttributeValue], table: KeyNames, index: KeyNames | None
) -> StandsFor:
    """What a statement becomes, given the keys of its table and of its index, if it names one."""
    spelling = _Spelling(statement, statement.bind(parameters))
    body = statement.body
    request: dict[str, Any] = {"TableName": statement.table}
    if isinstance(body, Select):
        return _read(statement, spelling, request, table, index)
    names = table.partitions + table.sorts
    if isinstance(body, Insert):
        request["Item"] = statement.filled(body.item, parameters)
        request["ConditionExpression"] = f"attribute_not_exists({spelling.name(names[0])})"
        return StandsFor("PutItem", request | spelling.placeholders())
    request["Key"] = spelling.key(names)
    if isinstance(body, Update):
        request["UpdateExpression"] = spelling.update(body.actions)
    compiled = compiled_condition(statement, names)
    if compiled is not None:
        request["ConditionExpression"] = spelling.condition(compiled.tree)
    if isinstance(body, Update | Delete) and body.returning is not None:
        request["ReturnValues"] = body.returning
    operation = {Update: "UpdateItem", Delete: "DeleteItem", Exists: "ConditionCheck"}[type(body)]
    return StandsFor(operation, request | spelling.placeholders())


def _read(
    statement: Statement, spelling: _Spelling, request: dict[str, Any], table: KeyNames, index: KeyNames | None
) -> StandsFor:
    select = statement.body
    assert isinstance(select, Select)
    target = table if index is None else index
    used = access(statement, *target)
    if select.paths is not None:
        request["ProjectionExpression"] = ", ".join(map(spelling.path, select.paths))
    names = table.partitions + table.sorts
    found = equalities(statement, names)
    if index is None and not found.rest and all(len(found.terms.get(name, ())) == 1 for name in names):
        return StandsFor("GetItem", request | {"Key": spelling.key(names)} | spelling.placeholders())
    if select.index is not None:
        request["IndexName"] = select.index
    if not used.partitions:
        if used.rest is not None:
            request["FilterExpression"] = spelling.condition(used.rest)
        return StandsFor("Scan", request | spelling.placeholders())
    request["KeyConditionExpression"] = spelling.key_condition(used)
    if used.rest is not None:
        request["FilterExpression"] = spelling.condition(used.rest)
    if any(order.name in target.sorts and not order.forward for order in select.order):
        request["ScanIndexForward"] = False
    distinct = {spelling.constant(value) for value in used.partitions[0].operands}
    return StandsFor("Query", request | spelling.placeholders(), len(distinct))


class _Spelling:
    """Trees as the text of expressions, and the placeholders that they need."""

    def __init__(self, statement: Statement, bindings: Bindings) -> None:
        self._statement = statement
        self._bindings = bindings
        self._names: dict[str, str] = {}
        self._values: dict[str, AttributeValue] = {}

    def placeholders(self) -> dict[str, Any]:
        found = {"ExpressionAttributeNames": self._names, "ExpressionAttributeValues": self._values}
        return {member: value for member, value in found.items() if value}

    def name(self, name: str) -> str:
        if name.isascii() and name.isidentifier() and name[0] != "_" and not is_reserved(name):
            return name
        known = next((placeholder for placeholder, each in self._names.items() if each == name), None)
        placeholder = known or f"#{len(self._names)}"
        self._names[placeholder] = name
        return placeholder

    def path(self, path: Path) -> str:
        parts = self._bindings.path(path)
        spelled = [f"[{part}]" if isinstance(part, int) else f".{self.name(part)}" for part in parts]
        return "".join(spelled).removeprefix(".")

    def value(self, value: Value) -> str:
        self._values[value.placeholder] = self._bindings.value(value)
        return value.placeholder

    def constant(self, value: Value) -> str:
        return repr(self._bindings.value(value))

    def key(self, names: tuple[str, ...]) -> dict[str, AttributeValue]:
        terms = equalities(self._statement, names).terms
        if any(name not in terms for name in names):
            raise ValidationException("Where clause does not contain a mandatory equality on all key attributes")
        return {name: self._bindings.value(terms[name][0]) for name in names}

    def operand(self, operand: Operand | Arithmetic) -> str:
        match operand:
            case Path():
                return self.path(operand)
            case Value():
                return self.value(operand)
            case Call():
                return f"{operand.function}({', '.join(map(self.operand, operand.arguments))})"
            case Arithmetic():
                return f"{self.operand(operand.left)} {operand.operator} {self.operand(operand.right)}"

    def condition(self, tree: Condition) -> str:
        match tree:
            case Comparison():
                return f"{self.operand(tree.left)} {tree.operator} {self.operand(tree.right)}"
            case Between():
                operand, low, high = map(self.operand, tree.operands)
                return f"{operand} BETWEEN {low} AND {high}"
            case Membership():
                return f"{self.operand(tree.operand)} IN ({', '.join(map(self.operand, tree.choices))})"
            case Call():
                return self.operand(tree)
            case Not():
                return f"NOT {self._part(tree.condition)}"
            case Junction():
                return f" {tree.operator} ".join(map(self._part, tree.conditions))

    def _part(self, tree: Condition) -> str:
        return f"({self.condition(tree)})" if isinstance(tree, Junction) else self.condition(tree)

    def key_condition(self, used: Access) -> str:
        first, *others = used.partitions
        partition = Comparison("=", first.path, first.operands[0])
        return " AND ".join([self.condition(partition), *map(self._term, (*others, *used.sorts))])

    def _term(self, term: Term) -> str:
        path, operands = self.path(term.path), [self.value(value) for value in term.operands]
        if term.operator == "BETWEEN":
            return f"{path} BETWEEN {operands[0]} AND {operands[1]}"
        return (
            f"begins_with({path}, {operands[0]})"
            if term.operator == "begins_with"
            else (f"{path} {term.operator} {operands[0]}")
        )

    def update(self, actions: tuple[Action, ...]) -> str:
        sections: dict[str, list[str]] = {}
        for action in actions:
            spelled = self.path(action.path)
            match action:
                case Set():
                    spelled += f" = {self.operand(action.value)}"
                case Add() | DeleteElements():
                    spelled += f" {self.value(action.value)}"
            sections.setdefault(type(action).__name__.upper(), []).append(spelled)
        return " ".join(f"{section} {', '.join(spelled)}" for section, spelled in sections.items())
