"""What a PartiQL statement does, once its table is known: read one item, rows of partitions, or all rows; or an action
on one item, as a transaction has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from sortkey.engine.operations import write
from sortkey.engine.operations.answers import is_requested
from sortkey.engine.operations.pages import Selection
from sortkey.engine.operations.queries import bounds, segment_bounds
from sortkey.engine.operations.transactions import Action, Get, Prepared
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.items import Scan
from sortkey.engine.requests.statements import OneStatement, ParameterizedStatement
from sortkey.engine.tables.core import require_table
from sortkey.engine.tables.table import Keyed, Table, check_key, check_scalar_keys
from sortkey.errors import DuplicateItemException, DynamoDBError, ValidationException
from sortkey.expressions import Bindings, Condition, KeyCondition, Projection, ShownPaths
from sortkey.expressions.bindings import DocumentPath
from sortkey.expressions.condition import CompiledCondition
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.key_condition import KeyTerm
from sortkey.expressions.partiql_keys import (
    Term,
    access,
    compiled_actions,
    compiled_condition,
    compiled_filter,
    compiled_where,
    equalities,
    key_operands,
)
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_tree import Delete, Exists, Insert, Select, Statement, Update
from sortkey.expressions.paths import resolve
from sortkey.expressions.tree import Add, Path
from sortkey.expressions.tree import Delete as DeleteElements
from sortkey.values.attribute import (
    SET_TYPES,
    AttributeValue,
    Item,
    Normalised,
    TooLarge,
    normalise_item,
    normalise_value,
    type_of,
)
from sortkey.values.errors import ITEM_TOO_LARGE
from sortkey.values.key_bytes import sort_bytes

WRONG_KEY_TYPE: Final = "Key attribute's data type should match its data type in table's schema: Key {}"
WRONG_OPERAND_TYPE: Final = (
    "One or more parameter values were invalid: Condition parameter type does not match schema type"
)
NO_KEY: Final = "Where clause does not contain a mandatory equality on all key attributes"


class Given(NamedTuple):
    """A statement of a request, with its parameters in their places."""

    request: OneStatement
    statement: Statement
    bindings: Bindings
    parameters: list[AttributeValue]

    @property
    def table_name(self) -> str:
        return table_name_of(self.statement.table)


def given(request: OneStatement) -> Given:
    statement = parse_statement(request.statement)
    try:
        parameters = [normalise_value(value) for value in request.parameters or ()]
    except TooLarge:
        raise ValidationException(ITEM_TOO_LARGE) from None
    return Given(request, statement, statement.bind(parameters), parameters)


def writes(text: str) -> bool | None:
    """Whether the statement is a write; None if it cannot be parsed."""
    try:
        return parse_statement(text).writes
    except DynamoDBError:
        return None


class Rows(NamedTuple):
    """A Query of one or more partitions, or a Scan: ranges of row keys, one after the other."""

    table: Table
    target: Keyed
    selection: Selection
    ranges: list[tuple[bytes, bytes]]
    forward: bool
    scans: bool


def read_plan(one: Given, tables: Mapping[str, Table]) -> Get | Rows:
    """A GetItem if the keys name one item of the table and nothing else is asked of it."""
    if one.table_name not in tables and one.statement.where is not None:
        # What the condition has no order for is reported first.
        _bound(compiled_where(one.statement), one.bindings)
    table = require_table(tables, one.table_name)
    item = single_item(one, table, _shown(one))
    return _rows(one, table) if item is None else item


def item_of_several(one: Given, table: Table) -> Get | None:
    """The item that a SELECT of a batch or a transaction reads. What it shows of documents stays nested, as in the
    other batches and transactions."""
    select = one.statement.body
    assert isinstance(select, Select)
    kept = None if select.paths is None else Projection(_resolved(select.paths, one.bindings))
    return single_item(one, table, kept)


def single_item(one: Given, table: Table, shown: Projection | ShownPaths | None) -> Get | None:
    """The item, if the key and nothing else is asked for."""
    select = one.statement.body
    assert isinstance(select, Select)
    if select.index is not None or one.statement.where is None:
        return None
    found = equalities(one.statement, table.names)
    if found.rest or any(len(values) != 1 for values in found.terms.values()) or len(found.terms) < len(table.names):
        return None
    _check_order(select, table, has_partition=True)
    key = _key(one, table)
    check_scalar_keys(table, shown)
    return Get(table.name, key, shown)


def _shown(one: Given) -> ShownPaths | None:
    assert isinstance(one.statement.body, Select)
    if one.statement.body.paths is None:
        return None
    try:
        return ShownPaths(one.statement, one.bindings)
    except InvalidExpression as error:
        raise ValidationException(str(error)) from None


def _resolved(paths: tuple[Path, ...], bindings: Bindings) -> tuple[DocumentPath, ...]:
    try:
        return resolve(paths, bindings)
    except InvalidExpression as error:
        raise ValidationException(str(error)) from None


def _rows(one: Given, table: Table) -> Rows:
    statement, bindings = one.statement, one.bindings
    select = statement.body
    assert isinstance(select, Select)
    request = Scan(
        table_name=statement.table,
        index_name=select.index,
        consistent_read=getattr(one.request, "consistent_read", None),
        return_consumed_capacity="INDEXES" if _metered(one.request) else None,
    )
    selection = Selection(request, None, None)
    selection.projection = _shown(one)
    if statement.where is not None:
        # Its errors, whichever part of it is tested later. The index must have all that it names.
        selection.condition = _bound(compiled_where(statement), bindings)
    target = selection.target(table)
    check_scalar_keys(table, selection.condition, selection.projection)
    names = _names(target)
    used = access(statement, *names)
    _check_order(select, target, bool(used.partitions))
    _check_types(one, target)
    compiled = compiled_filter(statement, *names)
    selection.condition = None if compiled is None else _bound(compiled, bindings)
    if not used.partitions:
        return Rows(table, target, selection, [segment_bounds(target, 0, 1)], True, scans=True)
    directions = {order.name: order.forward for order in select.order}
    forward = all(directions.get(name, True) for name in names[1])
    ranges = _ranges(bindings, target, used.partitions, used.sorts, directions)
    return Rows(table, target, selection, ranges, forward, scans=False)


def _metered(request: OneStatement) -> bool:
    return is_requested(getattr(request, "return_consumed_capacity", None))


def _names(target: Keyed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(key.name for key in target.partitions), tuple(key.name for key in target.sorts)


def _bound(compiled: CompiledCondition, bindings: Bindings) -> Condition:
    try:
        return compiled.bind(bindings)
    except InvalidExpression as error:
        raise ValidationException(str(error)) from None


def _check_order(select: Select, target: Keyed, has_partition: bool) -> None:
    if select.order and not has_partition:
        raise ValidationException(
            "Must have at least one non-optional hash key condition in WHERE clause when using ORDER BY clause."
        )
    for order in select.order:
        if order.name not in target.names:
            raise ValidationException(
                f"Variable reference {order.name} in ORDER BY clause must be part of the primary key"
            )


def _check_types(one: Given, target: Keyed) -> None:
    """Constants that key attributes are compared with have the types of the keys."""
    used = access(one.statement, *_names(target))
    types = {attribute.name: attribute.type for attribute in target.attributes}
    terms = [term for term in (*used.partitions, *used.sorts) if term.operator != "IN"]
    for term in terms:
        name = str(one.bindings.path(term.path)[0])
        if any(types[name] not in one.bindings.value(value) for value in term.operands):
            raise ValidationException(WRONG_KEY_TYPE.format(name))
    for name, value in key_operands(one.statement, frozenset(types)):
        if types[name] not in one.bindings.value(value):
            raise ValidationException(WRONG_OPERAND_TYPE)


def _ranges(
    bindings: Bindings,
    target: Keyed,
    partitions: tuple[Term, ...],
    sorts: tuple[Term, ...],
    directions: Mapping[str, bool],
) -> list[tuple[bytes, bytes]]:
    """A range for each partition, in the order of IN, or of ORDER BY."""
    first = target.partitions[0]
    choices = _distinct([bindings.value(value) for value in partitions[0].operands])
    if first.name in directions:
        choices.sort(key=lambda value: sort_bytes(first.type, value[first.type]), reverse=not directions[first.name])
    others = _key_terms(bindings, (*partitions[1:], *sorts))
    ranges = []
    for choice in choices:
        terms = {first.name: KeyTerm(first.name, "=", (choice,)), **others}
        wanted = KeyCondition(terms.copy).resolve(target.partitions, target.sorts)
        ranges.append(bounds(target, wanted))
    return ranges


def _distinct(values: list[AttributeValue]) -> list[AttributeValue]:
    return [value for place, value in enumerate(values) if value not in values[:place]]


def _key_terms(bindings: Bindings, terms: tuple[Term, ...]) -> dict[str, KeyTerm]:
    found = {}
    for term in terms:
        name = str(bindings.path(term.path)[0])
        found[name] = KeyTerm(name, term.operator, tuple(bindings.value(value) for value in term.operands))
    return found


# writes


class Insertion(Action):
    """A put of an item whose key is not taken."""

    def prepare(self, found: write.Found) -> Prepared:
        if found.row is not None:
            raise DuplicateItemException
        return super().prepare(found)


def write_plan(one: Given, table: Table) -> Action:
    """The action of an INSERT, UPDATE, DELETE or EXISTS."""
    statement, bindings = one.statement, one.bindings
    body = statement.body
    if isinstance(body, Insert):
        return _insertion(one, table)
    if statement.where is not None:
        # Its errors come first, whichever part of it names the key.
        _bound(compiled_where(statement), bindings)
    key = _key(one, table)
    compiled = compiled_condition(statement, table.names)
    condition = None if compiled is None else _bound(compiled, bindings)
    change = None
    if isinstance(body, Update):
        _check_sets(body, bindings)
        try:
            change = compiled_actions(statement).bind(bindings)
        except InvalidExpression as error:
            raise ValidationException(str(error)) from None
    return Action(
        table.name,
        key,
        _meaning(one, bindings.values),
        update=change,
        condition=condition,
        only_checks=isinstance(body, Exists),
        return_old=one.request.return_values_on_condition_check_failure,
    )


def _check_sets(body: Update, bindings: Bindings) -> None:
    """SET_ADD and SET_DELETE take sets; ADD also takes a number."""
    for action in body.actions:
        if isinstance(action, Add | DeleteElements) and type_of(bindings.value(action.value)) not in SET_TYPES:
            name = "SET_ADD" if isinstance(action, Add) else "SET_DELETE"
            raise ValidationException(f"The second argument to {name} must be a value with type SET")


def _insertion(one: Given, table: Table) -> Insertion:
    body = one.statement.body
    assert isinstance(body, Insert)
    new = _inserted(one)
    for attribute in table.attributes:
        value = new.item.get(attribute.name)
        if value is None:
            raise ValidationException(f"Key attribute should be present in the item: Key {attribute.name}")
        if attribute.type not in value:
            raise ValidationException(WRONG_KEY_TYPE.format(attribute.name))
    return Insertion(table.name, new.item, _meaning(one, new.item), put=new)


def _inserted(one: Given) -> Normalised:
    body = one.statement.body
    assert isinstance(body, Insert)
    new = normalise_item(one.statement.filled(body.item, one.parameters))
    write.check_size(new.size)
    return new


def _meaning(one: Given, values: Mapping[str, AttributeValue]) -> list[object]:
    return [one.statement.text, dict(values), one.request.return_values_on_condition_check_failure]


def _key(one: Given, table: Table) -> Item:
    """The key that the WHERE names by equalities, checked."""
    found = equalities(one.statement, table.names)
    key: Item = {}
    for attribute in table.attributes:
        values = [one.bindings.value(value) for value in found.terms.get(attribute.name, ())]
        if not values:
            raise ValidationException(NO_KEY)
        if any(value != values[0] for value in values):
            raise ValidationException(
                f"Multiple conditions on same key {attribute.name}. Only single item Update/Insert/Delete are supported"
            )
        if attribute.type not in values[0]:
            raise ValidationException(WRONG_KEY_TYPE.format(attribute.name))
        key[attribute.name] = values[0]
    check_key(table, key)
    return key


def returned(statement: Statement) -> str | None:
    """What RETURNING asks for, as UpdateItem's ReturnValues."""
    return statement.body.returning if isinstance(statement.body, Update | Delete) else None


def check_in_transaction(one: Given, table: Table | None) -> None:
    """What a transaction does not allow. Raises ValidationException."""
    body = one.statement.body
    assert isinstance(one.request, ParameterizedStatement)
    if returned(one.statement) is not None:
        raise ValidationException("RETURNING clause is not supported in ExecuteTransaction.")
    if isinstance(body, Select) and body.index is not None:
        raise ValidationException("Reads on indices are not supported within transactions.")
    if table is None:
        return
    if isinstance(body, Select) and item_of_several(one, table) is None:
        raise ValidationException(
            "Select statements within ExecuteTransaction must specify the primary key in the where clause."
        )
    if isinstance(body, Exists):
        found = equalities(one.statement, table.names)
        if len(found.terms) < len(table.names) or not found.rest or body.select.index is not None:
            raise ValidationException("EXISTS() must contain a single item read with additional condition")
