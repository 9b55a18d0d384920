"""Bytes that are almost HTTP: heads, lengths, chunks, pipelines."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Final

from tests.faults.fuzz.case import Port, Stream
from tests.faults.fuzz.corpus import ITEM, KEY
from tests.faults.fuzz.json_text import encode
from tests.faults.fuzz.mutations import damaged

Lines = list[bytes]
"""A head's lines; the first is the request line."""

GET_ITEM: Final = encode({"TableName": "orders", "Key": KEY})
PUT_ITEM: Final = encode({"TableName": "orders", "Item": ITEM})
LOOKUP: Final = b'{"partnerIds":["1"],"district":"BER-01"}'
TARGET: Final = b"X-Amz-Target: DynamoDB_20120810."
MESSAGES: Final[tuple[tuple[Port, Lines, bytes], ...]] = (
    ("endpoint", [b"POST / HTTP/1.1", b"Host: localhost", TARGET + b"GetItem"], GET_ITEM),
    ("endpoint", [b"POST / HTTP/1.1", b"Host: localhost", TARGET + b"PutItem"], PUT_ITEM),
    ("endpoint", [b"GET /health HTTP/1.1", b"Host: localhost"], b""),
    ("service", [b"POST /boosts/de/lookup HTTP/1.1", b"Host: localhost", b"Content-Type: application/json"], LOOKUP),
    ("service", [b"GET /boosts/de/partners/1 HTTP/1.1", b"Host: localhost"], b""),
    ("service", [b"GET /openapi.json HTTP/1.1", b"Host: localhost"], b""),
)

LENGTHS: Final = (
    *(b"-1", b"0", b"7", b"+7", b"0x10", b"1 1", b"7,7", b"7, 8", b"", b"1e3", b"16777216", b"16777217"),
    *(b"99999999999999999999", b"007", b"9" * 5000, b"\xb2", b"7\t"),
)
HEADERS: Final = (
    *(b"Host: evil.example", b"Host:", b"host: localhost", b"Host : localhost", b" folded", b"\tfolded", b"X", b": x"),
    *(b"Connection: close", b"Connection: keep-alive, close", b"Connection: upgrade", b"Upgrade: websocket"),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", b"Transfer-Encoding: gzip, chunked"),
    *(b"Transfer-Encoding: chunked, chunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding: \x0bchunked"),
    *(
        b"Expect: 100-continue",
        b"Expect: 200-ok",
        b"Content-Encoding: gzip",
        b"Content-Type: \xff",
        b"Origin: http://x",
    ),
    *(b"Accept-Encoding: " + b"gzip," * 5000, b"X: " + b"a" * 70_000, b"X" * 70_000 + b": a", b"X: \0", b"X: a\rb"),
    *(
        b"Range: bytes=0-1",
        b"Cookie: " + b"a=b;" * 9000,
        b"X-Amz-Target: DynamoDB_20120810.\xff",
        b"Authorization: AWS4",
    ),
    b"\r\n".join(b"H%d: v" % number for number in range(300)),
)
STARTS: Final = (
    *(b"POST / HTTP/1.0", b"POST / HTTP/0.9", b"POST / HTTP/2.0", b"POST / HTTP/9.9", b"POST /", b"POST  / HTTP/1.1"),
    *(b"POST http://localhost/ HTTP/1.1", b"POST * HTTP/1.1", b"CONNECT localhost:1 HTTP/1.1", b"PRI * HTTP/2.0"),
    *(b"HEAD / HTTP/1.1", b"OPTIONS * HTTP/1.1", b"FOO / HTTP/1.1", b"post / HTTP/1.1", b"GET /%00 HTTP/1.1"),
    *(b"GET /\xff HTTP/1.1", b"GET /" + b"a" * 70_000 + b" HTTP/1.1", b"GET /?" + b"a=b&" * 9000 + b" HTTP/1.1"),
    *(b"GET //x HTTP/1.1", b"GET /../../etc HTTP/1.1", b"GET /boosts/%zz/lookup HTTP/1.1", b"TRACE / HTTP/1.1", b""),
)
SIZES: Final = (
    b"zz",
    b"-1",
    b"",
    b"ffffffffffffffff",
    b"1" + b"0" * 30,
    b"5;" + b"x" * 20_000,
    b"5 ",
    b"0x5",
    b"1000001",
)


class HttpBytes:
    def make(self, random: Random) -> Stream:
        port, lines, body = random.choice(MESSAGES)
        if random.random() < 0.03:
            return Stream(port, "noise", (random.randbytes(random.randrange(1, 3000)),))
        whole = b"".join(self._request(random, port) for _ in range(random.choice((1, 1, 2, 3, 8))))
        whole += _request(random, lines, body)
        if random.random() < 0.3:
            whole = damaged(random, whole)
        if random.random() < 0.2:
            whole = whole[: random.randrange(1, len(whole))]
        return Stream(port, "http", _pieces(random, whole))

    def _request(self, random: Random, port: Port) -> bytes:
        lines, body = random.choice([(lines, body) for own, lines, body in MESSAGES if own == port])
        return _request(random, lines, body) if random.random() < 0.5 else _whole(lines, body)


def _whole(lines: Lines, body: bytes) -> bytes:
    return b"\r\n".join([*lines, b"Content-Length: %d" % len(body), b"", b""]) + body


def _request(random: Random, lines: Lines, body: bytes) -> bytes:
    return random.choice(_MAKERS)(random, list(lines), body)


def _with_length(random: Random, lines: Lines, body: bytes) -> bytes:
    lines.append(b"Content-Length: " + random.choice(LENGTHS))
    if random.random() < 0.3:
        lines.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join([*lines, b"", b""]) + body


def _with_headers(random: Random, lines: Lines, body: bytes) -> bytes:
    for _ in range(random.choice((1, 1, 2, 3))):
        lines.insert(random.randrange(1, len(lines) + 1), random.choice(HEADERS))
    if random.random() < 0.3:
        del lines[random.randrange(1, len(lines))]
    return _whole(lines, body)


def _with_start(random: Random, lines: Lines, body: bytes) -> bytes:
    lines[0] = random.choice(STARTS)
    return _whole(lines, body)


def _with_line_ends(random: Random, lines: Lines, body: bytes) -> bytes:
    end = random.choice((b"\n", b"\r", b"\r\r\n", b"\r\n\r\n", b"\n\r", b"\0\r\n"))
    return end.join([*lines, b"Content-Length: %d" % len(body), b"", b""]) + body


def _chunked(random: Random, lines: Lines, body: bytes) -> bytes:
    if random.random() < 0.1:
        lines[0] = lines[0].replace(b"HTTP/1.1", b"HTTP/1.0")
    head = b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", b""])
    chunks = []
    while body:
        size = random.choice((1, 5, 100))
        chunks.append(b"%x\r\n" % len(body[:size]) + body[:size] + b"\r\n")
        body = body[size:]
    if random.random() < 0.5:
        chunks.insert(random.randrange(len(chunks) + 1), random.choice(SIZES) + b"\r\nabcde\r\n")
    end = random.choice(
        (b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n", b"0\n\n", b"", b"0\r\nX\r\n", b"00\r\n\r\n")
    )
    return head + b"".join(chunks) + end


_MAKERS: Final[tuple[Callable[[Random, Lines, bytes], bytes], ...]] = (
    _with_length,
    _with_headers,
    _with_headers,
    _with_start,
    _with_line_ends,
    _chunked,
    _chunked,
)


def _pieces(random: Random, whole: bytes) -> tuple[bytes, ...]:
    """The bytes as they arrive: at once, in two parts, or in many."""
    cuts = random.choice((0, 0, 1, 1, 5, 40))
    places = sorted({0, len(whole), *(random.randrange(len(whole) + 1) for _ in range(cuts))})
    return tuple(whole[start:end] for start, end in pairwise(places)) or (b"\r\n",)
