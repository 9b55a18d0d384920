"""Errors as clients see them, all in one shape.

{"error": {"code": "invalid_request", "message": "…", "details": [{"field": "partnerIds[3]", "message": "…"}]}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected

from sortkey.http.response import RETRY_SECONDS
from sortkey.model.errors import CursorError, DeadlineExceeded, KeyPartError
from sortkey.services.interface import BadRequest, Conflict, NotFound

INVALID: Final = "invalid_request"
MALFORMED: Final = "malformed_json"
OVERLOADED: Final = "overloaded"
UNAVAILABLE: Final = "store_unavailable"
INTERNAL: Final = "internal"

CODES: Final[Mapping[int, str]] = {
    400: INVALID,
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    414: "too_large",
    415: "unsupported_media_type",
    429: OVERLOADED,
    431: "too_large",
    503: OVERLOADED,
}

_THROTTLING: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
    }
)
_BROKEN: Final = frozenset({"InternalServerError", "ServiceUnavailable", "ServiceUnavailableException"})
"""Errors of the store itself, such as a full disk."""

_NO_TABLE: Final = "ResourceNotFoundException"
_FENCED: Final = "TableFencedException"
_MOVED: Final = "TableMovedException"

_FIELD: Final = re.compile(r"(?s)(.*) - at `(?:key in )?\$(.*?)`")
"""msgspec's message, and the field that it names at the end."""


class Detail(msgspec.Struct, frozen=True, omit_defaults=True):
    message: str
    field: str | None = None
    """Where in the request, such as `partnerIds[3]`; None means the whole request."""


class ErrorAnswer(msgspec.Struct, frozen=True):
    status: int
    code: str
    message: str
    details: tuple[Detail, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    logged: bool = False
    """Whether the error is the server's, so that its trace belongs in the log."""

    def json(self) -> bytes:
        error = {"code": self.code, "message": self.message, "details": self.details}
        return msgspec.json.encode({"error": error})


class ApiError(Exception):
    """Ends a request with this answer."""

    def __init__(self, answer: ErrorAnswer) -> None:
        super().__init__(answer.message)
        self.answer = answer


def api_error(status: int, message: str, **headers: str) -> ApiError:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return ApiError(ErrorAnswer(status, CODES[status], message, headers=named))


def overloaded(message: str, code: str = OVERLOADED, logged: bool = False) -> ErrorAnswer:
    return ErrorAnswer(503, code, message, headers=(("retry-after", str(RETRY_SECONDS)),), logged=logged)


def body_error(error: msgspec.DecodeError | UnicodeDecodeError) -> ErrorAnswer:
    """For a body that is not JSON, or does not fit the route's type."""
    if isinstance(error, UnicodeDecodeError):
        return ErrorAnswer(400, MALFORMED, f"The body is not UTF-8: {error.reason}.")
    if not isinstance(error, msgspec.ValidationError):
        return ErrorAnswer(400, MALFORMED, f"The body is not JSON: {error}")
    return invalid_answer([_detail(str(error))])


def error_answer(error: Exception, request_id: str) -> ErrorAnswer:
    """The answer to a request that raised this."""
    match error:
        case ApiError():
            return error.answer
        case NotFound():
            return ErrorAnswer(404, CODES[404], str(error))
        case BadRequest():
            return ErrorAnswer(400, INVALID, str(error), tuple(map(Detail, error.details)))
        case Conflict():
            return ErrorAnswer(409, error.code, str(error))
        case CursorError() | KeyPartError():
            # A value that no key can hold is the client's error, even if its type allows it.
            return ErrorAnswer(400, INVALID, str(error))
        case DeadlineExceeded():
            return overloaded("The store did not answer in time; try again.")
        case ClientError():
            return _store_error(error, request_id)
        case HTTPClientError() | NotConnected():
            return overloaded("The store cannot be reached; try again.", UNAVAILABLE, logged=True)
    return internal_error(request_id)


def internal_error(request_id: str) -> ErrorAnswer:
    """Hides the cause, which the log has under this id."""
    return ErrorAnswer(500, INTERNAL, f"Internal error; see request {request_id} in the server's log.", logged=True)


def _store_error(error: ClientError, request_id: str) -> ErrorAnswer:
    code = error.response["Error"]["Code"]
    if code in _THROTTLING:
        return overloaded("The store is overloaded; try again.")
    if code in _BROKEN:
        return overloaded("The store failed; try again.", UNAVAILABLE, logged=True)
    if code == _FENCED:
        return overloaded("The store is being moved; try again.", UNAVAILABLE)
    if code == _MOVED:
        return overloaded(
            "The store has moved. Starting the server with the new store serves it.", UNAVAILABLE, logged=True
        )
    if code == _NO_TABLE:
        return overloaded(
            "A table of the service is missing in the store: it was deleted, or is being created."
            " Starting the server again creates it.",
            UNAVAILABLE,
        )
    return internal_error(request_id)


def invalid_answer(details: Sequence[Detail]) -> ErrorAnswer:
    first = details[0]
    message = first.message if first.field is None else f"{first.field}: {first.message}"
    return ErrorAnswer(400, INVALID, message, tuple(details))


def _detail(message: str) -> Detail:
    found = _FIELD.fullmatch(message)
    if found is None:
        return Detail(message)
    return Detail(found[1], found[2].removeprefix(".") or None)
