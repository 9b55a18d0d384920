"""Verifies AWS's Signature Version 4. Pure: the time is an argument.

A signature is an HMAC over a canonical form of the request: method, path, query, the signed headers, and the SHA-256 of
the body as sent. It comes in the `Authorization` header, or in the query (a presigned URL). The key for it is derived
from the secret, the day, the region and the service.

AWS accepts a declared hash of the body; here the body itself is always hashed. So an unsigned body is rejected, and so
is another body with the same signature.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from sortkey.http.request_parser import Request
from sortkey.wire.messages import CoralError
from sortkey.wire.signing_key import ALGORITHM, DATE_FORMAT, TERMINATOR, signing_key

SERVICE: Final = "dynamodb"
SKEW: Final = timedelta(minutes=15)
LONGEST_EXPIRY: Final = 7 * 24 * 3600
EXPIRY_DIGITS: Final = len(str(LONGEST_EXPIRY))

MISMATCH: Final = (
    "The request signature we calculated does not match the signature you provided. "
    "Check your AWS Secret Access Key and signing method. Consult the service documentation for details."
)


class Signed(NamedTuple):
    """A request's signature and its parameters."""

    key_id: str
    day: str
    region: str
    service: str
    terminator: str
    headers: list[str]
    signature: str
    date: str
    lifetime: timedelta
    expires: bool
    """Whether the request is presigned, and so states its own lifetime."""


Secret = Callable[[str], str | None]


def verify(request: Request, secret_of: Secret, now: float, region: Callable[[str], str | None]) -> str:
    """Return the id of the access key that signed the request. Raises AWS's error if the signature is not valid.

    `region` returns the only region that a key is good for, or None for any.
    """
    path, _, query = request.target.partition(b"?")
    parameters = _parameters(query)
    signed = _presigned(parameters) if "X-Amz-Signature" in parameters else _in_header(request.headers)
    secret = secret_of(signed.key_id)
    if secret is None:
        raise CoralError(400, "UnrecognizedClientException", "The security token included in the request is invalid.")
    _check_scope(signed, region(signed.key_id))
    _check_time(signed, datetime.fromtimestamp(now, UTC))
    canonical = _canonical_request(request, path, parameters, signed)
    text = "\n".join((ALGORITHM, signed.date, _scope(signed), sha256(canonical).hexdigest()))
    key = signing_key(secret, signed.day, signed.region, signed.service)
    expected = hmac.new(key, text.encode(), sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signed.signature.encode()):
        raise _invalid(MISMATCH)
    return signed.key_id


def _in_header(headers: Mapping[bytes, bytes]) -> Signed:
    authorization = headers.get(b"authorization", b"").decode("latin-1")
    if not authorization:
        raise CoralError(400, "MissingAuthenticationTokenException", "Missing Authentication Token")
    algorithm, _, rest = authorization.partition(" ")
    if algorithm != ALGORITHM:
        raise _incomplete(f"Unsupported AWS 'algorithm': '{algorithm}'.")
    parts = dict(_pair(part) for part in rest.split(","))
    missing = [name for name in ("Credential", "Signature", "SignedHeaders") if not parts.get(name)]
    date = (headers.get(b"x-amz-date") or headers.get(b"date") or b"").decode("latin-1")
    problems = [f"Authorization header requires '{name}' parameter." for name in missing]
    if not date:
        problems.append("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header.")
    if problems:
        raise _incomplete(f"{' '.join(problems)} Authorization={algorithm}")
    return _signed(parts["Credential"], parts["SignedHeaders"], parts["Signature"], date, None)


def _pair(part: str) -> tuple[str, str]:
    name, _, value = part.strip().partition("=")
    return name, value


def _presigned(parameters: Mapping[str, str]) -> Signed:
    needed = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires")
    problems = [f"AWS query-string parameters must include '{name}'." for name in needed if not parameters.get(name)]
    if problems:
        raise _incomplete(" ".join(problems))
    if parameters["X-Amz-Algorithm"] != ALGORITHM:
        raise _incomplete(f"Unsupported AWS 'algorithm': '{parameters['X-Amz-Algorithm']}'.")
    expires = parameters["X-Amz-Expires"]
    is_number = expires.isascii() and expires.isdigit() and len(expires) <= EXPIRY_DIGITS
    if not is_number or int(expires) > LONGEST_EXPIRY:
        raise _incomplete(f"'X-Amz-Expires' must be a number of seconds, at most {LONGEST_EXPIRY}: '{expires[:20]}'.")
    credential, headers, signature, date = (
        parameters[name] for name in ("X-Amz-Credential", "X-Amz-SignedHeaders", "X-Amz-Signature", "X-Amz-Date")
    )
    return _signed(credential, headers, signature, date, timedelta(seconds=int(expires)))


def _signed(credential: str, headers: str, signature: str, date: str, lifetime: timedelta | None) -> Signed:
    parts = credential.rsplit("/", 4)
    if len(parts) != 5:
        raise _incomplete(
            "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, "
            f"got '{credential}'"
        )
    key_id, day, region, service, terminator = parts
    return Signed(
        key_id,
        day,
        region,
        service,
        terminator,
        headers.split(";"),
        signature,
        date,
        SKEW if lifetime is None else lifetime,
        lifetime is not None,
    )


def _check_scope(signed: Signed, region: str | None) -> None:
    problems = []
    if region is not None and signed.region != region:
        problems.append(f"Credential should be scoped to a valid region, not '{signed.region}'. ")
    if signed.service != SERVICE:
        problems.append(f"Credential should be scoped to correct service: '{SERVICE}'. ")
    if signed.terminator != TERMINATOR:
        problems.append(
            f"Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{signed.terminator}'. "
        )
    if problems:
        raise _invalid("".join(problems))


def _check_time(signed: Signed, now: datetime) -> None:
    try:
        date = datetime.strptime(signed.date, DATE_FORMAT).replace(tzinfo=UTC)
    except ValueError:
        raise _incomplete(f"Date must be in ISO-8601 'basic format'. Got '{signed.date}'.") from None
    if signed.date[:8] != signed.day:
        raise _invalid(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: "
            f"'{signed.day}' != '{signed.date[:8]}', from '{signed.date}'."
        )
    oldest, newest = now - signed.lifetime, now + SKEW
    minutes = int(signed.lifetime.total_seconds()) // 60
    if date < oldest:
        raise _invalid(
            f"Signature expired: {signed.date} is now earlier than {oldest:{DATE_FORMAT}} "
            f"({now:{DATE_FORMAT}} - {minutes} min.)"
        )
    if date > newest:
        raise _invalid(
            f"Signature not yet current: {signed.date} is still later than {newest:{DATE_FORMAT}} "
            f"({now:{DATE_FORMAT}} + {int(SKEW.total_seconds()) // 60} min.)"
        )


def _canonical_request(request: Request, path: bytes, parameters: Mapping[str, str], signed: Signed) -> bytes:
    headers = request.headers
    for needed in (b"host", b"x-amz-target"):
        if needed in headers and needed.decode() not in signed.headers:
            raise _invalid(f"'{needed.decode()}' must be a 'SignedHeader' in the AWS Authorization.")
    lines = []
    for name in signed.headers:
        value = headers.get(name.encode("latin-1"))
        if value is None:
            raise _invalid(MISMATCH)
        lines.append(f"{name}:{' '.join(value.decode('latin-1').split())}\n")
    # Sorted as pairs: `a=1` comes before `a-b=1`, which text order would reverse.
    pairs = sorted((_quoted(name), _quoted(value)) for name, value in parameters.items() if name != "X-Amz-Signature")
    text = "\n".join(
        (
            request.method.decode(),
            quote(path.decode("latin-1"), safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            "".join(lines),
            ";".join(signed.headers),
            sha256(request.body).hexdigest(),
        )
    )
    return text.encode("latin-1")


def _parameters(query: bytes) -> dict[str, str]:
    """The query's parameters as Latin-1 text, which preserves every byte."""
    pairs = (part.partition(b"=") for part in query.split(b"&") if part)
    return {_unquoted(name): _unquoted(value) for name, _, value in pairs}


def _unquoted(text: bytes) -> str:
    return unquote_to_bytes(text).decode("latin-1")


def _quoted(text: str) -> str:
    return quote(text.encode("latin-1"), safe="-_.~")


def _scope(signed: Signed) -> str:
    return "/".join((signed.day, signed.region, signed.service, signed.terminator))


def _incomplete(message: str) -> CoralError:
    return CoralError(400, "IncompleteSignatureException", message)


def _invalid(message: str) -> CoralError:
    return CoralError(400, "InvalidSignatureException", message)
