"""Makes a botocore client keep the deadline that is set around a call (see `deadline`)."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from botocore.exceptions import BotoCoreError
from urllib3 import Timeout

from sortkey.client.deadline import DEADLINE

_SHORTEST: Final = 0.001
"""A timeout of zero would make the socket non-blocking."""


class _Remaining(Timeout):
    """The timeouts of a connection pool; urllib3 clones them for each request."""

    def __init__(self, connect: float, read: float) -> None:
        super().__init__(connect=connect, read=read)
        self._longest = (connect, read)

    def clone(self) -> Timeout:
        connect, read = self._longest
        deadline = DEADLINE.get()
        if deadline is None:
            return Timeout(connect=connect, read=read)
        left = max(deadline - monotonic(), _SHORTEST)
        return Timeout(connect=min(connect, left), read=min(read, left))


class _DeadlineSession:
    """Replaces the HTTP session of a botocore client."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def send(self, request: Any) -> Any:
        deadline = DEADLINE.get()
        if deadline is None:
            return self._session.send(request)
        _check(deadline)
        try:
            return self._session.send(request)
        except BotoCoreError:
            _check(deadline)
            raise

    def close(self) -> None:
        self._session.close()


def _check(deadline: float) -> None:
    # An error that botocore does not retry.
    if monotonic() >= deadline:
        raise TimeoutError("the deadline has passed")


def install(client: Any) -> Any:
    """Make the botocore client keep deadlines; returns the client."""
    endpoint, config = client._endpoint, client.meta.config
    session = endpoint.http_session
    remaining = _Remaining(config.connect_timeout, config.read_timeout)
    session._timeout = session._manager.connection_pool_kw["timeout"] = remaining
    endpoint.http_session = _DeadlineSession(session)
    return client
