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

import sortkey as sk
from sortkey.graphql.limits import Limits

SECTION: Final = "graphql"

Introspection = Literal["loopback", "always", "never"]


class GraphQLSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    introspection: Introspection = "loopback"
    limits: Limits = msgspec.field(default_factory=Limits)


def read_graphql_settings(service: str, given: Mapping[str, Any]) -> tuple[GraphQLSettings, Mapping[str, Any]]:
    """The settings of the subsection, and the section without it. Raises BadSettings."""
    others = {name: value for name, value in given.items() if name != SECTION}
    try:
        return msgspec.convert(given.get(SECTION, {}), GraphQLSettings), others
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"{service}.{SECTION}: {error}") from None
