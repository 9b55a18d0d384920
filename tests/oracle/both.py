"""Our database through both of its interfaces, embedded and served, which must give the same answers and errors.

So the oracle is asked once for both. `in_turn` is for tests about what one of them names, such as a shard, or has
finished before the other.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.oracle.embedded import Embedded
from tests.oracle.endpoint import OracleError
from tests.oracle.pair import Mismatch, comparable, outcome
from tests.oracle.served import Served


class InterfacesDiffer(AssertionError):
    """No known difference excuses this one: those are between us and the oracle."""


class Both:
    def __init__(self) -> None:
        self.embedded = Embedded()
        self.served = Served()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """The embedded one's answer or error."""
        embedded, served = outcome(self.embedded, operation, request), outcome(self.served, operation, request)
        if comparable(operation, embedded) != comparable(operation, served):
            raise InterfacesDiffer(f"embedded and served: {Mismatch((operation, request), embedded, served)}")
        if isinstance(embedded, OracleError):
            raise embedded
        return embedded

    def close(self) -> None:
        self.served.close()
        self.embedded.close()


in_turn: Final = pytest.mark.parametrize("ours", [Embedded, Served], indirect=True)
