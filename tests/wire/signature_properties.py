"""Whatever botocore signs verifies, and no single change to it does."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sortkey.http.request_parser import Request
from sortkey.wire import signature
from sortkey.wire.messages import CoralError
from tests.wire.signing import KEY_ID, NOW, SECRET, signed

queries = st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8), max_size=3).map(
    lambda pairs: "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs.items())
)
headers = st.dictionaries(
    st.text("abcdefgh-", min_size=1, max_size=8).map(lambda name: f"x-amz-meta-{name}"),
    st.text("abc XYZ,;=%", max_size=20),
    max_size=3,
)
requests = st.builds(
    lambda body, query, headers, expires: signed(
        body, path=f"/?{query}" if query else "/", headers=headers, expires=expires
    ),
    st.binary(max_size=200),
    queries,
    headers,
    st.none() | st.integers(1, 604_800),
)


def verify(request: Request) -> str:
    return signature.verify(request, {KEY_ID: SECRET}.get, NOW.timestamp(), lambda _: None)


@given(requests)
def test_botocore_and_the_verifier_agree(request: Request) -> None:
    assert verify(request) == KEY_ID


@given(requests, st.binary(max_size=200))
def test_no_other_body_passes(request: Request, body: bytes) -> None:
    if body == request.body:
        body += b"!"
    request.body = body
    with pytest.raises(CoralError):
        verify(request)


# Random input must be rejected, not crash.
@given(st.binary(max_size=200), st.binary(max_size=60), st.binary(max_size=60))
def test_noise_is_rejected(authorization: bytes, date: bytes, query: bytes) -> None:
    for start in (b"", b"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260824/r/dynamodb/aws4_request,SignedHeaders=host,"):
        given = {b"host": b"x", b"authorization": start + authorization, b"x-amz-date": date}
        with pytest.raises(CoralError):
            verify(Request(b"POST", b"/?" + query, given, b"", True))
