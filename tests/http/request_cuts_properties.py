"""Wherever the network cuts the bytes of requests, their answers are those of requests that arrive whole."""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise
from random import Random

import pytest

from sortkey.http.connection import CONTINUE_BYTES, Defer
from sortkey.http.request_parser import BODY_BYTES, KnownHeads, Request, RequestError
from sortkey.http.response import ResponseWriter
from tests.http.connecting import Host, Transport, connect
from tests.http.request_corpus import LAST, LEGAL

CORPUS = LEGAL | LAST
EVERY_BYTE = 3_000
"""A request of at most this size is cut at each of its bytes; of a longer one, each of its first and last bytes."""
SAMPLES = 200
TURNS = 1000
ACCEPTED = {*LEGAL, "close", "close with a body", "1.0"}


class Echo:
    """Answers with what it understood."""

    def __init__(self) -> None:
        self._responses = ResponseWriter(0.0)

    def begin(self, request: Request, _defer: Defer) -> bytes | None:
        body = len(request.body), sha256(request.body).hexdigest()
        understood = repr((request.method, request.target, request.headers, body))
        return self._responses.whole(request, 200, b"", understood.encode())

    def reject(self, error: RequestError) -> bytes:
        return self._responses.whole(None, error.status, b"", error.message.encode())

    def body_limit(self, _headers: dict[bytes, bytes]) -> int:
        return BODY_BYTES

    def may_overlap(self, _request: Request) -> bool:
        return True


def answers(*pieces: bytes, heads: KnownHeads | None = None) -> bytes:
    """What the client reads. 100 (Continue) depends on whether the client waits for it, and is left out."""
    host, transport = Host(), Transport()
    host.heads = heads or KnownHeads()
    host.handler = Echo()
    connection = connect(host, transport)
    for piece in pieces:
        if transport.state == "open":
            connection.data_received(piece)
    for _ in range(TURNS):
        if not host.soon:
            break
        host.end_turn()
    return transport.written.replace(CONTINUE_BYTES, b"")


def cuts(size: int) -> list[int]:
    if size <= EVERY_BYTE:
        return list(range(1, size))
    sampled = Random(size).sample(range(EVERY_BYTE // 2, size - EVERY_BYTE // 2), SAMPLES)
    return [*range(1, EVERY_BYTE // 2), *sampled, *range(size - EVERY_BYTE // 2, size)]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if len(data) > EVERY_BYTE else []) for name, data in CORPUS.items()],
)
def test_a_request_in_two_pieces(name: str) -> None:
    data = CORPUS[name]
    whole = answers(data)
    assert whole.startswith(b"HTTP/1.1 200" if name in ACCEPTED else b"HTTP/1.1 4")
    for cut in cuts(len(data)):
        assert answers(data[:cut], data[cut:]) == whole, cut


# A known head may only save work.
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if len(data) > EVERY_BYTE else []) for name, data in CORPUS.items()],
)
def test_a_request_whose_head_came_before(name: str) -> None:
    data, heads = CORPUS[name], KnownHeads()
    whole = answers(data)
    for _ in range(3):
        assert answers(data, heads=heads) == whole
    for cut in cuts(len(data)):
        assert answers(data[:cut], data[cut:], heads=heads) == whole, cut
    if name in LEGAL:
        assert answers(*[data] * 4, heads=heads) == whole * 4
        assert answers(data, data + data, b"\r", data, b"\r\n", data, heads=heads) == whole * 5


# The second piece brings the rest of the request and much more.
@pytest.mark.slow
@pytest.mark.parametrize("name", CORPUS)
def test_a_request_between_others_in_two_pieces(name: str) -> None:
    before, after = LEGAL["small body"], LEGAL["get"] * 3000 + LEGAL["300 KB"]
    data = before + CORPUS[name]
    whole = answers(before) + answers(CORPUS[name]) + (answers(after) if name in LEGAL else b"")
    for cut in cuts(len(data))[:: 1 + len(data) // 20]:
        assert answers(data[:cut], data[cut:] + after) == whole, cut


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if len(data) > EVERY_BYTE else []) for name, data in CORPUS.items()],
)
def test_a_request_in_many_pieces(name: str) -> None:
    data = CORPUS[name]
    whole = answers(data)
    for size in (1, 2, 7, 1448, 65_536):
        if len(data) / size < 100_000:
            assert answers(*(data[start : start + size] for start in range(0, len(data), size))) == whole, size


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_requests_in_a_row_in_random_pieces(seed: int, known: bool) -> None:
    random, heads = Random(seed), KnownHeads()
    for data in [*CORPUS.values()] * 2 if known else []:
        answers(data, heads=heads)
    some = [*random.choices(list(LEGAL.values()), k=8), random.choice(list(LAST.values()))]
    data = b"".join(some)
    edges = [0, *sorted(random.randrange(len(data)) for _ in range(random.randrange(1, 30))), len(data)]
    pieces = [data[start:end] for start, end in pairwise(edges) if end > start]
    assert answers(*pieces, heads=heads) == b"".join(answers(request) for request in some)
    if known:
        assert answers(*some, heads=heads) == b"".join(answers(request) for request in some)


# Reads of 28 and 56 bytes end at the same place of each request.
@pytest.mark.parametrize("size", [28, 56, 100, 1448, 65_536, 262_144])
def test_5000_requests_in_a_row(size: int) -> None:
    data = LEGAL["get"] * 5000
    assert answers(*(data[start : start + size] for start in range(0, len(data), size))) == answers(LEGAL["get"]) * 5000
