"""However the bytes are cut into pieces, the same requests come out."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sortkey.http.request_parser import Continue, Event, KnownHeads, RequestError, RequestParser

tokens = st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=12).map(str.encode)
values = st.text("abcXYZ019 ;=/", max_size=30).map(str.strip).map(str.encode)
bodies = st.binary(max_size=300)


def sized(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def chunked(body: bytes) -> bytes:
    chunks = [body[start : start + 7] for start in range(0, len(body), 7)]
    coded = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\n\r\n"


headers = st.lists(st.tuples(tokens.map(lambda token: b"x-" + token), values), max_size=5)
requests = st.builds(
    lambda target, headers, body, coding: (
        b"POST /%b HTTP/1.1\r\nHost: x\r\n" % target
        + b"".join(b"%b: %b\r\n" % header for header in headers)
        + (chunked(body) if coding else sized(body))
    ),
    tokens,
    headers,
    bodies,
    st.booleans(),
)
mistakes = st.sampled_from([b"", b"", b"nonsense\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0\xff"])
streams = st.builds(lambda some, mistake: b"".join(some) + mistake, st.lists(requests, max_size=4), mistakes)


def comparable(events: list[Event]) -> list[object]:
    """What a client notices. CONTINUE is left out: it depends on where the bytes are cut."""
    return [
        event.status if isinstance(event, RequestError) else (event.target, event.headers, event.body)
        for event in events
        if not isinstance(event, Continue)
    ]


def fed(pieces: list[bytes], heads: KnownHeads | None = None) -> list[object]:
    parser = RequestParser(heads=heads)
    return comparable([event for piece in pieces for event in parser.feed(piece)])


def cut(stream: bytes, offsets: list[int]) -> list[bytes]:
    edges = [0, *sorted(offset % (len(stream) + 1) for offset in offsets), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@given(streams, st.lists(st.integers(0, 10_000), max_size=12))
def test_pieces_make_no_difference(stream: bytes, offsets: list[int]) -> None:
    assert fed(cut(stream, offsets)) == fed([stream])


@given(streams)
def test_single_bytes_make_no_difference(stream: bytes) -> None:
    assert fed([bytes([byte]) for byte in stream]) == fed([stream])


@given(st.lists(requests, max_size=4), mistakes, st.lists(st.integers(0, 10_000), max_size=3))
def test_known_heads_make_no_difference(some: list[bytes], mistake: bytes, offsets: list[int]) -> None:
    pieces = [piece for request in some for piece in cut(request, offsets)] + [mistake]
    heads, expected = KnownHeads(), fed(pieces)
    assert [fed(pieces, heads) for _ in range(3)] == [expected] * 3
    assert fed([*some, mistake], heads) == expected


# The parser either waits for more bytes or rejects; it never raises.
@given(st.lists(st.binary(max_size=400), max_size=5))
def test_noise_never_raises(pieces: list[bytes]) -> None:
    fed(pieces)
