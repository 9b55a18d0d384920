"""HTTP as it arrives, well formed and not."""

from __future__ import annotations

import sys

import pytest

from sortkey.http.request_parser import (
    BODY_BYTES,
    CONTINUE,
    HEAD_BYTES,
    HEADERS,
    KNOWN_HEAD_BYTES,
    KNOWN_HEADS,
    MISSES,
    SEEN_HEADS,
    Event,
    KnownHeads,
    Request,
    RequestError,
    RequestParser,
)

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
WHOLE = HEAD + b"Content-Length: 3\r\n\r\nabc"


def fed(*pieces: bytes) -> list[Event]:
    parser = RequestParser()
    return [event for piece in pieces for event in parser.feed(piece)]


def only(events: list[Event]) -> Request:
    (event,) = events
    assert isinstance(event, Request)
    return event


def rejected(*pieces: bytes) -> int:
    last = fed(*pieces)[-1]
    assert isinstance(last, RequestError)
    return last.status


def test_a_request_in_one_piece() -> None:
    request = only(fed(b"POST /p?q=1 HTTP/1.1\r\nHost: x\r\nX-Name: T\r\nContent-Length: 3\r\n\r\nabc"))
    assert (request.method, request.target, request.body) == (b"POST", b"/p?q=1", b"abc")
    assert request.headers == {b"host": b"x", b"x-name": b"T", b"content-length": b"3"}
    assert request.keep_alive


def test_a_request_byte_by_byte() -> None:
    assert only(fed(*(bytes([byte]) for byte in WHOLE))).body == b"abc"


# A server that answers 503 kept 10 MB for each connection, and after its end, until the garbage collector ran.
def test_the_parser_keeps_nothing_of_a_complete_request() -> None:
    parser = RequestParser()
    request = only(parser.feed(WHOLE))
    other = Request(b"POST", b"/", {}, b"abc", True)
    assert sys.getrefcount(request) == sys.getrefcount(other)


def test_several_requests_in_one_piece_keep_their_order() -> None:
    events = fed(b"".join(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(5)))
    assert [event.target for event in events if isinstance(event, Request)] == [b"/0", b"/1", b"/2", b"/3", b"/4"]


def test_a_chunked_body_is_put_together() -> None:
    request = only(fed(HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"2;ext=1\r\nde\r\n0\r\n\r\n"))
    assert request.body == b"abcde"


# If it were merged, a client could sign one header and send another.
def test_headers_behind_the_body_mean_nothing() -> None:
    request = only(fed(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Name: evil\r\n\r\n"))
    assert b"x-name" not in request.headers


def test_a_body_without_length_is_empty() -> None:
    assert only(fed(HEAD + b"\r\n")).body == b""


@pytest.mark.parametrize(
    ("head", "kept"),
    [
        (HEAD, True),
        (HEAD + b"Connection: close\r\n", False),
        (b"GET / HTTP/1.0\r\n", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n", True),
    ],
)
def test_whether_the_connection_is_kept(head: bytes, kept: bool) -> None:
    assert only(fed(head + b"\r\n")).keep_alive is kept


def test_a_client_that_waits_is_told_to_go_on() -> None:
    head = HEAD + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"
    first, second = fed(head, b"abc")
    assert first is CONTINUE
    assert isinstance(second, Request)


# It did not wait after all.
def test_a_body_that_came_along_needs_no_continue() -> None:
    assert only(fed(HEAD + b"Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc")).body == b"abc"


def test_another_expectation_is_rejected() -> None:
    assert rejected(HEAD + b"Expect: miracles\r\nContent-Length: 3\r\n\r\nabc") == 417


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00",  # a TLS greeting
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 3x\r\n\r\n",
        b"GET / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
        b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
    ],
)
def test_what_is_not_http_is_rejected(data: bytes) -> None:
    assert rejected(data) == 400


# RFC 9112: which host is meant must be beyond doubt, and HTTP/1.0 has no chunks.
@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nAccept: x\r\n\r\n",
        HEAD + b"Host: x\r\n\r\n",
        HEAD + b"hOST: y\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_one_host_and_no_chunks_before_http_1_1(data: bytes) -> None:
    assert rejected(data) == 400
    assert len(fed(data)) == 1


def test_http_1_0_needs_no_host() -> None:
    assert only(fed(b"GET / HTTP/1.0\r\n\r\n")).target == b"/"


# The requests before it arrived whole, and deserve their answers.
def test_requests_before_an_error_stand() -> None:
    events = fed(WHOLE + b"nonsense\r\n\r\n")
    assert [type(event) for event in events] == [Request, RequestError]


def test_nothing_is_read_after_an_error() -> None:
    parser = RequestParser()
    parser.feed(b"nonsense\r\n\r\n")
    assert parser.feed(WHOLE) == []


def test_a_body_of_16_mib_is_taken() -> None:
    head = HEAD + b"Content-Length: %d\r\n\r\n" % BODY_BYTES
    assert len(only(fed(head, bytes(BODY_BYTES))).body) == BODY_BYTES


# Before the client has sent it all.
def test_a_longer_one_is_rejected_by_its_length() -> None:
    assert rejected(HEAD + b"Content-Length: %d\r\n\r\n" % (BODY_BYTES + 1)) == 413


def test_a_longer_chunked_one_is_rejected_when_it_gets_too_long() -> None:
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    assert rejected(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 17) == 413


# A limit that depends on the headers, as an operation's.
@pytest.mark.parametrize(
    ("headers", "most"), [(b"X-Kind: short\r\n", 1_000_000), (b"X-Kind: long\r\n", 2_000_000), (b"", 2_000_000)]
)
def test_the_limit_can_depend_on_the_headers(headers: bytes, most: int) -> None:
    parsers = [RequestParser(lambda given: 1_000_000 if given.get(b"x-kind") == b"short" else 2_000_000) for _ in "123"]
    by_length = HEAD + headers + b"Content-Length: %d\r\n\r\n"
    assert parsers[0].feed(by_length % most) == []
    (error,) = parsers[1].feed(by_length % (most + 1))
    assert isinstance(error, RequestError)
    assert (error.status, error.message) == (413, f"The request's body has more than {most} bytes.")
    chunked = HEAD + headers + b"Transfer-Encoding: chunked\r\n\r\n"
    assert parsers[2].feed(chunked + b"%x\r\n%b\r\n" % (most, bytes(most))) == []
    (error,) = parsers[2].feed(b"1\r\nx\r\n")
    assert isinstance(error, RequestError)


def test_a_limit_counts_for_its_request_only() -> None:
    parser = RequestParser(lambda given: 1_000_000 if given.get(b"x-kind") == b"short" else 2_000_000)
    request = HEAD + b"Content-Length: %d\r\n\r\n"
    only(parser.feed(HEAD + b"X-Kind: short\r\nContent-Length: 1000000\r\n\r\n" + bytes(1_000_000)))
    only(parser.feed(request % 3 + b"abc"))
    only(parser.feed(request % 2_000_000 + bytes(2_000_000)))


def test_too_many_headers_are_rejected() -> None:
    headers = b"".join(b"h%d: v\r\n" % number for number in range(HEADERS + 1))
    assert rejected(HEAD + headers + b"\r\n") == 431


# Lines count, whether or not their names differ.
def test_too_many_headers_of_one_name_are_rejected() -> None:
    assert only(fed(HEAD + b"again: v\r\n" * (HEADERS - 1) + b"\r\n")).headers[b"again"] == b"v"
    assert rejected(HEAD + b"again: v\r\n" * HEADERS + b"\r\n") == 431


def test_too_many_headers_behind_a_body_are_rejected() -> None:
    assert rejected(HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"again: v\r\n" * HEADERS + b"\r\n") == 431


# The whole second read counted as head.
def test_a_body_that_comes_with_the_end_of_its_head_is_not_part_of_the_head() -> None:
    data = HEAD + b"Content-Length: 100000\r\n\r\n" + bytes(100_000)
    assert len(only(fed(data[:20], data[20:])).body) == 100_000


# Nothing would ever end the connection.
def test_empty_lines_without_end_are_rejected() -> None:
    assert rejected(*[b"\r\n" * 500] * 70) == 431


@pytest.mark.parametrize("piece", [1000, 1 << 20])
def test_headers_too_long_are_rejected_however_they_come(piece: int) -> None:
    data = b"GET / HTTP/1.1\r\nlong: " + b"a" * (HEAD_BYTES + 1) + b"\r\n\r\n"
    assert rejected(*(data[start : start + piece] for start in range(0, len(data), piece))) == 431


# Of a repeated header only the last is kept, which must not make a head of any length seem short.
def test_a_head_of_one_header_without_end_is_rejected() -> None:
    lines = b"again: x\r\n" * 100
    assert rejected(b"GET / HTTP/1.1\r\n", *[lines] * (HEAD_BYTES // len(lines) + 1)) == 431


def test_a_target_too_long_is_rejected() -> None:
    assert rejected(b"GET /" + b"a" * (HEAD_BYTES + 1) + b" HTTP/1.1\r\n\r\n") == 414


# Neither a header nor a body ever comes of it; only memory would.
@pytest.mark.parametrize(
    "start",
    [b"GET / HTTP/1.1\r\nendless: ", b"GET / HTTP/1.1\r\nendless", HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;ext="],
)
def test_a_line_without_end_is_rejected(start: bytes) -> None:
    assert rejected(start, *[b"a" * 1000] * 70) in (400, 431)


def test_it_knows_whether_a_request_is_under_way() -> None:
    parser = RequestParser()
    states = [parser.receiving]
    for piece in (WHOLE[:10], WHOLE[10:-1], WHOLE[-1:], b"\r\n", WHOLE + b"G"):
        parser.feed(piece)
        states.append(parser.receiving)
    assert states == [False, True, True, False, False, True]


def heads_of(*requests: bytes, times: int = 2) -> KnownHeads:
    """What is known after these requests, each on a connection of its own."""
    heads = KnownHeads()
    for request in requests * times:
        RequestParser(heads=heads).feed(request)
    return heads


def test_a_head_is_known_when_it_comes_again() -> None:
    heads = heads_of(WHOLE, times=1)
    assert heads.get(WHOLE[:-3]) is None
    RequestParser(heads=heads).feed(WHOLE[:-3] + b"xyz")
    assert heads.get(WHOLE[:-3]) is not None
    for body in (b"abc", b"def"):
        request = only(RequestParser(heads=heads).feed(WHOLE[:-3] + body))
        assert (request.method, request.target, request.body, request.keep_alive) == (b"POST", b"/", body, True)
        assert request.headers == only(fed(WHOLE)).headers


# The parser would have to see them, or would not be asked again.
@pytest.mark.parametrize(
    "request_",
    [
        HEAD + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        HEAD + b"Connection: close\r\nContent-Length: 3\r\n\r\nabc",
        HEAD + b"Content-Length: 0000003\r\n\r\nabc",
        HEAD + b"Long: " + b"a" * KNOWN_HEAD_BYTES + b"\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        # A body that begins as if the head ended there.
        b"POST / HTTP/1.1\nHost: x\nContent-Length: 7\n\n\r\n\r\nabc",
        WHOLE + b"\r\n",
        WHOLE + WHOLE,
        WHOLE[:-1],
        b"nonsense\r\n\r\n",
    ],
)
def test_some_heads_are_never_known(request_: bytes) -> None:
    heads = heads_of(request_, times=3)
    assert heads.get(request_[: request_.find(b"\r\n\r\n") + 4]) is None


# Then the limit on silent bytes would depend on what is known.
def test_empty_lines_behind_a_known_head_count_as_behind_any() -> None:
    lines = [b"\r\n" * 5000] * 10
    heads = heads_of(WHOLE)
    of_each = []
    for parser in (RequestParser(), RequestParser(heads=heads)):
        parser.feed(WHOLE)
        of_each.append([len(parser.feed(each)) for each in lines])
    assert of_each[0] == of_each[1]
    assert sum(of_each[0]) == 1


def test_nothing_is_known_after_an_error() -> None:
    parser = RequestParser(heads=heads_of(WHOLE))
    parser.feed(b"nonsense\r\n\r\n")
    assert parser.feed(WHOLE) == []


# A client that signs sends each head once; one with many targets must not fill the memory.
def test_only_so_many_heads_are_kept() -> None:
    heads = KnownHeads()
    many = [b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number for number in range(2 * SEEN_HEADS)]
    for head in many:
        RequestParser(heads=heads).feed(head)
    assert not any(map(heads.get, many))
    for head in many:
        for _ in range(2):
            RequestParser(heads=heads).feed(head)
    assert [head for head in many if heads.get(head)] == many[-KNOWN_HEADS:]


def test_a_client_that_stops_signing_is_known_again() -> None:
    heads = heads_of(WHOLE)
    known = heads.get(WHOLE[:-3])
    assert known is not None
    parser = RequestParser(heads=heads)
    for number in range(3 * MISSES):
        parser.feed(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
    shared = [only(parser.feed(WHOLE)).headers is known.headers for _ in range(2 * MISSES)]
    assert all(shared[MISSES:])
