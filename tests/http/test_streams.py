"""An answer that goes on: how it is sent, and how it ends."""

from __future__ import annotations

import pytest

from sortkey.http import connection as limits
from sortkey.http.connection import Connection, Defer, Stream
from sortkey.http.request_parser import Request
from tests.http.connecting import READ, WRITE, Handler, Host, Transport, connect

HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"


class Streaming(Handler):
    """Answers a PUT by a stream."""

    stream: Stream

    def begin(self, request: Request, defer: Defer) -> bytes | None:
        if request.method == b"PUT":
            self.stream = defer().begin_stream(HEAD, b"bye")
            return None
        return super().begin(request, defer)


@pytest.fixture
def streaming(host: Host) -> Streaming:
    host.handler = handler = Streaming()
    return handler


@pytest.fixture
def streamed(host: Host, streaming: Streaming, transport: Transport) -> Connection:  # noqa: ARG001
    connection = connect(host, transport)
    connection.data_received(WRITE)
    return connection


def test_parts_are_sent_as_they_come(streaming: Streaming, streamed: Connection, transport: Transport) -> None:
    assert transport.written == HEAD
    assert streaming.stream.send(b"one")
    assert streaming.stream.send(b"two")
    assert transport.written == HEAD + b"onetwo"
    assert not streamed.closed


# The stream has no length: an answer behind it would be taken for a part of it.
def test_nothing_is_answered_behind_a_stream(streamed: Connection, transport: Transport) -> None:
    streamed.data_received(READ + WRITE)
    assert transport.written == HEAD


@pytest.mark.usefixtures("streamed")
def test_the_server_ends_it(streaming: Streaming, transport: Transport) -> None:
    streaming.stream.end()
    assert (transport.written, transport.state) == (HEAD + b"bye", "closed")


def test_a_stop_ends_it(streamed: Connection, transport: Transport) -> None:
    streamed.stop()
    assert (transport.written, transport.state) == (HEAD + b"bye", "closed")


@pytest.mark.usefixtures("streaming")
def test_a_stream_that_begins_during_a_stop_ends_at_once(host: Host, transport: Transport) -> None:
    connection = connect(host, transport)
    host.stopping = True
    connection.data_received(WRITE)
    assert (transport.written, transport.state) == (HEAD + b"bye", "closed")


def test_a_client_that_hangs_up_ends_it(streaming: Streaming, streamed: Connection, transport: Transport) -> None:
    assert streamed.eof_received() is False
    streamed.connection_lost(None)
    assert streaming.stream.closed
    assert not streaming.stream.send(b"more")
    assert transport.written == HEAD


# Time passes without events; that is no reason to end it.
def test_a_quiet_stream_lives_on(host: Host, streamed: Connection, transport: Transport) -> None:
    host.tick += limits.IDLE_SECONDS + limits.GONE_SECONDS
    streamed.check()
    assert transport.state == "open"


@pytest.mark.usefixtures("streamed")
def test_a_client_that_does_not_read_is_dropped(
    streaming: Streaming, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAM_BYTES", 10)
    transport.full = True
    assert streaming.stream.send(b"x" * 20)
    assert transport.written
    assert not streaming.stream.send(b"x")
    assert transport.state == "aborted"


def test_a_client_that_stalls_is_dropped_in_time(
    host: Host, streaming: Streaming, streamed: Connection, transport: Transport
) -> None:
    transport.full = True
    streaming.stream.send(b"x")
    assert transport.written
    # A transport tells once that it is full.
    transport.connection = None
    for _ in range(limits.STALLED_SECONDS + 1):
        host.tick += 1
        streaming.stream.send(b"x")
        host.outbox.send()
    streamed.check()
    assert transport.state == "aborted"
