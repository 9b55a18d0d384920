"""What `where=` requires, as a tree: conditions of fields, joined by and and or.

A mapping requires all of its conditions, and a `Combination` joins mappings. What it negates is negated at the leaves,
so that a test that only errs on one side keeps its side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from sortkey.model.changes import placeholders
from sortkey.model.changes.combination import Combination, Where
from sortkey.model.changes.condition import EITHER, Condition, condition_in_store
from sortkey.model.changes.conditions import (
    attribute_of,
    condition_of,
    render_condition,
    result_if_absent,
    shown_value,
)
from sortkey.model.changes.own_form import OwnForm, TextForm, own_form
from sortkey.model.changes.places import (
    PlacePlaceholders,
    Steps,
    find_place,
    parse_place,
    stored_at,
    value_at,
    values_if_absent,
)
from sortkey.model.errors import EncodeError, NoAccessPath
from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.items.schema import Schema


class Leaf(NamedTuple):
    """A condition on a field, or on a place inside it."""

    field: str
    steps: Steps
    condition: Condition
    fields: Any
    """What the field, or the last step, belongs to: a schema, or `Fields`."""
    name: str
    """Its name there."""
    path: Steps
    """The attribute, and the steps into it as they are stored."""
    if_absent: bool | None
    """The result for a row without the attribute, or without the place; None if only the row tells."""
    of_key: bool = False
    """Whether it is of a field of the primary key. The key says what the field is, and the store cannot read that. Then
    `if_absent` is the result for rows with the attribute, too."""

    @property
    def attribute(self) -> str:
        return str(self.path[0])

    def accepts(self, item: Any) -> bool:
        condition = self.condition.for_item(self.fields, item)
        return self._holds(condition, value_at(getattr(item, self.field), self.steps))

    def holds(self, value: Any) -> bool:
        """Whether a value meets the condition; other fields are absent."""
        return self._holds(self.condition, value)

    def holds_if_missing(self) -> bool:
        """Whether a missing item meets the condition."""
        return self.condition.holds_if_missing(self.fields, self.name)

    def _holds(self, condition: Condition, value: Any) -> bool:
        shown = None if value is None else shown_value(self.fields, self.name, value)
        return condition.holds(self.fields, self.name, shown)

    @property
    def is_exact(self) -> bool:
        """Whether the store can tell for every row."""
        return self.if_absent is not None and not self.of_key and self._form is None

    @property
    def _field(self) -> Field:
        known: Field = self.fields.codec.by_name[self.name]
        return known

    @property
    def _form(self) -> OwnForm | None:
        """How the store can compare; None if it is right about every value."""
        form = own_form(self._field)
        return None if form is None or self.condition.right_results(self._field.annotation.base) == EITHER else form

    def needs_program(self, row: Row, *, test_forms: bool) -> bool:
        """Whether the store cannot tell for this row."""
        stored = stored_at(row.get(self.attribute), self.path[1:])
        if stored is None or self.condition.others or self.of_key:
            return self.if_absent is None
        form = self._form
        return form is not None and not (test_forms and isinstance(form, TextForm) and form.includes(stored))

    def render(self, otherwise: bool, outer: placeholders.Placeholders, *, test_forms: bool) -> str | bool:
        """The condition in DynamoDB's syntax, with `otherwise` as its result where the store cannot tell; that result
        if it can tell of no row. Without `test_forms`, it does not tell the form of a value, which takes many tests."""
        if self.of_key:
            return self._by_key(otherwise)
        names = outer if not self.steps else PlacePlaceholders(outer, self.attribute, self.path[1:])
        condition = self._in_store(otherwise, test_forms)
        if condition is None:
            return self._by_presence(otherwise, names)
        if_absent = otherwise if self.if_absent is None else self.if_absent
        return render_condition(self.fields, self.name, condition, if_absent, names)

    def _by_key(self, otherwise: bool) -> bool:
        # A value that the field cannot have is rejected, as in other conditions.
        self.condition.render(self.fields, self.name, placeholders.Placeholders())
        return otherwise if self.if_absent is None else self.if_absent

    def _in_store(self, otherwise: bool, test_forms: bool) -> Condition | None:
        """The condition as the store can test it; None if it cannot."""
        if not self.condition.others:
            condition = condition_in_store(self.condition, self._field, otherwise)
            return condition if test_forms or condition is self.condition else None
        names = (self.name, *self.condition.others)
        forms = {form for form in (own_form(self.fields.codec.by_name[each]) for each in names) if form is not None}
        if forms and not (test_forms and all(isinstance(form, TextForm) for form in forms)):
            return None
        return condition_in_store(self.condition.settled(otherwise), self._field, otherwise)

    def _by_presence(self, otherwise: bool, names: placeholders.Placeholders) -> str | bool:
        """The result if nothing is known but whether the row has the attribute."""
        if self.if_absent in (None, otherwise):
            return otherwise
        function = "attribute_exists" if otherwise else "attribute_not_exists"
        return f"{function}({names.name(self._field.attribute)})"


class Branch(NamedTuple):
    """All, or any, of several nodes."""

    every: bool
    nodes: tuple[Node, ...]


Node = Leaf | Branch


class Requirement:
    """`where=` for the items of one class. Raises for fields that a condition cannot use."""

    def __init__(self, schema: Schema[Any], where: Where | None, given: Mapping[str, Any]) -> None:
        """`given` has the fields of the path."""
        self._schema = schema
        self._given = given
        self.root = self._parse({} if where is None else where, negated=False)
        self.leaves: tuple[Leaf, ...] = tuple(_leaves(self.root))

    def _parse(self, where: Where, negated: bool) -> Node:
        if isinstance(where, Combination):
            inner = negated != (where.name == "none_of")
            parts = tuple(self._parse(part, inner) for part in where.parts)
            # "Not all" is "any not", and "none" is "all not".
            return Branch(not inner if where.name == "all_of" else inner, parts)
        leaves = (self._leaf(name, condition_of(wanted), negated) for name, wanted in where.items())
        return Branch(not negated, tuple(leaves))

    def _leaf(self, name: str, condition: Condition, negated: bool) -> Leaf:
        field, steps = parse_place(name, self._schema)
        attribute = attribute_of(self._schema, field)
        wanted = ~condition if negated else condition
        if wanted.others:
            self._check_others(name, field, steps, wanted)
            of_key = any(map(self._is_of_key, (field, *wanted.others)))
            return Leaf(field, (), wanted, self._schema, field, (attribute,), None, of_key)
        if not steps:
            if_absent = result_if_absent(self._schema, field, wanted, self._given)
            return Leaf(field, (), wanted, self._schema, field, (attribute,), if_absent, self._is_of_key(field))
        found = find_place(self._schema, field, steps)
        leaf = Leaf(field, steps, wanted, found.fields, found.name, (attribute, *found.stored), None)
        results = {leaf.holds(value) for value in values_if_absent(self._schema, field, steps)}
        # A place may be absent with all that contains it, and then show another default.
        return leaf._replace(if_absent=results.pop() if len(results) == 1 else None)

    def _is_of_key(self, field: str) -> bool:
        """Whether the primary key holds the field in another attribute than its own."""
        primary = self._schema.primary
        own = self._schema.codec.by_name[field].attribute
        return field in primary.fields and all(part.name != own for part in primary.attributes)

    def _check_others(self, name: str, field: str, steps: Steps, condition: Condition) -> None:
        if steps:
            raise NoAccessPath(f"{self._schema.name}: {name} is a place in a field; only fields compare with fields")
        known = self._schema.codec.by_name
        for other in condition.others:
            attribute_of(self._schema, other)
            if other == field:
                raise EncodeError(f"{self._schema.name}.{field} is compared with itself")
            if not _are_comparable(known[field], known[other]):
                stored = f"stored as {known[field].stored} and {other} as {known[other].stored}"
                raise EncodeError(
                    f"{self._schema.name}.{field} is {stored}, in different forms, so they cannot be compared"
                )

    @property
    def fields(self) -> set[str]:
        """The fields that it depends on."""
        return {field for leaf in self.leaves for field in (leaf.field, *leaf.condition.others)}

    def accepts(self, item: Any) -> bool:
        """Whether an item meets it."""
        return self.holds(lambda leaf: leaf.accepts(item))

    def holds(self, leaf_holds: Callable[[Leaf], bool]) -> bool:
        return _holds(self.root, leaf_holds)

    def needs_program(self, row: Row, otherwise: bool) -> bool:
        """Whether the store cannot tell for this row, if it is asked for `expression`."""
        text = self._rendered(otherwise, placeholders.Placeholders(), test_forms=True)
        test_forms = isinstance(text, bool) or placeholders.fits(text)
        return any(leaf.needs_program(row, test_forms=test_forms) for leaf in self.leaves)

    def expression(self, otherwise: bool, given: placeholders.Placeholders) -> str | bool:
        """The requirement in DynamoDB's syntax, with `otherwise` as the result of the leaves that the store cannot
        judge; that result if nothing else is left. The store does not judge forms if their tests are too many."""
        before = given.mark()
        text = self._rendered(otherwise, given, test_forms=True)
        if isinstance(text, bool) or placeholders.fits(text):
            return text
        given.back_to(before)
        return self._rendered(otherwise, given, test_forms=False)

    def _rendered(self, otherwise: bool, given: placeholders.Placeholders, *, test_forms: bool) -> str | bool:
        return _render(self.root, lambda leaf: leaf.render(otherwise, given, test_forms=test_forms), given)


def _are_comparable(one: Field, other: Field) -> bool:
    """Whether two fields are stored in one form: a codec of the program's own is a form."""
    codecs = [each.annotation.base.codec for each in (one, other) if isinstance(each.annotation.base, StoredType)]
    return one.tag == other.tag and (not codecs or codecs == codecs[:1] * 2)


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for each in node.nodes:
            yield from _leaves(each)


def _holds(node: Node, leaf_holds: Callable[[Leaf], bool]) -> bool:
    if isinstance(node, Leaf):
        return leaf_holds(node)
    results = (_holds(each, leaf_holds) for each in node.nodes)
    return all(results) if node.every else any(results)


def _render(node: Node, leaf_text: Callable[[Leaf], str | bool], given: placeholders.Placeholders) -> str | bool:
    if isinstance(node, Leaf):
        return leaf_text(node)
    before = given.mark()
    results = [_render(each, leaf_text, given) for each in node.nodes]
    texts = [each for each in results if isinstance(each, str)]
    if not texts or (not node.every) in results:
        # The store rejects placeholders without a use.
        given.back_to(before)
        return node.every if all(each is node.every for each in results) else not node.every
    return placeholders.all_of(texts) if node.every else placeholders.any_of(*texts)
