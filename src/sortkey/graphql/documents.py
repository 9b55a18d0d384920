"""Documents: measured, parsed and validated once, and kept by their text; those that were rejected, too.

The text is measured before it is parsed, since the parser's own work is not bounded. The parsed document is measured
before it is validated, since validation compares fields of one response name with each other, and walks fragments
again and again: how deep and how wide it is, with all fragments where they are spread. Each fragment is measured once,
however often it is spread, so the work is that of reading the document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    SelectionSetNode,
    parse,
    validate,
)
from graphql.language import FragmentSpreadNode, InlineFragmentNode, SelectionNode

from sortkey.graphql.compiled import condition_variables
from sortkey.graphql.cost import Cost, Costs, PageSizes
from sortkey.graphql.errors import (
    BAD_REQUEST,
    PARSE_FAILED,
    VALIDATION_FAILED,
    ErrorAnswer,
    Refused,
    error_answer,
    refused,
)
from sortkey.graphql.lru import Lru
from sortkey.graphql.operation import MAX_ERRORS, Operation
from sortkey.graphql.settings import Limits

SIZE_LIMIT: Final = "SIZE_LIMIT"
DEPTH_LIMIT: Final = "DEPTH_LIMIT"
ALIAS_LIMIT: Final = "ALIAS_LIMIT"
NOT_FOUND: Final = "PERSISTED_QUERY_NOT_FOUND"
KEPT_DOCUMENTS: Final = 1_000
KEPT_BYTES: Final = 1_000_000
"""Of text; a parsed document takes a hundred times as much."""
KEPT_HASHES: Final = 10_000
KEPT_HASHED_BYTES: Final = 8_000_000

_TOKEN: Final = re.compile(
    # Also half a string is one token: the search for its end is not made again.
    r'"""(?:[^"\\]|\\"""|\\|"(?!""))*(?:""")?'
    r'|"(?:[^"\\\n\r]|\\.)*"?'
    r"|\#[^\n\r]*"
    r"|\.\.\.|[A-Za-z0-9_.+-]+"
    r"|[^\s,]"
)


@dataclass(frozen=True, slots=True)
class Known:
    """An operation, and what its answer may cost."""

    operation: Operation
    cost: Cost


class Documents:
    def __init__(self, schema: GraphQLSchema, sizes: PageSizes, limits: Limits) -> None:
        self._schema = schema
        self._sizes = sizes
        self._limits = limits
        self._kept: Lru[str, Mapping[str | None, Known] | list[ErrorAnswer]] = Lru(KEPT_DOCUMENTS, KEPT_BYTES)
        self._texts: Lru[str, str] = Lru(KEPT_HASHES, KEPT_HASHED_BYTES)
        """Of persisted queries, by their hash."""

    def operation(self, text: str, name: str | None) -> Known:
        """The document's operation of this name; its only one if there is no name. Raises Refused."""
        found = self._kept.get(text)
        if found is None:
            found = self._read(text)
            self._kept.put(text, found, min(len(text), self._limits.document_bytes))
        if isinstance(found, list):
            raise Refused(found)
        if name is None and len(found) == 1:
            return next(iter(found.values()))
        known = found.get(name)
        if known is None:
            names = ", ".join(sorted(each for each in found if each is not None)) or "none has a name"
            raise refused(BAD_REQUEST, f"operationName: name one of the document's operations ({names}), not {name!r}.")
        return known

    def persisted(self, text: str | None, extension: Mapping[str, Any]) -> str:
        """The text that belongs to a hash; with a text, it is kept for requests that send the hash alone. Raises
        Refused."""
        digest = extension.get("sha256Hash")
        if extension.get("version") != 1 or not isinstance(digest, str):
            raise refused(BAD_REQUEST, "persistedQuery: must have version 1 and a sha256Hash.")
        if text is None:
            found = self._texts.get(digest)
            if found is None:
                # The words are what clients look for.
                raise refused(NOT_FOUND, "PersistedQueryNotFound")
            return found
        if sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != digest.lower():
            raise refused(BAD_REQUEST, "persistedQuery: the sha256Hash is not that of the query.")
        return text

    def keep(self, digest: str, text: str) -> None:
        self._texts.put(digest, text, len(text))

    def _read(self, text: str) -> Mapping[str | None, Known] | list[ErrorAnswer]:
        """The document's operations, or its errors. Not the exception: it would keep the frames in which it was raised,
        with the parsed document and the request."""
        try:
            return self._operations(text)
        except Refused as error:
            return error.errors

    def _operations(self, text: str) -> Mapping[str | None, Known]:
        check_text(text, self._limits)
        document = _parsed(text)
        check_shape(document, self._limits)
        errors = validate(self._schema, document, max_errors=MAX_ERRORS)
        if errors:
            raise Refused([error_answer(error, VALIDATION_FAILED) for error in errors])
        costs = Costs(self._schema, document, self._sizes)
        conditions = condition_variables(document)
        found: dict[str | None, Known] = {}
        for node in document.definitions:
            if isinstance(node, OperationDefinitionNode):
                if node.operation is OperationType.SUBSCRIPTION:
                    raise refused(BAD_REQUEST, "Subscriptions are not served.")
                name = None if node.name is None else node.name.value
                found[name] = Known(Operation(self._schema, document, node, conditions), costs.of(node))
        return found


def _parsed(text: str) -> DocumentNode:
    try:
        return parse(text)
    except GraphQLError as error:
        raise Refused([error_answer(error, PARSE_FAILED)]) from None


def check_text(text: str, limits: Limits) -> None:
    """Raises Refused for a text that is too large or nested too deeply."""
    if len(text.encode("utf-8", "surrogatepass")) > limits.document_bytes:
        raise refused(SIZE_LIMIT, f"The document is too large: at most {limits.document_bytes:,} bytes; use variables.")
    nesting = 0
    for number, token in enumerate(_TOKEN.finditer(text), 1):
        if number > limits.tokens:
            raise refused(SIZE_LIMIT, f"The document is too large: at most {limits.tokens:,} tokens.")
        sign = token[0]
        if sign in "{[(":
            nesting += 1
            if nesting > limits.nesting:
                raise refused(DEPTH_LIMIT, f"The document is nested too deeply: at most {limits.nesting} levels.")
        elif sign in "}])":
            nesting -= 1


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
