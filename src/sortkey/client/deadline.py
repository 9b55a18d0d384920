"""Until when a call through the sync remote client may take.

botocore's timeouts are settings of a client, the same for all of its requests, and it tries again after each. A caller
who has less time sets `DEADLINE` around a call: connecting and reading then wait no longer than is left, and a request
that has failed when the time is over is not sent again but raises TimeoutError. `punctual` sees to that.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

DEADLINE: Final[ContextVar[float | None]] = ContextVar("DEADLINE", default=None)
"""By the monotonic clock; None waits as long as botocore does."""
