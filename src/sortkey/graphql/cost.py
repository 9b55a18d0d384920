"""What an operation may cost: the fields of its answer, where those of a page count for each of its nodes; the rows of
its pages, which are read also if the answer shows none of them; and the changes that its mutations make.

A mutation makes as many changes as the lists in its arguments have elements, those of variables included, and at least
one. The lists in its answer are taken to be as long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    get_named_type,
    value_from_ast_untyped,
)
from graphql.language import FragmentSpreadNode, InlineFragmentNode, ListValueNode, ObjectValueNode, VariableNode

from sortkey.graphql.errors import refused
from sortkey.graphql.settings import Limits

COST_LIMIT: Final = "COST_LIMIT"
FIELDS_A_ROW: Final = 5
"""To read a row takes as long as to write so many fields of an answer, or a little less."""
_SIZES: Final = ("first", "last")
_OF_EACH_NODE: Final = frozenset({"edges", "nodes"})
_INTROSPECTION: Final = frozenset({"__schema", "__type"})


class Sent(NamedTuple):
    """What decides how much an operation does."""

    variables: Mapping[str, Any]
    elements: Mapping[str, int]
    """How many elements the lists of each variable have."""


Size = Callable[[Sent], int]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one operation; the variables decide how large its pages are."""

    fixed: int
    pages: tuple[tuple[Size, int], ...]
    """The size of each page, and what one of its nodes costs; a page occurs here for its rows and for what is shown."""
    mutations: tuple[Size, ...]
    """The changes of each mutation."""
    introspects: bool

    def of(self, sent: Sent) -> int:
        return self.fixed + sum(size(sent) * fields for size, fields in self.pages)

    def changes(self, elements: Mapping[str, int]) -> int:
        sent = Sent({}, elements)
        return sum(size(sent) for size in self.mutations)


def check_changes(cost: Cost, elements: Mapping[str, int], limits: Limits) -> None:
    """Raises Refused."""
    if cost.mutations and (changes := cost.changes(elements)) > limits.changes:
        raise refused(
            COST_LIMIT,
            f"The mutations of the request would make {changes:,} changes; at most {limits.changes:,} are allowed. "
            "Send several requests.",
        )


def check_cost(cost: Cost, sent: Sent, limits: Limits) -> None:
    """Raises Refused."""
    needed = cost.of(sent)
    if needed > limits.cost:
        less = "Ask for fewer fields or changes." if cost.mutations else "Ask for fewer or smaller pages."
        raise refused(COST_LIMIT, f"The operation could cost {needed:,}; at most {limits.cost:,} is allowed. {less}")


def elements_of(value: Any) -> int:
    """How many elements the lists in a value have."""
    elements = 0
    waiting: list[Any] = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            elements += len(each)
            waiting += each
        elif isinstance(each, dict):
            waiting += each.values()
    return elements


@dataclass(frozen=True)
class PageSizes:
    default: int
    most: int


class Costs:
    """Reads the costs of a valid document."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, sizes: PageSizes) -> None:
        self._schema = schema
        self._sizes = sizes
        self._fragments = {
            each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)
        }

    def of(self, operation: OperationDefinitionNode) -> Cost:
        root = self._schema.get_root_type(operation.operation)
        self._pages: list[tuple[Size, int]] = []
        self._mutations: list[Size] = []
        self._introspects = False
        self._defaults = {
            each.variable.name.value: elements_of(value_from_ast_untyped(each.default_value))
            for each in operation.variable_definitions
            if each.default_value is not None
        }
        fixed = self._selection(operation.selection_set, root, None, None)
        return Cost(fixed, tuple(self._pages), tuple(self._mutations), self._introspects)

    def _selection(
        self,
        selection_set: SelectionSetNode | None,
        parent: GraphQLNamedType | None,
        page: Size | None,
        changes: Size | None,
    ) -> int:
        """The fields of a selection but those of nodes and lists of changes, which go to the pages. `changes` are those
        of the mutation that the selection is in."""
        fields = 0
        for selection in selection_set.selections if selection_set is not None else ():
            match selection:
                case FieldNode():
                    fields += self._field(selection, parent, page, changes)
                case InlineFragmentNode():
                    fields += self._selection(selection.selection_set, parent, page, changes)
                case FragmentSpreadNode():
                    fragment = self._fragments[selection.name.value]
                    fields += self._selection(fragment.selection_set, parent, page, changes)
        return fields

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None, page: Size | None, changes: Size | None) -> int:
        name = node.name.value
        if name in _INTROSPECTION:
            self._introspects = True
        definition = parent.fields.get(name) if isinstance(parent, GraphQLObjectType) else None
        inner = None if definition is None else get_named_type(definition.type)
        if definition is not None and parent is self._schema.mutation_type:
            changes = self._changes(node)
            self._mutations.append(changes)
        if changes is not None and definition is not None and _is_list(definition.type):
            self._pages.append((changes, max(1, self._selection(node.selection_set, inner, None, None))))
            return 1
        if page is not None and name in _OF_EACH_NODE:
            self._pages.append((page, self._selection(node.selection_set, inner, None, None)))
            return 1
        if definition is not None and definition.args.keys() >= set(_SIZES):
            page = self._size(node)
            self._pages.append((page, FIELDS_A_ROW))
        return 1 + self._selection(node.selection_set, inner, page, changes)

    def _changes(self, node: FieldNode) -> Size:
        given = [each.value for each in node.arguments]
        defaults = self._defaults

        def elements(value: ValueNode, sent: Sent) -> int:
            match value:
                case VariableNode():
                    name = value.name.value
                    return sent.elements.get(name, defaults.get(name, 0))
                case ListValueNode():
                    return len(value.values) + sum(elements(each, sent) for each in value.values)
                case ObjectValueNode():
                    return sum(elements(each.value, sent) for each in value.fields)
            return 0

        return lambda sent: max(1, sum(elements(value, sent) for value in given))

    def _size(self, node: FieldNode) -> Size:
        """The size of the page that a field asks for; one that is out of bounds is an error of the field."""
        sizes = self._sizes
        given = {each.name.value: each.value for each in node.arguments if each.name.value in _SIZES}

        def size(sent: Sent) -> int:
            for value in given.values():
                asked = (
                    sent.variables.get(value.name.value)
                    if isinstance(value, VariableNode)
                    else value_from_ast_untyped(value)
                )
                if isinstance(asked, int):
                    return max(0, min(asked, sizes.most))
            return sizes.default

        return size


def _is_list(type_: GraphQLOutputType) -> bool:
    return isinstance(type_.of_type if isinstance(type_, GraphQLNonNull) else type_, GraphQLList)
