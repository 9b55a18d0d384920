"""A deadline for calls through the sync remote client.

botocore's timeouts are settings of a client, the same for all its requests, and it retries after each. A caller with
less time sets `DEADLINE` around a call: connecting and reading then wait no longer than the time left, and a request
that fails after the deadline is not retried but raises TimeoutError. `botocore_deadline` implements it.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

DEADLINE: Final[ContextVar[float | None]] = ContextVar("DEADLINE", default=None)
"""On the monotonic clock; None waits as long as botocore does."""
