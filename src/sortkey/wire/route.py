"""What the endpoint knows of an operation before a request for it arrives."""

from __future__ import annotations

from typing import Any, Final

from sortkey.engine import requests
from sortkey.engine.operations import SLICED_READS, WRITES
from sortkey.engine.operations.fast_path import FAST_READS, FAST_WRITES
from sortkey.wire.metrics import Metrics

NOT_ASKED: Final = (None, "NONE")
"""Values of `ReturnConsumedCapacity` that keep the capacity out of the answer."""


class Route:
    __slots__ = ("_metered", "consumed", "fast_read", "fast_write", "metrics", "operation", "sliced_read", "writes")

    def __init__(self, operation: str, metrics: Metrics, has_faults: bool = False) -> None:
        """A database with faults must get the request itself, so there are no short cuts."""
        self.operation = operation
        self.fast_read = None if has_faults else FAST_READS.get(operation)
        self.sliced_read = None if has_faults else SLICED_READS.get(operation)
        self.fast_write = None if has_faults else FAST_WRITES.get(operation)
        self.writes = operation in WRITES
        self.metrics = metrics.requests(operation)
        self.consumed = metrics.capacity["write" if self.writes else "read"]
        """Capacity units by table."""
        self._metered = "return_consumed_capacity" in requests.OPERATIONS[operation].__struct_fields__

    def ask_for_capacity(self, shape: Any) -> bool:
        """Have the engine report the capacity, for the metrics. Whether to hide it from the client."""
        hidden = self._metered and shape.return_consumed_capacity in NOT_ASKED
        if hidden:
            shape.return_consumed_capacity = "TOTAL"
        return hidden
