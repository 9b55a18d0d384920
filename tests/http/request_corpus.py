"""Requests as clients send them, byte by byte: legal ones, ones at the limits, and ones that are rejected."""

from __future__ import annotations

import gzip

from sortkey.http.request_parser import HEAD_BYTES, HEADERS

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
TOKEN = b"X-Amz-Security-Token: " + b"A" * 1500 + b"\r\nAuthorization: AWS4-HMAC-SHA256 Credential=x\r\n"


def sized(body: bytes, headers: bytes = b"") -> bytes:
    return HEAD + headers + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def chunked(body: bytes, size: int, headers: bytes = b"", trailers: bytes = b"") -> bytes:
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    coded = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return HEAD + headers + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n" + trailers + b"\r\n"


def lines(number: int, line: bytes = b"h%d: v\r\n") -> bytes:
    return b"".join(line % count if b"%" in line else line for count in range(number))


LEGAL = {
    "get": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "get with a query": b"GET /a/b?c=d&e=%20f HTTP/1.1\r\nHost: localhost:8000\r\nAccept: */*\r\n\r\n",
    "head": b"HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n",
    "options": b"OPTIONS /a HTTP/1.1\r\nHost: x\r\nOrigin: http://y\r\n\r\n",
    "delete": b"DELETE /a HTTP/1.1\r\nHost: x\r\n\r\n",
    "whole url": b"GET http://y/a HTTP/1.1\r\nHost: x\r\n\r\n",
    "keep-alive of 1.0": b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "lines before it": b"\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "empty body": sized(b""),
    "no length": HEAD + b"\r\n",
    "small body": sized(b"abc"),
    "body like a request": sized(b"GET / HTTP/1.1\r\nHost: y\r\n\r\n"),
    "json": sized(b'{"TableName":"t"}', b"X-Amz-Target: DynamoDB_20120810.Scan\r\nContent-Type: application/json\r\n"),
    "session token": sized(b"{}", TOKEN),
    "100 KB behind a token": sized(b"x" * 100_000, TOKEN),
    "300 KB": sized(bytes(300_000)),
    "gzip": sized(gzip.compress(b"abc" * 100, mtime=0), b"Content-Encoding: gzip\r\n"),
    "expect": sized(b"abc", b"Expect: 100-continue\r\n"),
    "expect 100 KB": sized(b"y" * 100_000, b"Expect: 100-Continue\r\n" + TOKEN),
    "chunk": chunked(b"abc", 3),
    "chunks of a byte": chunked(b"abcdefgh", 1),
    "chunks of 70 KB": chunked(bytes(140_000), 70_000),
    "chunk extension": HEAD + b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\n\r\n",
    "trailers": chunked(b"abc", 2, trailers=b"X-Sum: 1\r\nHost: evil\r\n"),
    "expect chunks": chunked(b"abc", 2, b"Expect: 100-continue\r\n"),
    "repeated header": sized(b"abc", b"Accept: a\r\nAccept: b\r\naccept: c\r\n"),
    "empty values": sized(b"abc", b"A:\r\nB: \r\nC:\t\r\nD:e \r\n"),
    "most headers": sized(b"", lines(HEADERS - 2)),
    "most repeated headers": sized(b"", lines(HEADERS - 2, b"again: v\r\n")),
    "head of nearly 64 KiB": sized(b"abc", lines(60, b"long-%d: " + b"a" * 1050 + b"\r\n")),
}
"""The connection goes on after each of them."""

LAST = {
    "close": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "close with a body": sized(b"abc", b"Connection: close\r\n"),
    "1.0": b"GET / HTTP/1.0\r\n\r\n",
    "no http": b"nonsense\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "no host": b"GET / HTTP/1.1\r\nAccept: x\r\n\r\n",
    "two hosts": HEAD + b"Host: x\r\n\r\n",
    "chunks of 1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "upgrade": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "other expectation": sized(b"abc", b"Expect: miracles\r\n"),
    "length beyond the limit": HEAD + b"Content-Length: 100000000\r\n\r\n",
    "one header too many": sized(b"", lines(HEADERS - 1)),
    "one repeated header too many": sized(b"", lines(HEADERS - 1, b"again: v\r\n")),
    "repeated headers of over 64 KiB": sized(b"", lines(70, b"again: " + b"a" * 1000 + b"\r\n")),
    "headers of over 64 KiB": sized(b"", lines(70, b"long-%d: " + b"a" * 1000 + b"\r\n")),
    "header of over 64 KiB": sized(b"", b"long: " + b"a" * HEAD_BYTES + b"\r\n"),
    "target of over 64 KiB": b"GET /" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    "one trailer too many": chunked(b"abc", 3, trailers=lines(HEADERS)),
}
"""The connection ends after each of them."""
