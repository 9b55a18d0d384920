"""What a store can do, so that a program that needs more fails when it opens the store, not at its first request.

An endpoint is identified by the `Server` header of its answers, AWS by its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a store can do."""

    store: str
    """Its name, for messages."""
    transactions: bool = True
    """TransactGetItems and TransactWriteItems."""
    consumed_capacity: bool = True
    """Whether answers have the consumed capacity when asked for."""
    streams: bool = True
    ttl: bool = True
    index_projections: bool = True
    """Whether an index may project fewer attributes than all."""
    multi_attribute_index_keys: bool = False
    """Whether an index key may have several attributes, not joined into one."""
    ties_by_hash: bool = False
    """Whether an index orders rows with equal keys by `values.key_bytes.row_hash`."""


EMBEDDED: Final = Capabilities("the embedded engine", multi_attribute_index_keys=True, ties_by_hash=True)
SORTKEY: Final = Capabilities("a Sortkey endpoint", multi_attribute_index_keys=True, ties_by_hash=True)
AWS: Final = Capabilities("DynamoDB", multi_attribute_index_keys=True)
DYNAMODB_LOCAL: Final = Capabilities("DynamoDB Local")
ALTERNATOR: Final = Capabilities(
    "ScyllaDB Alternator", transactions=False, consumed_capacity=False, index_projections=False
)
UNKNOWN: Final = Capabilities("an unknown endpoint")
"""Assumed to be compatible."""

STORES: Final[Mapping[str, Capabilities]] = {
    "aws": AWS,
    "alternator": ALTERNATOR,
    "dynamodb-local": DYNAMODB_LOCAL,
    "sortkey": SORTKEY,
}
"""By name in a URL's `?store=`."""

_BY_SERVER: Final = {"sortkey": SORTKEY, "jetty": DYNAMODB_LOCAL, "seastar": ALTERNATOR, "scylladb": ALTERNATOR}


def of_answer(answer: Mapping[str, Any]) -> Capabilities:
    """The capabilities of the endpoint that sent this answer."""
    server = answer["ResponseMetadata"]["HTTPHeaders"].get("server", "").lower()
    return next((found for name, found in _BY_SERVER.items() if name in server), UNKNOWN)
