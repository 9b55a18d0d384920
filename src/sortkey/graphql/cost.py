"""What an answer may cost: its fields, where those of a page count for each of its nodes; and the rows of its pages,
which are read also if the answer shows none of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    value_from_ast_untyped,
)
from graphql.language import FragmentSpreadNode, InlineFragmentNode, VariableNode

from sortkey.graphql.errors import refused
from sortkey.graphql.settings import Limits

COST_LIMIT: Final = "COST_LIMIT"
FIELDS_A_ROW: Final = 5
"""To read a row takes as long as to write so many fields of an answer, or a little less."""
_SIZES: Final = ("first", "last")
_OF_EACH_NODE: Final = frozenset({"edges", "nodes"})
_INTROSPECTION: Final = frozenset({"__schema", "__type"})

Size = Callable[[Mapping[str, Any]], int]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one operation; the variables decide how large its pages are."""

    fixed: int
    pages: tuple[tuple[Size, int], ...]
    """The size of each page, and what one of its nodes costs; a page occurs here for its rows and for what is shown."""
    introspects: bool

    def of(self, variables: Mapping[str, Any]) -> int:
        return self.fixed + sum(size(variables) * fields for size, fields in self.pages)


def check_cost(cost: Cost, variables: Mapping[str, Any], limits: Limits) -> None:
    """Raises Refused."""
    needed = cost.of(variables)
    if needed > limits.cost:
        raise refused(
            COST_LIMIT,
            f"The operation could cost {needed:,}; at most {limits.cost:,} is allowed. Ask for fewer or smaller pages.",
        )


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
        self._introspects = False
        fixed = self._selection(operation.selection_set, root, None)
        return Cost(fixed, tuple(self._pages), self._introspects)

    def _selection(
        self, selection_set: SelectionSetNode | None, parent: GraphQLNamedType | None, page: Size | None
    ) -> int:
        """The fields of a selection but those of nodes, which go to the pages."""
        fields = 0
        for selection in selection_set.selections if selection_set is not None else ():
            match selection:
                case FieldNode():
                    fields += self._field(selection, parent, page)
                case InlineFragmentNode():
                    fields += self._selection(selection.selection_set, parent, page)
                case FragmentSpreadNode():
                    fragment = self._fragments[selection.name.value]
                    fields += self._selection(fragment.selection_set, parent, page)
        return fields

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None, page: Size | None) -> int:
        name = node.name.value
        if name in _INTROSPECTION:
            self._introspects = True
        definition = parent.fields.get(name) if isinstance(parent, GraphQLObjectType) else None
        inner = None if definition is None else get_named_type(definition.type)
        if page is not None and name in _OF_EACH_NODE:
            self._pages.append((page, self._selection(node.selection_set, inner, None)))
            return 1
        if definition is not None and definition.args.keys() >= set(_SIZES):
            page = self._size(node)
            self._pages.append((page, FIELDS_A_ROW))
        return 1 + self._selection(node.selection_set, inner, page)

    def _size(self, node: FieldNode) -> Size:
        """The size of the page that a field asks for; one that is out of bounds is an error of the field."""
        sizes = self._sizes
        given = {each.name.value: each.value for each in node.arguments if each.name.value in _SIZES}

        def size(variables: Mapping[str, Any]) -> int:
            for value in given.values():
                asked = (
                    variables.get(value.name.value)
                    if isinstance(value, VariableNode)
                    else value_from_ast_untyped(value)
                )
                if isinstance(asked, int):
                    return max(0, min(asked, sizes.most))
            return sizes.default

        return size
