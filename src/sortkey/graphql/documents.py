"""Documents: parsed, checked and validated once, and kept by their text; those that were rejected, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
    parse,
    validate,
)

from sortkey.graphql.compiled import condition_variables
from sortkey.graphql.cost import Cost, Costs, PageSizes
from sortkey.graphql.document_shape import check_shape
from sortkey.graphql.document_text import check_text
from sortkey.graphql.errors import (
    BAD_REQUEST,
    PARSE_FAILED,
    VALIDATION_FAILED,
    Refused,
    error_answer,
    refused,
)
from sortkey.graphql.limits import Limits
from sortkey.graphql.lru import Lru
from sortkey.graphql.operation import MAX_ERRORS, Operation

NOT_FOUND: Final = "PERSISTED_QUERY_NOT_FOUND"
KEPT_DOCUMENTS: Final = 1_000
KEPT_BYTES: Final = 1_000_000
"""Of text; a parsed document takes a hundred times as much."""
KEPT_HASHES: Final = 10_000
KEPT_HASHED_BYTES: Final = 8_000_000


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
        self._kept: Lru[str, Mapping[str | None, Known] | Refused] = Lru(KEPT_DOCUMENTS, KEPT_BYTES)
        self._texts: Lru[str, str] = Lru(KEPT_HASHES, KEPT_HASHED_BYTES)
        """Of persisted queries, by their hash."""

    def operation(self, text: str, name: str | None) -> Known:
        """The document's operation of this name; its only one if there is no name. Raises Refused."""
        found = self._kept.get(text)
        if found is None:
            found = self._read(text)
            self._kept.put(text, found, min(len(text), self._limits.document_bytes))
        if isinstance(found, Refused):
            raise Refused(found.errors)
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

    def _read(self, text: str) -> Mapping[str | None, Known] | Refused:
        try:
            return self._operations(text)
        except Refused as error:
            return error

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
