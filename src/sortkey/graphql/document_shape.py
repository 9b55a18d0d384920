"""A parsed document before it is validated: how deep and how wide it is, with all fragments where they are spread.

Each fragment is measured once, however often it is spread, so the work is that of reading the document. Validation
compares fields of one response name with each other, and walks fragments again and again; so it comes after this.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from graphql import DocumentNode, FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionSetNode
from graphql.language import FragmentSpreadNode, InlineFragmentNode, SelectionNode

from sortkey.graphql.document_text import DEPTH_LIMIT, SIZE_LIMIT
from sortkey.graphql.errors import VALIDATION_FAILED, refused
from sortkey.graphql.limits import Limits

ALIAS_LIMIT: Final = "ALIAS_LIMIT"


@dataclass(slots=True)
class Shape:
    """Of a selection with everything in it."""

    depth: int = 0
    fields: int = 0
    names: Counter[str] = field(default_factory=Counter)
    """How often the selection itself has each response name."""

    def include(self, other: Shape) -> None:
        """Another selection at the same level."""
        self.depth = max(self.depth, other.depth)
        self.fields += other.fields
        self.names.update(other.names)


def check_shape(document: DocumentNode, limits: Limits) -> None:
    """Raises Refused."""
    measured = _Measured(document, limits)
    operations = sum(isinstance(each, OperationDefinitionNode) for each in document.definitions)
    if operations > limits.operations:
        raise refused(SIZE_LIMIT, f"The document has too many operations: at most {limits.operations}.")
    total = 0
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode):
            shape = measured.selection(definition.selection_set)
        elif isinstance(definition, FragmentDefinitionNode):
            # Also one that nobody spreads: validation reads it.
            shape = measured.fragment(definition.name.value)
        else:
            continue
        total += shape.fields
        if shape.depth > limits.depth:
            raise refused(DEPTH_LIMIT, f"The document is too deep: at most {limits.depth} fields within each other.")
        if total > limits.fields:
            raise refused(SIZE_LIMIT, f"The document has too many fields: at most {limits.fields:,}, with fragments.")
    if measured.aliases > limits.aliases:
        raise refused(ALIAS_LIMIT, f"The document has too many aliases: at most {limits.aliases}.")
    if measured.repeats > limits.repeats:
        raise refused(ALIAS_LIMIT, f"The document repeats fields too often: at most {limits.repeats} times.")


class _Measured:
    def __init__(self, document: DocumentNode, limits: Limits) -> None:
        self._fragments = {
            each.name.value: each for each in document.definitions if isinstance(each, FragmentDefinitionNode)
        }
        if len(self._fragments) > limits.fragments:
            raise refused(SIZE_LIMIT, f"The document has too many fragments: at most {limits.fragments}.")
        self._known: dict[str, Shape] = {}
        self._open: set[str] = set()
        self.aliases = 0
        self.repeats = 0

    def selection(self, selection_set: SelectionSetNode | None) -> Shape:
        shape = Shape()
        for selection in selection_set.selections if selection_set is not None else ():
            self._add(selection, shape)
        self.repeats += sum(count - 1 for count in shape.names.values())
        return shape

    def _add(self, selection: SelectionNode, shape: Shape) -> None:
        match selection:
            case FieldNode():
                inner = self.selection(selection.selection_set)
                shape.depth = max(shape.depth, 1 + inner.depth)
                shape.fields += 1 + inner.fields
                self.aliases += selection.alias is not None
                shape.names[(selection.alias or selection.name).value] += 1
            case InlineFragmentNode():
                shape.include(self.selection(selection.selection_set))
            case FragmentSpreadNode():
                shape.include(self.fragment(selection.name.value))

    def fragment(self, name: str) -> Shape:
        known = self._known.get(name)
        if known is not None:
            return known
        definition = self._fragments.get(name)
        if definition is None:
            # Validation words that error.
            return Shape()
        if name in self._open:
            raise refused(VALIDATION_FAILED, f"The fragment {name!r} contains itself.")
        self._open.add(name)
        shape = self._known[name] = self.selection(definition.selection_set)
        self._open.remove(name)
        return shape
