"""Signature Version 4 by hand: every part can be chosen, also wrongly. Its own code, so that it can disagree."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from tests.faults.fuzz.case import Headers

ALGORITHM: Final = "AWS4-HMAC-SHA256"
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Parameters:
    key_id: str
    secret: str
    date: str
    day: str
    region: str = "eu-west-1"
    service: str = "dynamodb"
    terminator: str = "aws4_request"
    unsigned: frozenset[str] = frozenset()
    """Headers that the signature leaves out."""

    @property
    def scope(self) -> str:
        return f"{self.day}/{self.region}/{self.service}/{self.terminator}"


@dataclass(frozen=True)
class Request:
    """What a signature is about."""

    headers: Headers
    body: bytes
    query: Pairs = ()
    path: str = "/"
    method: str = "POST"

    @property
    def target(self) -> str:
        query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in self.query)
        return f"{self.path}?{query}" if query else self.path


def in_header(request: Request, given: Parameters) -> Request:
    dated = replace(request, headers=(*request.headers, ("X-Amz-Date", given.date)))
    names = _signed_names(dated, given)
    value = (
        f"{ALGORITHM} Credential={given.key_id}/{given.scope}, SignedHeaders={names}, "
        f"Signature={_signature(dated, given, names)}"
    )
    return replace(dated, headers=(*dated.headers, ("Authorization", value)))


def in_query(request: Request, given: Parameters, expires: str) -> Request:
    names = _signed_names(request, given)
    query = (
        ("X-Amz-Algorithm", ALGORITHM),
        ("X-Amz-Credential", f"{given.key_id}/{given.scope}"),
        ("X-Amz-Date", given.date),
        ("X-Amz-Expires", expires),
        ("X-Amz-SignedHeaders", names),
    )
    asked = replace(request, query=(*request.query, *query))
    return replace(asked, query=(*asked.query, ("X-Amz-Signature", _signature(asked, given, names))))


def _signed_names(request: Request, given: Parameters) -> str:
    return ";".join(sorted(name.lower() for name, _ in request.headers if name.lower() not in given.unsigned))


def _signature(request: Request, given: Parameters, names: str) -> str:
    values = {name.lower(): " ".join(value.split()) for name, value in request.headers}
    lines = "".join(f"{name}:{values[name]}\n" for name in names.split(";") if name)
    query = "&".join(f"{name}={value}" for name, value in sorted((_quoted(n), _quoted(v)) for n, v in request.query))
    parts = (request.method, request.path, query, lines, names, sha256(request.body).hexdigest())
    hashed = sha256("\n".join(parts).encode()).hexdigest()
    key = b"AWS4" + given.secret.encode()
    for part in (given.day, given.region, given.service, given.terminator):
        key = hmac.digest(key, part.encode(), "sha256")
    text = "\n".join((ALGORITHM, given.date, given.scope, hashed))
    return hmac.digest(key, text.encode(), "sha256").hex()


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="-_.~")
