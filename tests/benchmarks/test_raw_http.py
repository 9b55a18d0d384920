"""HTTP by hand: whole requests, and answers that arrive in pieces."""

from __future__ import annotations

import pytest

from benchmarks._raw_http import encode, missing, status
from benchmarks._workload import Request
from sortkey.http.request_parser import Request as Parsed
from sortkey.http.request_parser import RequestParser

ANSWER = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 5\r\nRetry-After: 1\r\n\r\nhello"


def test_a_request_is_what_the_server_reads() -> None:
    (request,) = RequestParser().feed(encode(Request("PutItem", b'{"a": 1}')))
    assert isinstance(request, Parsed)
    assert (request.headers[b"x-amz-target"], request.body) == (b"DynamoDB_20120810.PutItem", b'{"a": 1}')


def test_an_answer_in_pieces() -> None:
    assert [missing(ANSWER[:length]) for length in (0, 20, len(ANSWER) - 5, len(ANSWER) - 1)] == [1, 1, 5, 1]
    assert missing(ANSWER) == 0
    assert status(ANSWER) == 503


def test_an_answer_without_a_length_is_named() -> None:
    with pytest.raises(ValueError, match="without a length"):
        missing(b"HTTP/1.1 200 OK\r\n\r\n")
