"""What every call of a session knows besides its arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sortkey.client.capabilities import Capabilities
from sortkey.model.meter import Meter
from sortkey.model.sessions.refusals import Unsupported
from sortkey.model.sessions.steps import Answer, Call, Pacing, Steps, retried


@dataclass(frozen=True, slots=True)
class Context:
    capabilities: Capabilities
    meter: Meter
    pacing: Pacing
    secret: bytes
    """What cursors are signed with."""

    def request(self, operation: str, members: dict[str, Any], path: str, unparsed: bool = False) -> Call:
        if self.capabilities.consumed_capacity:
            members["ReturnConsumedCapacity"] = "TOTAL"
        return Call(operation, members, path, unparsed)

    def retried(self, operation: str, members: dict[str, Any], path: str) -> Steps[Answer]:
        """A request that costs no capacity."""
        return retried(Call(operation, members, path), self.pacing)

    def call(self, operation: str, members: dict[str, Any], path: str) -> Steps[Answer]:
        return retried(self.request(operation, members, path), self.pacing)

    def read(self, operation: str, members: dict[str, Any], path: str) -> Steps[Answer]:
        """A request whose answer has its items as text."""
        return retried(self.request(operation, members, path, unparsed=True), self.pacing)

    def require_transactions(self, what: str) -> None:
        if not self.capabilities.transactions:
            raise Unsupported(f"{what} needs transactions, which {self.capabilities.store} does not have")
