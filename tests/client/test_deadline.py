"""A deadline around a call to an endpoint that does not answer."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

import sortkey as sk
from sortkey.clock import DEADLINE


@pytest.fixture
def silent() -> Iterator[str]:
    """An endpoint that takes connections, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}?store=aws"


@pytest.fixture
def deaf() -> Iterator[str]:
    """An endpoint that takes no more connections: those that wait to be taken are as many as may."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        waiting = []
        for _ in range(8):
            client = socket.socket()
            client.setblocking(False)
            client.connect_ex(listening.getsockname())
            waiting.append(client)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}?store=aws"
        for client in waiting:
            client.close()


# Without deadlines, botocore waits for a minute, three times.
@pytest.mark.parametrize("endpoint", ["silent", "deaf"])
def test_the_call_ends(request: pytest.FixtureRequest, endpoint: str) -> None:
    with sk.client(request.getfixturevalue(endpoint)) as client:
        limited = DEADLINE.set(time.monotonic() + 0.1)
        try:
            with pytest.raises(TimeoutError):
                client.get_item(TableName="table", Key={"pk": {"S": "a"}})
        finally:
            DEADLINE.reset(limited)


def test_after_the_deadline_nothing_is_sent(silent: str) -> None:
    with sk.client(silent) as client:
        limited = DEADLINE.set(time.monotonic() - 1)
        try:
            with pytest.raises(TimeoutError, match="the deadline has passed"):
                client.list_tables()
        finally:
            DEADLINE.reset(limited)


class Thing(sk.Item, table=sk.Table("things")):
    name: str
    key = sk.Key("{name}")


@pytest.mark.slow
def test_sessions_keep_their_timeout(silent: str) -> None:
    with sk.connect(silent, tables=[Thing]) as db:
        hurried = db.within(0.1)
        with pytest.raises(sk.DeadlineExceeded, match=r"not done within 0.1 s"):
            hurried.get(Thing.key(name="a"))
        with pytest.raises(sk.DeadlineExceeded):
            hurried.put(Thing(name="a"))
        # Several requests, side by side on threads.
        with pytest.raises(sk.DeadlineExceeded):
            hurried.lookup(Thing.key, [{"name": str(number)} for number in range(250)])
