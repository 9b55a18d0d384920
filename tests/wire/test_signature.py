"""Signature Version 4, held against botocore's signer."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import quote

import pytest

from sortkey.http.request_parser import Request
from sortkey.wire import signature
from sortkey.wire.messages import CoralError
from tests.wire.signing import KEY_ID, NOW, SECRET, signed

OTHER = "The request signature we calculated does not match the signature you provided. "


def verify(request: Request, region: str | None = None) -> str:
    return signature.verify(request, {KEY_ID: SECRET}.get, NOW.timestamp(), lambda _: region)


def rejected(request: Request, code: str, region: str | None = None) -> str:
    with pytest.raises(CoralError) as caught:
        verify(request, region)
    assert (caught.value.code, caught.value.status) == (code, 400)
    return caught.value.message


@pytest.mark.parametrize("expires", [None, 60])
@pytest.mark.parametrize("path", ["/", "/?b=2&a=1&a-b=%20", "/a/b%20c?x=%2F&y="])
@pytest.mark.parametrize("body", [b"", b"{}", "{'é': '☃'}".encode(), bytes(range(256))])
def test_what_botocore_signs_is_good(body: bytes, path: str, expires: int | None) -> None:
    assert verify(signed(body, path=path, expires=expires)) == KEY_ID


def test_any_method_and_more_headers() -> None:
    request = signed(b"", method="GET", headers={"X-Amz-Meta": "a   b", "X-Empty": ""})
    assert verify(request) == KEY_ID


# Headers that a proxy adds on the way are not signed.
def test_headers_added_later_do_no_harm() -> None:
    request = signed()
    request.headers[b"x-forwarded-for"] = b"10.0.0.1"
    assert verify(request) == KEY_ID


@pytest.mark.parametrize("expires", [None, 60])
def test_another_body_under_the_same_signature(expires: int | None) -> None:
    request = signed(b'{"TableName": "mine"}', expires=expires)
    request.body = b'{"TableName": "other"}'
    assert rejected(request, "InvalidSignatureException").startswith(OTHER)


@pytest.mark.parametrize("name", [b"x-amz-target", b"host", b"x-amz-date"])
def test_another_header_under_the_same_signature(name: bytes) -> None:
    request = signed()
    # Still a date, and a day that the scope agrees with.
    request.headers[name] = b"20260824T123100Z"
    assert rejected(request, "InvalidSignatureException").startswith(OTHER)


def test_a_signed_header_that_is_gone() -> None:
    request = signed(headers={"X-Amz-Meta": "m"})
    del request.headers[b"x-amz-meta"]
    assert rejected(request, "InvalidSignatureException").startswith(OTHER)


def test_another_path_method_or_query() -> None:
    for change in ({"target": b"/x"}, {"method": b"PUT"}, {"target": b"/?x=1"}):
        request = signed()
        for name, value in change.items():
            setattr(request, name, value)
        assert rejected(request, "InvalidSignatureException").startswith(OTHER)


# The target names the operation; if it were unsigned, a read could be replayed as a delete.
@pytest.mark.parametrize("name", ["x-amz-target", "host"])
def test_what_must_be_signed(name: str) -> None:
    request = signed()
    authorization = request.headers[b"authorization"].decode()
    start, _, rest = authorization.partition("SignedHeaders=")
    names, _, end = rest.partition(",")
    kept = ";".join(each for each in names.split(";") if each != name)
    request.headers[b"authorization"] = f"{start}SignedHeaders={kept},{end}".encode()
    message = rejected(request, "InvalidSignatureException")
    assert message == f"'{name}' must be a 'SignedHeader' in the AWS Authorization."


def test_wrong_secret() -> None:
    assert rejected(signed(secret="guess"), "InvalidSignatureException").startswith(OTHER)


def test_unknown_key() -> None:
    message = rejected(signed(key_id="AKIDSTRANGER"), "UnrecognizedClientException")
    assert message == "The security token included in the request is invalid."


def test_wrong_service() -> None:
    message = rejected(signed(service="s3"), "InvalidSignatureException")
    assert message == "Credential should be scoped to correct service: 'dynamodb'. "


def test_wrong_region() -> None:
    assert verify(signed(region="eu-west-1"), region="eu-west-1") == KEY_ID
    message = rejected(signed(region="us-east-1"), "InvalidSignatureException", region="eu-west-1")
    assert message == "Credential should be scoped to a valid region, not 'us-east-1'. "


@pytest.mark.parametrize("minutes", [-15, -14, 0, 14, 15])
def test_clocks_may_differ_by_a_quarter_of_an_hour(minutes: int) -> None:
    assert verify(signed(now=NOW + timedelta(minutes=minutes))) == KEY_ID


def test_signed_too_long_ago() -> None:
    message = rejected(signed(now=NOW - timedelta(minutes=16)), "InvalidSignatureException")
    assert message == (
        "Signature expired: 20260824T121400Z is now earlier than 20260824T121500Z (20260824T123000Z - 15 min.)"
    )


def test_signed_in_the_future() -> None:
    message = rejected(signed(now=NOW + timedelta(minutes=16)), "InvalidSignatureException")
    assert message == (
        "Signature not yet current: 20260824T124600Z is still later than 20260824T124500Z (20260824T123000Z + 15 min.)"
    )


def test_a_presigned_request_is_good_for_as_long_as_it_says() -> None:
    hour_ago = NOW - timedelta(hours=1)
    assert verify(signed(now=hour_ago, expires=3600)) == KEY_ID
    message = rejected(signed(now=hour_ago, expires=3599), "InvalidSignatureException")
    assert message.startswith("Signature expired: 20260824T113000Z is now earlier than ")


def test_a_presigned_request_can_not_be_good_for_ever() -> None:
    assert "X-Amz-Expires" in rejected(signed(expires=8 * 24 * 3600), "IncompleteSignatureException")


# The signature is over the text; the number must be small however it is written.
@pytest.mark.parametrize("expires", ["000000000999999999", "0" * 30 + "1", "1" * 31, "604801", "-1", "+1", "1e3", "٣"])
def test_a_lifetime_is_a_short_number(expires: str) -> None:
    request = signed(expires=60)
    request.target = request.target.replace(b"X-Amz-Expires=60", b"X-Amz-Expires=" + quote(expires).encode())
    assert "X-Amz-Expires" in rejected(request, "IncompleteSignatureException")


def test_a_day_in_the_scope_that_is_not_the_day_of_the_date() -> None:
    request = signed()
    request.headers[b"authorization"] = request.headers[b"authorization"].replace(b"20260824", b"20260823")
    assert rejected(request, "InvalidSignatureException") == (
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
        "'20260823' != '20260824', from '20260824T123000Z'."
    )


def test_no_signature_at_all() -> None:
    request = signed()
    del request.headers[b"authorization"]
    assert rejected(request, "MissingAuthenticationTokenException") == "Missing Authentication Token"


@pytest.mark.parametrize(
    "authorization",
    [
        b"Basic dXNlcjpwYXNz",
        b"AWS4-HMAC-SHA256",
        b"AWS4-HMAC-SHA256 nonsense",
        b"AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=x",
        b"AWS4-HMAC-SHA256 Credential=, SignedHeaders=, Signature=",
        b"\xff\xfe",
    ],
)
def test_half_a_signature(authorization: bytes) -> None:
    request = signed()
    request.headers[b"authorization"] = authorization
    rejected(request, "IncompleteSignatureException")


def test_a_date_that_is_none() -> None:
    request = signed()
    request.headers[b"x-amz-date"] = b"yesterday"
    rejected(request, "IncompleteSignatureException")


def test_half_a_presigned_request() -> None:
    request = signed(expires=60)
    request.target = request.target.replace(b"X-Amz-Expires", b"X-Expires")
    rejected(request, "IncompleteSignatureException")
