"""The settings of a GraphQL endpoint: the subsection `graphql` of its service's section.

[pricing.graphql]
introspection = "always"     # or "never"; by default only for clients on this machine

[pricing.graphql.limits]
cost = 100_000
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from sortkey.services.interface import BadSettings

SECTION: Final = "graphql"

Introspection = Literal["loopback", "always", "never"]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a request may cost. Each limit is checked before the work that it bounds."""

    document_bytes: int = 16_384
    tokens: int = 2_000
    nesting: int = 24
    """Of braces, brackets and parentheses: the parser calls itself for each."""
    depth: int = 16
    """Of fields; the introspection of common tools needs 13."""
    fields: int = 1_000
    """With the fields of fragments, wherever they are spread."""
    aliases: int = 32
    repeats: int = 32
    """Of one response name within a selection: validation compares each with each."""
    fragments: int = 32
    operations: int = 32
    cost: int = 50_000
    """Fields of an answer: those of a page count for each of its nodes, and each node counts as five more."""
    changes: int = 10_000
    """Of all mutations of a request: each counts as many as its lists have elements, and at least one."""
    variable_values: int = 120_000
    """10,000 changes have 90,000."""


class GraphQLSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    introspection: Introspection = "loopback"
    limits: Limits = msgspec.field(default_factory=Limits)


def read_graphql_settings(service: str, given: Mapping[str, Any]) -> tuple[GraphQLSettings, Mapping[str, Any]]:
    """The settings of the subsection, and the section without it. Raises BadSettings."""
    others = {name: value for name, value in given.items() if name != SECTION}
    try:
        return msgspec.convert(given.get(SECTION, {}), GraphQLSettings), others
    except msgspec.ValidationError as error:
        raise BadSettings(f"{service}.{SECTION}: {error}") from None
