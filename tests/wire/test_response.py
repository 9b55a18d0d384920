from __future__ import annotations

import gzip
from zlib import crc32

import pytest

from sortkey.http.request_parser import Request
from sortkey.wire.protocol import ID_LETTERS, Responses


@pytest.fixture
def responses() -> Responses:
    return Responses("A" * 36, 1_750_000_000.0)


def request(method: bytes = b"POST", keep_alive: bool = True, **headers: bytes) -> Request:
    given = {name.replace("_", "-").encode(): value for name, value in headers.items()}
    return Request(method, b"/", given, b"", keep_alive)


def parts(answer: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    return first, dict(line.lower().split(b": ", 1) for line in lines), body


def test_headers_of_an_answer(responses: Responses) -> None:
    first, headers, body = parts(responses.success(request(), b'{"Count":0}'))
    assert (first, body) == (b"HTTP/1.1 200 OK", b'{"Count":0}')
    assert headers[b"content-type"] == b"application/x-amz-json-1.0"
    assert headers[b"content-length"] == b"11"
    assert headers[b"x-amz-crc32"] == b"%d" % crc32(body)
    # SDKs correct their clocks by it.
    assert headers[b"date"] == b"sun, 15 jun 2025 15:06:40 gmt"
    assert b"connection" not in headers


def test_request_ids_look_like_those_of_aws_and_are_never_the_same(responses: Responses) -> None:
    ids = [parts(responses.success(request(), b"{}"))[1][b"x-amzn-requestid"].upper().decode() for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(len(each) == 52 and set(each) <= set(ID_LETTERS) for each in ids)


# Java's SDK computes the checksum of what came over the wire, before unpacking it.
def test_large_answers_are_packed_for_those_who_take_it(responses: Responses) -> None:
    large = b'{"a":"' + b"x" * 5000 + b'"}'
    _, headers, body = parts(responses.success(request(accept_encoding=b"gzip, deflate"), large))
    assert headers[b"content-encoding"] == b"gzip"
    assert gzip.decompress(body) == large
    assert headers[b"x-amz-crc32"] == b"%d" % crc32(body)
    assert headers[b"content-length"] == b"%d" % len(body)


@pytest.mark.parametrize(("size", "accepted"), [(100, b"gzip"), (5000, b"identity"), (5000, b"gzip;q=0")])
def test_others_are_not(responses: Responses, size: int, accepted: bytes) -> None:
    assert parts(responses.success(request(accept_encoding=accepted), bytes(size)))[2] == bytes(size)


def test_a_last_answer_says_so(responses: Responses) -> None:
    assert parts(responses.success(request(keep_alive=False), b"{}"))[1][b"connection"] == b"close"
    assert parts(responses.answer(None, 400, b"{}"))[1][b"connection"] == b"close"


# HTTP/1.0 clients that ask for it wait for it.
def test_keeping_alive_is_confirmed_to_those_who_ask(responses: Responses) -> None:
    assert parts(responses.success(request(connection=b"Keep-Alive"), b"{}"))[1][b"connection"] == b"keep-alive"


def test_head_gets_the_headers_alone(responses: Responses) -> None:
    _, headers, body = parts(responses.answer(request(b"HEAD"), 200, b"healthy"))
    assert (headers[b"content-length"], body) == (b"7", b"")
