"""What every call of a session knows besides its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from sortkey.client.capabilities import Capabilities
from sortkey.model.errors import Unsupported
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.schema import Schema
from sortkey.model.paths.access_path import Path
from sortkey.model.paths.meter import Meter
from sortkey.model.sessions.steps import Answer, Call, Pacing, Steps, retried

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Context:
    capabilities: Capabilities
    meter: Meter
    pacing: Pacing
    secret: bytes
    """What cursors are signed with."""

    @property
    def native(self) -> bool:
        """Whether the store's index keys may have several attributes."""
        return self.capabilities.multi_attribute_index_keys

    def here(self, path: Path[T]) -> Path[T]:
        """The path as this store can answer it."""
        return path if self.native or path.schema.joined is None else path.joined()

    def schema(self, cls: type[Item]) -> Schema[Any]:
        """The class's rows as this store needs them."""
        schema = schema_of(cls)
        return schema if self.native else schema.joined or schema

    def request(self, operation: str, members: dict[str, Any], path: str) -> Call:
        if self.capabilities.consumed_capacity:
            members["ReturnConsumedCapacity"] = "TOTAL"
        return Call(operation, members, path)

    def read_request(self, operation: str, members: dict[str, Any], path: str, binary: bool) -> Call:
        """A request whose answer has its items as text."""
        if self.capabilities.consumed_capacity:
            members["ReturnConsumedCapacity"] = "TOTAL"
        return Call(operation, members, path, unparsed=True, binary=binary)

    def retried(self, operation: str, members: dict[str, Any], path: str) -> Steps[Answer]:
        """A request that costs no capacity."""
        return retried(Call(operation, members, path), self.pacing)

    def call(self, operation: str, members: dict[str, Any], path: str) -> Steps[Answer]:
        return retried(self.request(operation, members, path), self.pacing)

    def read(self, operation: str, members: dict[str, Any], path: str, binary: bool) -> Steps[Answer]:
        return retried(self.read_request(operation, members, path, binary), self.pacing)

    def require_transactions(self, what: str) -> None:
        if not self.capabilities.transactions:
            raise Unsupported(f"{what} needs transactions, which {self.capabilities.store} does not have")
