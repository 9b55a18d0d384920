"""What `where=` requires of the items of one class: one expression for the store.

The expression is true of a row exactly if its item matches. A row that lacks an attribute shows the field's default, so
what the default means is decided here, once: `status = :v OR attribute_not_exists(status)`. NULL is None, or the empty
set. Rows that the class cannot read (of another type, or in another form) have no item, and the expression may say
anything of them; reading them raises, and an audit counts them.

Rows of another version, and those of a subclass that declares a field otherwise, are different: the store must not
judge them. Requests have tests for that (`version_tests.py`), and `accepts` judges the item that the program makes of
such a row. The patterns use it for the items of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import NODEFAULT

from sortkey.model.changes.conditions import (
    Comparison,
    Condition,
    Exists,
    FieldCondition,
    FieldTest,
    In,
    Joined,
    Negated,
    NotExists,
    OtherField,
    Where,
    attribute_of,
    equality,
    is_element,
    require_one_form,
    require_order,
    shown_value,
)
from sortkey.model.changes.placeholders import Placeholders, all_of, any_of
from sortkey.model.changes.places import PlacePlaceholders, Steps, find_place, parse_place, value_at
from sortkey.model.errors import EncodeError, NoAccessPath, Unsupported
from sortkey.model.fields.codec import Field
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_attribute import KeyAttribute, NativeAttribute


class Gap(NamedTuple):
    """What a row may lack on the way to a place, and the result of the condition then."""

    depth: int
    """0 for the attribute, more for the steps into it."""
    is_null: bool
    """Whether it is NULL; otherwise it is absent."""
    result: bool


class Text(NamedTuple):
    """An expression in DynamoDB's words."""

    text: str
    is_joined: bool = False
    """Whether it has an AND outside of parentheses."""


class Leaf:
    """A test of a field, or of a place inside it."""

    __slots__ = ("field", "fields", "gaps", "name", "nullable", "path", "result", "steps", "test")

    def __init__(self, field: str, steps: Steps, test: FieldTest, fields: Any, name: str, path: Steps) -> None:
        self.field = field
        self.steps = steps
        self.test = test
        self.fields = fields
        """What the field, or the last step, belongs to: a schema, or `Fields`."""
        self.name = name
        """Its name there."""
        self.path = path
        """The attribute, and the steps into it as they are stored."""
        self.gaps: Sequence[Gap] = ()
        self.nullable: Sequence[bool] = ()
        """Whether NULL is a value of the attribute, and of each step."""
        self.result: bool | None = None
        """The result for every row, if the primary key decides."""

    def accepts(self, item: Any) -> bool:
        value = value_at(getattr(item, self.field), self.steps)
        if isinstance(self.test, OtherField):
            other = getattr(item, self.test.other)
            return self.test.compared(
                shown_value(self.fields, self.name, value), shown_value(self.fields, self.test.other, other)
            )
        return self.holds(value)

    def holds(self, value: Any) -> bool:
        """Whether a value meets the condition; other fields are absent."""
        shown = None if value is None else shown_value(self.fields, self.name, value)
        return self.test.holds(self.fields, self.name, shown)

    def holds_without_row(self) -> bool:
        """The result of its expression if there is no row."""
        if self.result is not None:
            return self.result
        if isinstance(self.test, OtherField):
            return self.test.compared(*(_default(self.fields, name) for name in (self.field, self.test.other)))
        absent = next((gap.result for gap in self.gaps if gap.depth == 0 and not gap.is_null), None)
        return self.test.if_absent if absent is None else absent

    def text(self, outer: Placeholders) -> Text | bool:
        """The expression; a bool if the result is the same for every row."""
        if self.result is not None:
            # A value that the field cannot have is rejected, as in other conditions.
            self.test.text(self.fields, self.name, "", Placeholders())
            return self.result
        if isinstance(self.test, OtherField):
            return _field_comparison(self, self.test, outer)
        if not self.gaps and not self.steps:
            return Text(self.test.text(self.fields, self.name, outer.name(str(self.path[0])), outer))
        names = PlacePlaceholders(outer, str(self.path[0]), self.path[1:])
        text = self.test.text(self.fields, self.name, names.text(len(self.path)), outer)
        return self._with_gaps(text, names)

    def _with_gaps(self, text: str, names: PlacePlaceholders) -> Text:
        """The test with the results that gaps have: what its expression says of them already needs no more."""
        required: list[str] = []
        also_required: list[str] = []
        sufficient: list[str] = []
        for gap in self._merged_gaps():
            natural = self.test.if_null if gap.is_null and gap.depth == len(self.steps) else self.test.if_absent
            if gap.result and not natural:
                sufficient.append(self._gap_test(gap, names))
            elif natural and not gap.result:
                (also_required if gap.is_null else required).append(self._no_gap_test(gap, names))
        tested = all_of([*required, text, *also_required])
        # Most rows have the attribute, and the store stops at the first test that is true.
        return Text(any_of(tested, *sufficient), is_joined=bool(required or also_required) and not sufficient)

    def _merged_gaps(self) -> Iterator[Gap]:
        """The gaps; one instead of several if whatever is missing on the way gives the same result."""
        last = len(self.steps)
        missing = [gap for gap in self.gaps if not (gap.is_null and gap.depth == last)]
        if missing and len({gap.result for gap in missing}) == 1:
            yield Gap(-1, False, missing[0].result)
            missing = []
        yield from missing
        yield from (gap for gap in self.gaps if gap.is_null and gap.depth == last)

    def _gap_test(self, gap: Gap, names: PlacePlaceholders) -> str:
        if gap.is_null:
            return f"{names.text(gap.depth + 1)} = {names.value(dict(NULL))}"
        if gap.depth < 0:
            return f"attribute_not_exists({names.text(len(self.path))})"
        absent = f"attribute_not_exists({names.text(gap.depth + 1)})"
        if gap.depth == 0:
            return absent
        around = names.text(gap.depth)
        tests = [f"attribute_exists({around})", absent]
        if self.nullable[gap.depth - 1]:
            tests.insert(1, f"{around} <> {names.value(dict(NULL))}")
        return all_of(tests)

    def _no_gap_test(self, gap: Gap, names: PlacePlaceholders) -> str:
        if gap.is_null:
            return f"{names.text(gap.depth + 1)} <> {names.value(dict(NULL))}"
        if gap.depth < 0:
            return f"attribute_exists({names.text(len(self.path))})"
        present = f"attribute_exists({names.text(gap.depth + 1)})"
        if gap.depth == 0:
            return present
        around = names.text(gap.depth)
        tests = [present, f"attribute_not_exists({around})"]
        if self.nullable[gap.depth - 1]:
            tests.append(f"{around} = {names.value(dict(NULL))}")
        return any_of(*tests)


class IndexKeyLeaf(Leaf):
    """A test of an `in_key` field, by the attribute of an index key that has nothing but this field."""

    __slots__ = ("part",)

    def __init__(self, schema: Schema[Any], field: str, test: FieldTest) -> None:
        self.part = _own_part(schema, field)
        super().__init__(field, (), test, schema, field, (self.part.name,))
        if not isinstance(self.part, NativeAttribute) and not isinstance(test, Exists | NotExists):
            self.test = _KeyTest(schema, field, self.part, test)
        default = schema.codec.if_absent(field)
        if default is not NODEFAULT:
            self.gaps, self.nullable = [Gap(0, False, self.holds(default))], [False]


class _KeyTest(FieldTest):
    """A test for equality, of the key attribute that a value makes."""

    def __init__(self, schema: Schema[Any], field: str, part: KeyAttribute, test: FieldTest) -> None:
        is_equality = isinstance(test, Comparison) and test.operator in ("=", "<>")
        if not (is_equality or isinstance(test, In)):
            raise Unsupported(
                f"{test.shown(f'{schema.name}.{field}')}: the field is in_key, and {part.name} has it as {part!r}, so "
                f"only equality can be compared; use an access path, or store the field as an attribute"
            )
        self._part = part
        self._test: Any = test
        self.if_absent = self.if_null = test.if_absent

    def shown(self, name: str) -> str:
        return str(self._test.shown(name))

    def holds(self, fields: Any, name: str, shown: Value | None) -> bool:
        return bool(self._test.holds(fields, name, shown))

    def text(self, _fields: Any, _name: str, path: str, placeholders: Placeholders) -> str:
        values = self._test.values if isinstance(self._test, In) else (self._test.value,)
        keys = [placeholders.value(self._part.value([value])) for value in values]
        if isinstance(self._test, In):
            return f"{path} IN ({', '.join(keys)})"
        return f"{path} {self._test.operator} {keys[0]}"


def _own_part(schema: Schema[Any], field: str) -> KeyAttribute:
    """The attribute of an index key that alone holds a field, and nothing else. Raises Unsupported."""
    parts = schema.index_sources[field]
    if len(parts) > 1 or parts[0].fields != (field,):
        shown = ", ".join(f"{part.name} ({part!r})" for part in parts)
        reason = "several keys have it" if len(parts) > 1 else "the key has other fields, too"
        raise Unsupported(
            f"{schema.name}.{field} is in_key, in {shown}: {reason}, so no condition can compare it; use an access "
            f"path, or store the field as an attribute"
        )
    return parts[0]


class Branch(NamedTuple):
    """All, or any, of several nodes."""

    every: bool
    nodes: tuple[Node, ...]


class Not(NamedTuple):
    node: Node


Node = Leaf | Branch | Not


class Requirement:
    """`where=` for the items of one class. Raises for fields that a condition cannot use."""

    def __init__(self, schema: Schema[Any], where: Where | None, given: Mapping[str, Any]) -> None:
        """`given` has the fields of the path."""
        self._schema = schema
        self._given = given
        self.undecided: set[str] = set()
        """The fields of the primary key that it depends on, and that the path does not give."""
        self.root = self._parse({} if where is None else where)

    def _parse(self, where: Where) -> Node:
        if isinstance(where, FieldCondition):
            return self._leaf(where.name, where.test)
        if isinstance(where, Negated):
            return Not(self._parse(where.part))
        if isinstance(where, Joined):
            return Branch(where.every, tuple(_flattened(where.every, map(self._parse, where.parts))))
        if isinstance(where, Condition):
            raise TypeError(f"{where!r} is not a condition on fields")
        leaves = tuple([self._leaf(name, equality(wanted)) for name, wanted in where.items()])
        return leaves[0] if len(leaves) == 1 else Branch(True, leaves)

    def _leaf(self, place: str, test: FieldTest) -> Leaf:
        schema = self._schema
        field, steps = parse_place(place, schema)
        if field in schema.index_sources and not steps and not isinstance(test, OtherField):
            return self._index_key_leaf(field, test)
        attribute = attribute_of(schema, field)
        if isinstance(test, OtherField):
            self._check_other(place, field, steps, test)
            self.undecided.update(name for name in (field, test.other) if self.is_of_key(name))
            return Leaf(field, (), test, schema, field, (attribute,))
        if not steps:
            leaf = Leaf(field, (), test, schema, field, (attribute,))
            if field in schema.primary.fields and self.is_of_key(field):
                given = self._given.get(field, NODEFAULT)
                if given is NODEFAULT:
                    self.undecided.add(field)
                else:
                    leaf.result = leaf.holds(given)
                return leaf
        else:
            found = find_place(schema, field, steps)
            leaf = Leaf(field, steps, test, found.fields, found.name, (attribute, *found.stored))
        _add_gaps(schema, leaf)
        return leaf

    def _index_key_leaf(self, field: str, test: FieldTest) -> Leaf:
        given = self._given.get(field, NODEFAULT)
        if given is NODEFAULT:
            return IndexKeyLeaf(self._schema, field, test)
        # A path of the index, whose key says what the field is.
        leaf = Leaf(field, (), test, self._schema, field, ())
        leaf.result = leaf.holds(given)
        return leaf

    def is_of_key(self, field: str) -> bool:
        """Whether the primary key holds the field in another attribute than its own. The key says what the field is,
        and the store cannot read that."""
        primary = self._schema.primary
        own = self._schema.codec.by_name[field].attribute
        return field in primary.fields and all(part.name != own for part in primary.attributes)

    def _decided(self) -> Node:
        """What is left of the requirement without the conditions that the store cannot judge."""
        if not self.undecided:
            return self.root
        root = self.root
        nodes = root.nodes if isinstance(root, Branch) and root.every else (root,)
        return Branch(True, tuple(node for node in nodes if self.undecided.isdisjoint(_fields(node))))

    def _check_other(self, place: str, field: str, steps: Steps, test: OtherField) -> None:
        schema, known = self._schema, self._schema.codec.by_name
        if steps:
            raise NoAccessPath(f"{schema.name}: {place} is a place in a field; only fields compare with fields")
        attribute_of(schema, test.other)
        if test.other == field:
            raise EncodeError(f"{schema.name}.{field} is compared with itself")
        if not _are_comparable(known[field], known[test.other]):
            stored = f"stored as {known[field].stored} and {test.other} as {known[test.other].stored}"
            raise EncodeError(f"{schema.name}.{field} is {stored}, in different forms, so they cannot be compared")
        for name in (field, test.other):
            require_one_form(schema, name)
            require_order(schema, name, f"{test.operator} another field")

    @property
    def fields(self) -> set[str]:
        """The fields that it depends on."""
        return _fields(self.root)

    def accepts(self, item: Any) -> bool:
        """Whether an item meets it."""
        return self.holds(lambda leaf: leaf.accepts(item))

    def holds(self, leaf_holds: Callable[[Leaf], bool]) -> bool:
        return _holds(self.root, leaf_holds)

    @property
    def holds_if_missing(self) -> bool:
        """Whether a missing item meets it: it has no value that could differ from another, so it meets only conditions
        that fields are absent."""
        return _holds_if_missing(self.root, negated=False)

    def expression(self, placeholders: Placeholders) -> str | bool:
        """The requirement in DynamoDB's words; a bool if it is the same for every row. Without the conditions on
        `undecided` fields, if it has any."""
        made = _text(self._decided(), placeholders)
        return made if isinstance(made, bool) else made.text


def _add_gaps(schema: Schema[Any], leaf: Leaf) -> None:
    """Adds what its row may lack: the attribute, the place in it, or anything that contains the place."""
    gaps, nullable = [], []
    for depth in range(len(leaf.steps) + 1):
        fields, name = (schema, leaf.field) if depth == 0 else find_place(schema, leaf.field, leaf.steps[:depth])[1:3]
        default = fields.codec.if_absent(name)
        if default is not NODEFAULT:
            gaps.append(Gap(depth, False, leaf.holds(value_at(default, leaf.steps[depth:]))))
        elif depth and is_element(fields):
            gaps.append(Gap(depth, False, leaf.holds(None)))
        nullable.append(fields.codec.by_name[name].nullable)
        if nullable[-1]:
            gaps.append(Gap(depth, True, leaf.holds(None)))
    leaf.gaps, leaf.nullable = gaps, nullable


def _fields(node: Node) -> set[str]:
    """The fields that a condition depends on."""
    return {field for leaf in _leaves(node) for field in (leaf.field, *_others(leaf))}


def _others(leaf: Leaf) -> tuple[str, ...]:
    return (leaf.test.other,) if isinstance(leaf.test, OtherField) else ()


def _are_comparable(one: Field, other: Field) -> bool:
    """Whether two fields are stored in one form: a codec of the program's own is a form."""
    codecs = [each.annotation.base.codec for each in (one, other) if isinstance(each.annotation.base, StoredType)]
    return one.tag == other.tag and (not codecs or codecs == codecs[:1] * 2)


def _field_comparison(leaf: Leaf, test: OtherField, names: Placeholders) -> Text:
    """The comparison of two attributes; of a field's default, where a row may lack one of them."""
    schema: Schema[Any] = leaf.fields
    fields = [schema.codec.by_name[name] for name in (leaf.field, test.other)]
    one, other = (names.name(field.attribute) for field in fields)
    defaults = [_default(schema, field.name) for field in fields]
    if defaults == [None, None]:
        text = f"{one} {test.operator} {other}"
        if test.operator in ("=", "<>") and all(field.nullable for field in fields):
            # Of two fields that are None, none equals the other.
            null = names.value(dict(NULL))
            if test.operator == "<>":
                return Text(any_of(text, f"{one} = {null}"))
            return Text(all_of([text, f"{one} <> {null}"]), is_joined=True)
        return Text(text)
    operator = "=" if test.operator == "<>" else test.operator
    tests = [f"{one} {operator} {other}"]
    for (left, right), default, flipped in (((one, other), defaults[0], False), ((other, one), defaults[1], True)):
        if default is not None:
            value = names.value(default)
            compared = f"{right} {operator} {value}" if flipped else f"{value} {operator} {right}"
            tests.append(f"attribute_not_exists({left}) AND {compared}")
    if None not in defaults and OtherField(operator, test.other).compared(*defaults):
        tests.append(f"attribute_not_exists({one}) AND attribute_not_exists({other})")
    if test.operator == "=" and all(field.nullable for field in fields):
        tests[0] += f" AND {one} <> {names.value(dict(NULL))}"
    return Text(f"NOT {any_of(*tests)}" if test.operator == "<>" else any_of(*tests))


def _default(schema: Schema[Any], field: str) -> Value | None:
    default = schema.codec.if_absent(field)
    return None if default is NODEFAULT else shown_value(schema, field, default)


def _flattened(every: bool, nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes, with those of inner branches of the same kind."""
    for node in nodes:
        if isinstance(node, Branch) and node.every == every:
            yield from node.nodes
        else:
            yield node


def _leaves(node: Node) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Not):
        yield from _leaves(node.node)
    else:
        for each in node.nodes:
            yield from _leaves(each)


def _holds(node: Node, leaf_holds: Callable[[Leaf], bool]) -> bool:
    if isinstance(node, Leaf):
        return leaf_holds(node)
    if isinstance(node, Not):
        return not _holds(node.node, leaf_holds)
    results = (_holds(each, leaf_holds) for each in node.nodes)
    return all(results) if node.every else any(results)


def _holds_if_missing(node: Node, negated: bool) -> bool:
    if isinstance(node, Leaf):
        return node.test.is_of_presence and node.holds(None) != negated
    if isinstance(node, Not):
        return _holds_if_missing(node.node, not negated)
    results = (_holds_if_missing(each, negated) for each in node.nodes)
    return all(results) if node.every != negated else any(results)


def _text(node: Node, placeholders: Placeholders) -> Text | bool:
    if isinstance(node, Leaf):
        return node.text(placeholders)
    if isinstance(node, Not):
        inner = _text(node.node, placeholders)
        return not inner if isinstance(inner, bool) else _negated(inner)
    before = placeholders.mark()
    results = [_text(each, placeholders) for each in node.nodes]
    texts = [each for each in results if not isinstance(each, bool)]
    if not texts or (not node.every) in results:
        # The store rejects placeholders without a use.
        placeholders.back_to(before)
        return node.every if all(each is node.every for each in results) else not node.every
    if len(texts) == 1:
        return texts[0]
    if node.every:
        return Text(all_of(each.text for each in texts), is_joined=True)
    return Text(any_of(*(each.text for each in texts)))


def _negated(inner: Text) -> Text:
    bare = not inner.is_joined and not inner.text.startswith("NOT ")
    return Text(f"NOT {inner.text}" if bare else f"NOT ({inner.text})")
