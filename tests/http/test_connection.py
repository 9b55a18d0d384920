"""One connection without sockets: the order of answers, and how it ends."""

from __future__ import annotations

from sortkey.http import connection as limits
from sortkey.http.connection import Connection
from tests.http.connecting import LAST, READ, WRITE, WRONG, Handler, Host, Transport, connect


def test_a_read_is_answered_at_once(connection: Connection, transport: Transport) -> None:
    connection.data_received(READ)
    assert transport.statuses() == [200]


def test_the_answers_of_one_turn_are_sent_together(host: Host) -> None:
    transports = [Transport(), Transport()]
    connections = [connect(host, transport) for transport in transports]
    for connection in connections:
        connection.data_received(READ)
    assert [transport.sent for transport in transports] == [b"", b""]
    host.end_turn()
    assert all(transport.sent for transport in transports)


# The last request and the end of the stream may arrive in one turn; then only the close is left.
def test_a_client_that_hangs_up_in_the_same_turn_has_its_answer(connection: Connection, transport: Transport) -> None:
    connection.data_received(READ)
    assert connection.eof_received() is False
    assert transport.sent.startswith(b"HTTP/1.1 200 ")


def test_a_deferred_answer_is_sent_when_it_comes(
    handler: Handler, connection: Connection, transport: Transport
) -> None:
    connection.data_received(WRITE)
    assert transport.written == b""
    handler.finish(1)
    assert transport.statuses() == [201]


# A client that sends a write and a read without waiting means them in this order.
def test_a_read_behind_a_write_sees_it(handler: Handler, connection: Connection, transport: Transport) -> None:
    connection.data_received(READ + WRITE + READ)
    assert transport.statuses() == [200]
    handler.finish(1)
    assert transport.statuses() == [200, 201, 200]
    assert [number in transport.written for number in (b"0 written", b"1 written")] == [True, True]


# The error is known at once, and still waits for its turn.
def test_answers_keep_the_order_of_requests(handler: Handler, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE + WRONG + WRITE)
    assert transport.written == b""
    handler.finish(2)
    assert transport.statuses() == [201, 400, 201]


def test_a_client_that_goes_away_takes_its_answers_with_it(
    handler: Handler, connection: Connection, transport: Transport
) -> None:
    connection.data_received(WRITE + READ)
    connection.connection_lost(None)
    handler.finish(1)
    assert transport.written == b""


def test_a_client_that_sends_nothing_more_gets_its_answers(
    handler: Handler, connection: Connection, transport: Transport
) -> None:
    connection.data_received(WRITE)
    assert connection.eof_received() is True
    handler.finish(1)
    assert (transport.statuses(), transport.state) == ([201], "closed")


# It may only have closed its half of the connection; but whatever it waits for, it does not wait for ever.
def test_a_client_that_has_gone_is_left_in_the_end(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE + READ)
    host.tick += 1000
    assert connection.eof_received() is True
    host.tick += limits.GONE_SECONDS
    connection.check()
    assert transport.state == "open"
    host.tick += 1
    connection.check()
    assert transport.state == "aborted"


def test_a_stop_does_not_wait_for_it(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE)
    connection.eof_received()
    host.stopping = True
    connection.stop()
    assert transport.state == "open"
    host.tick += limits.LINGER_SECONDS + 1
    connection.check()
    assert transport.state == "aborted"


def test_a_client_that_is_there_may_wait_longer(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(WRITE)
    host.tick += 10 * limits.GONE_SECONDS
    connection.check()
    assert transport.state == "open"


def test_the_last_request_ends_the_connection(connection: Connection, transport: Transport) -> None:
    connection.data_received(LAST + READ)
    assert (transport.statuses(), transport.state) == ([200], "ended")


def test_a_rejected_client_may_read_its_answer(host: Host, connection: Connection, transport: Transport) -> None:
    connection.data_received(b"nonsense\r\n\r\n")
    assert (transport.statuses(), transport.state) == ([400], "ended")
    connection.data_received(READ)
    host.tick += limits.LINGER_SECONDS + 1
    connection.check()
    assert (transport.statuses(), transport.state) == ([400], "aborted")


def test_stopping_finishes_what_is_under_way(
    handler: Handler, host: Host, connection: Connection, transport: Transport
) -> None:
    connection.data_received(WRITE + READ)
    host.stopping = True
    connection.stop()
    assert transport.state == "open"
    handler.finish(1)
    assert transport.statuses() == [201, 200]
    assert transport.state == "ended"


def test_stopping_closes_what_is_idle(connection: Connection, transport: Transport) -> None:
    connection.data_received(READ)
    connection.stop()
    assert (transport.statuses(), transport.state) == ([200], "closed")
