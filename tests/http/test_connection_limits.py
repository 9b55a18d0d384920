"""One connection without sockets: the limits on what a client may do."""

from __future__ import annotations

import pytest

from sortkey.http import connection as limits
from sortkey.http.connection import Connection
from sortkey.http.receiving import PROGRESS_SECONDS, TURN_BYTES, ArrivingBodies
from sortkey.http.sending import UnsentAnswers
from tests.http.connecting import READ, WRITE, Handler, Host, Transport, connect


# Neither unread answers nor further requests may pile up.
def test_a_client_that_does_not_read_is_not_read_from(connection: Connection, transport: Transport) -> None:
    transport.full = True
    connection.data_received(READ * 10_000)
    assert len(transport.statuses()) <= limits.TURN_REQUESTS
    assert not transport.reading
    transport.full = False
    connection.resume_writing()
    assert len(transport.statuses()) > limits.TURN_REQUESTS


def test_a_client_that_never_reads_is_left(host: Host, connection: Connection, transport: Transport) -> None:
    transport.full = True
    connection.data_received(READ)
    host.end_turn()
    host.tick += limits.STALLED_SECONDS + 1
    connection.check()
    assert transport.state == "aborted"


def test_clients_that_do_not_read_go_when_they_hold_too_much(
    host: Host, connection: Connection, transport: Transport
) -> None:
    host.unsent = UnsentAnswers(limit=1000)
    transport.full = True
    connection.data_received(READ * 100)
    host.end_turn()
    assert transport.state == "aborted"
    assert host.unsent.bytes == 0


# It was begun before the client stopped reading, and may have megabytes.
def test_an_answer_that_comes_later_counts_too(
    host: Host, handler: Handler, connection: Connection, transport: Transport
) -> None:
    transport.full = True
    connection.data_received(READ + WRITE)
    host.end_turn()
    before = host.unsent.bytes
    assert before > 0
    handler.finish(1)
    assert host.unsent.bytes > before


# Ten thousand requests in one piece take a second; other connections get their turn in between.
def test_one_client_does_not_keep_the_loop(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(READ * 200)
    turns = [len(transport.statuses())]
    while host.soon:
        host.end_turn()
        turns.append(len(transport.statuses()))
    assert turns[:4] == [64, 128, 192, 200]
    assert transport.reading


def test_a_request_that_does_not_come_to_its_end(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE[:-5])
    host.tick += limits.REQUEST_SECONDS + 1
    connection.check()
    assert transport.statuses() == [408]


# Each drop would reset a timer that only looks at the last byte.
def test_a_request_that_comes_drop_by_drop(host: Host, connection: Connection, transport: Transport) -> None:
    for byte in WRITE[: limits.REQUEST_SECONDS + 2]:
        connection.data_received(bytes([byte]))
        host.tick += 1
        connection.check()
    assert transport.statuses() == [408]


# One request's end and the next one's beginning in each piece: busy, not slow.
def test_a_busy_client_is_not_a_slow_one(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(READ[:10])
    for _ in range(limits.REQUEST_SECONDS + 10):
        connection.data_received(READ[10:] + READ[:10])
        host.tick += 1
        connection.check()
    assert set(transport.statuses()) == {200}
    assert transport.state == "open"


def test_an_idle_connection_is_closed_in_the_end(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(READ)
    host.tick += limits.IDLE_SECONDS
    connection.check()
    assert transport.state == "open"
    host.tick += 1
    connection.check()
    assert transport.state == "closed"


def test_one_connection_too_many(host: Host, transport: Transport) -> None:
    host.room = False
    connect(host, transport)
    assert (transport.statuses(), transport.state) == ([503], "ended")


# Many clients that stall with a body half sent, and one that sends a whole one.
def test_clients_that_stall_make_room_for_others(host: Host, handler: Handler) -> None:
    host.arriving = ArrivingBodies(limit=300)
    stalled = [Transport() for _ in range(10)]
    for transport in stalled:
        connect(host, transport).data_received(WRITE[:-10])
        host.tick += 1
    other = Transport()
    connection = connect(host, other)
    for piece in (WRITE[:-20], WRITE[-20:]):
        connection.data_received(piece)
    handler.finish(1)
    assert other.statuses() == [201]
    assert sorted(transport.statuses() for transport in stalled) == [[]] * 8 + [[503]] * 2
    assert host.arriving.bytes == 8 * 30


# The write was taken before the body that is given up.
def test_a_client_whose_body_is_given_up_has_the_answers_before_it(
    handler: Handler, host: Host, connection: Connection, transport: Transport
) -> None:
    host.arriving = ArrivingBodies(limit=20)
    connection.data_received(WRITE + WRITE[:-5])
    assert (host.arriving.bytes, transport.statuses()) == (0, [])
    connection.data_received(WRITE[-5:] + WRITE)
    handler.finish(1)
    assert (transport.statuses(), transport.state) == ([201, 503], "ended")


@pytest.mark.parametrize("end", ["complete", "lost", "late", "invalid"])
def test_a_body_that_has_ended_is_no_longer_counted(
    handler: Handler, host: Host, connection: Connection, end: str
) -> None:
    chunked = WRITE.replace(b"Content-Length: 40", b"Transfer-Encoding: chunked")[:-40]
    connection.data_received(chunked + b"5\r\nabcde\r\n")
    assert host.arriving.bytes == 5
    if end == "complete":
        connection.data_received(b"0\r\n\r\n")
        handler.finish(1)
    elif end == "lost":
        connection.connection_lost(None)
    elif end == "late":
        host.tick += limits.REQUEST_SECONDS + 1
        connection.check()
    else:
        connection.data_received(b"no length\r\n")
    assert host.arriving.bytes == 0


# Sixty seconds for the whole request would let a stalled client hold its bytes for as long.
def test_a_body_that_stalls(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE[:-5])
    host.tick += PROGRESS_SECONDS
    connection.check()
    assert transport.statuses() == []
    host.tick += 1
    connection.check()
    assert transport.statuses() == [408]


# Reads wait behind a write that is not answered; their bodies must not pile up meanwhile.
def test_large_requests_that_wait_pause_reading(handler: Handler, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE)
    body = bytes(limits.WAITING_BYTES)
    connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    reading = [transport.reading]
    connection.data_received(b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx")
    reading.append(transport.reading)
    handler.finish(1)
    reading.append(transport.reading)
    assert (transport.statuses(), reading) == ([201, 200, 200], [True, False, True])


PIECE = bytes(TURN_BYTES // 2 + 1)
LARGE_HEAD = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (4 * len(PIECE))


# A client that sends as fast as the loop reads must not keep the loop from other clients.
def test_a_large_body_is_read_in_turns(handler: Handler, host: Host, transport: Transport) -> None:
    connection = connect(host, transport)
    connection.data_received(LARGE_HEAD + PIECE)
    reading = [transport.reading]
    connection.data_received(PIECE)
    reading.append(transport.reading)
    host.end_turn()
    reading.append(transport.reading)
    for _ in range(2):
        connection.data_received(PIECE)
    handler.finish(1)
    assert (transport.statuses(), reading) == ([201], [True, False, True])


# What follows a rejected head is discarded, but to receive it takes time, too.
def test_the_rest_of_a_rejected_body_is_read_in_turns(host: Host, transport: Transport) -> None:
    connection = connect(host, transport)
    connection.data_received(LARGE_HEAD.replace(b"Host: x\r\n", b""))
    for _ in range(2):
        connection.data_received(PIECE)
    assert (transport.statuses(), transport.reading) == ([400], False)
    host.end_turn()
    assert transport.reading


def test_a_client_that_has_gone_gets_no_turn(host: Host, transport: Transport) -> None:
    connection = connect(host, transport)
    for data in (LARGE_HEAD, PIECE, PIECE):
        connection.data_received(data)
    connection.connection_lost(None)
    host.end_turn()
    assert not transport.reading
