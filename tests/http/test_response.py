from __future__ import annotations

import pytest

from sortkey.http.request_parser import Request
from sortkey.http.response import ResponseWriter


@pytest.fixture
def responses() -> ResponseWriter:
    return ResponseWriter(1_750_000_000.0)


def request(method: bytes = b"GET", keep_alive: bool = True, **headers: bytes) -> Request:
    return Request(method, b"/", {name.encode(): value for name, value in headers.items()}, b"", keep_alive)


def test_an_answer_in_one_piece(responses: ResponseWriter) -> None:
    assert responses.whole(request(), 413, b"a: b\r\n", b"body").split(b"\r\n") == [
        b"HTTP/1.1 413 Content Too Large",
        b"Date: Sun, 15 Jun 2025 15:06:40 GMT",
        b"a: b",
        b"Content-Length: 4",
        b"",
        b"body",
    ]


def test_the_date_follows_the_clock(responses: ResponseWriter) -> None:
    responses.tick(1_750_000_001.0)
    assert b"15:06:41 GMT" in responses.start(200)


def test_the_last_answer_closes(responses: ResponseWriter) -> None:
    assert b"\r\nConnection: close\r\n" in responses.whole(request(keep_alive=False), 200, b"", b"")
    assert b"\r\nConnection: close\r\n" in responses.whole(None, 400, b"", b"")
    assert b"Connection" not in responses.whole(request(), 200, b"", b"")


# HTTP/1.0 clients that ask for it wait for it.
def test_keep_alive_is_confirmed_to_clients_that_ask(responses: ResponseWriter) -> None:
    answer = responses.whole(request(connection=b"Keep-Alive"), 200, b"", b"")
    assert b"\r\nConnection: keep-alive\r\n" in answer


def test_head_gets_only_the_headers(responses: ResponseWriter) -> None:
    answer = responses.whole(request(b"HEAD"), 200, b"", b"body")
    assert answer.endswith(b"\r\nContent-Length: 4\r\n\r\n")
