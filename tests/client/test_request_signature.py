"""Signatures are botocore's, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials

from sortkey.client.remote_requests import headers
from sortkey.client.request_signature import host_of, signed

MOMENT = "20260824T123000Z"


@pytest.mark.parametrize("token", [None, "a+token/="])
@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/", "https://dynamodb.eu-west-1.amazonaws.com/"])
@pytest.mark.parametrize("body", [b"{}", '{"é": "\\u0000"}'.encode()])
def test_it_is_what_botocore_signs(url: str, token: str | None, body: bytes) -> None:
    credentials = ReadOnlyCredentials("AKID", "secret/+", token)
    known = {**headers("GetItem"), "Host": host_of(url)}
    ours = signed(known, body, credentials, "eu-west-1", "dynamodb", MOMENT)
    request = AWSRequest(
        method="POST", url=url, headers={name: ours[name] for name in ours if name != "Authorization"}, data=body
    )
    request.context["timestamp"] = MOMENT
    theirs: Any = SigV4Auth(credentials, "dynamodb", "eu-west-1")
    text = theirs.string_to_sign(request, theirs.canonical_request(request))
    assert ours["Authorization"].endswith(f", Signature={theirs.signature(text, request)}")
    assert f"Credential={theirs.scope(request)}, " in ours["Authorization"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("http://localhost:80/", "localhost"),
        ("https://db.example:443", "db.example"),
        ("https://db.example:80", "db.example:80"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://[::1]:80/", "[::1]"),
        ("https://db.example", "db.example"),
    ],
)
def test_hosts(url: str, host: str) -> None:
    assert host_of(url) == host
