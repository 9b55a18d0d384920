"""Requests signed by botocore, the signer that the verifier must agree with."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from unittest import mock
from urllib.parse import urlsplit

from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from sortkey.http.request_parser import Request

KEY_ID = "AKIDEXAMPLE"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
NOW = datetime(2026, 8, 24, 12, 30, tzinfo=UTC)
TARGET = "DynamoDB_20120810.GetItem"


class Presigner(SigV4QueryAuth):
    """botocore would move the body into the query, which is for other protocols than DynamoDB's."""

    def __init__(self, credentials: Credentials, service: str, region: str, expires: int, body: bytes) -> None:
        super().__init__(credentials, service, region, expires)
        self._body = body

    def payload(self, request: AWSRequest) -> str:  # noqa: ARG002
        return sha256(self._body).hexdigest()


def signed(
    body: bytes = b"{}",
    *,
    key_id: str = KEY_ID,
    secret: str = SECRET,
    region: str = "eu-west-1",
    service: str = "dynamodb",
    now: datetime = NOW,
    path: str = "/",
    method: str = "POST",
    headers: dict[str, str] | None = None,
    expires: int | None = None,
) -> Request:
    """A request as an SDK would send it; with `expires`, a presigned one."""
    given = {"X-Amz-Target": TARGET, "Content-Type": "application/x-amz-json-1.0", **(headers or {})}
    credentials = Credentials(key_id, secret)
    signer: SigV4Auth = SigV4Auth(credentials, service, region)
    if expires is not None:
        signer = Presigner(credentials, service, region, expires, body)
    request = AWSRequest(method, f"http://db.example:8000{path}", given, body if expires is None else None)
    # botocore asks the clock; its own tests patch it in the same place.
    with mock.patch("botocore.auth.get_current_datetime", return_value=now.replace(tzinfo=None)):
        signer.add_auth(request)
    return received(request, body)


def received(request: AWSRequest, body: bytes) -> Request:
    parts = urlsplit(str(request.url))
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    headers = {name.lower().encode(): str(value).encode() for name, value in request.headers.items()}
    headers.setdefault(b"host", parts.netloc.encode())
    return Request(str(request.method).encode(), target.encode(), headers, body, True)
