"""A botocore client made to keep the deadline that is set around a call; what that means, `deadline` says."""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

from botocore.exceptions import BotoCoreError
from urllib3 import Timeout

from sortkey.client.deadline import DEADLINE

_SHORTEST: Final = 0.001
"""A socket without any time left would not wait at all, which is something else."""


class _Remaining(Timeout):
    """The timeouts of a pool of connections, of which urllib3 takes a copy for each request."""

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


class _DeadlineEndpoint:
    """Stands in for the HTTP session of a botocore client."""

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
    # Not one of the errors after which botocore would try again.
    if monotonic() >= deadline:
        raise TimeoutError("the deadline is over")


def install(client: Any) -> Any:
    """The botocore client, which keeps deadlines."""
    endpoint, config = client._endpoint, client.meta.config
    session = endpoint.http_session
    remaining = _Remaining(config.connect_timeout, config.read_timeout)
    session._timeout = session._manager.connection_pool_kw["timeout"] = remaining
    endpoint.http_session = _DeadlineEndpoint(session)
    return client
