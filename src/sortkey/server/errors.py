"""What went wrong, as clients see it: one shape for every error_answer.

{"error": {"code": "invalid_request", "message": "…", "details": [{"field": "partnerIds[3]", "message": "…"}]}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from botocore.exceptions import ClientError, HTTPClientError
from litestar.exceptions import HTTPException

from sortkey.model.errors import CursorError, DeadlineExceeded, KeyPartError
from sortkey.service_interface import BadRequest, NotFound

INVALID: Final = "invalid_request"
MALFORMED: Final = "malformed_json"
OVERLOADED: Final = "overloaded"
UNAVAILABLE: Final = "store_unavailable"
INTERNAL: Final = "internal"

RETRY_SECONDS: Final = 1

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
"""What a store says when the fault is its own; a full disk is one."""

_PLACE: Final = re.compile(r"(?s)(.*) - at `(?:key in )?\$(.*?)`")
"""How msgspec ends its message."""


class Detail(msgspec.Struct, frozen=True, omit_defaults=True):
    message: str
    field: str | None = None
    """Where in the request, such as `partnerIds[3]`; absent where it is the whole."""


class ErrorAnswer(msgspec.Struct, frozen=True):
    status: int
    code: str
    message: str
    details: tuple[Detail, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    logged: bool = False
    """Whether the fault is on this side, so that its trace belongs in the log."""

    def json(self) -> bytes:
        error = {"code": self.code, "message": self.message, "details": self.details}
        return msgspec.json.encode({"error": error})


class ApiError(Exception):
    """A request that gets this error_answer for an answer."""

    def __init__(self, error_answer: ErrorAnswer) -> None:
        super().__init__(error_answer.message)
        self.error_answer = error_answer


def api_error(status: int, message: str, **headers: str) -> ApiError:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return ApiError(ErrorAnswer(status, CODES[status], message, headers=named))


def overloaded(message: str, code: str = OVERLOADED, logged: bool = False) -> ErrorAnswer:
    return ErrorAnswer(503, code, message, headers=(("retry-after", str(RETRY_SECONDS)),), logged=logged)


def undecoded(error: msgspec.DecodeError | UnicodeDecodeError) -> ErrorAnswer:
    """A body that is not JSON, or not what the route takes."""
    if isinstance(error, UnicodeDecodeError):
        return ErrorAnswer(400, MALFORMED, f"The body is not UTF-8: {error.reason}.")
    if not isinstance(error, msgspec.ValidationError):
        return ErrorAnswer(400, MALFORMED, f"The body is not JSON: {error}")
    return _invalid([_detail(str(error))])


def error_answer_of(error: Exception, request_id: str) -> ErrorAnswer:
    match error:
        case ApiError():
            return error.error_answer
        case NotFound():
            return ErrorAnswer(404, CODES[404], str(error))
        case BadRequest():
            return ErrorAnswer(400, INVALID, str(error), tuple(map(Detail, error.details)))
        case CursorError() | KeyPartError():
            # A value of the request's that no key can hold is the request's fault, whatever its type allows.
            return ErrorAnswer(400, INVALID, str(error))
        case DeadlineExceeded():
            return overloaded("The store did not answer in time; try again.")
        case ClientError():
            return _of_store(error, request_id)
        case HTTPClientError():
            return overloaded("The store cannot be reached; try again.", UNAVAILABLE, logged=True)
        case HTTPException():
            return _of_litestar(error, request_id)
    return internal(request_id)


def internal(request_id: str) -> ErrorAnswer:
    """Nothing about the cause: that is in the log, under this id."""
    return ErrorAnswer(500, INTERNAL, f"Something went wrong here; the log tells more about {request_id}.", logged=True)


def _of_store(error: ClientError, request_id: str) -> ErrorAnswer:
    code = error.response["Error"]["Code"]
    if code in _THROTTLING:
        return overloaded("The store has too much to do; try again.")
    if code in _BROKEN:
        return overloaded("The store failed; try again.", UNAVAILABLE, logged=True)
    return internal(request_id)


def _of_litestar(error: HTTPException, request_id: str) -> ErrorAnswer:
    headers = tuple((error.headers or {}).items())
    cause = error.__cause__
    if error.status_code >= 500 and error.status_code != 503:
        return internal(request_id)
    if error.status_code == 400 and cause is not None and isinstance(cause.__cause__, msgspec.DecodeError):
        return undecoded(cause.__cause__)
    if error.status_code == 400 and isinstance(error.extra, list):
        return _invalid([_of_extra(each) for each in error.extra])
    code = CODES.get(error.status_code, INVALID)
    return ErrorAnswer(error.status_code, code, _MESSAGES.get(error.status_code, error.detail), headers=headers)


_MESSAGES: Final[Mapping[int, str]] = {
    404: "There is nothing here; /docs shows what there is.",
    405: "This is not what can be done here; the Allow header says what can.",
}


def _invalid(details: Sequence[Detail]) -> ErrorAnswer:
    first = details[0]
    message = first.message if first.field is None else f"{first.field}: {first.message}"
    return ErrorAnswer(400, INVALID, message, tuple(details))


def _detail(message: str) -> Detail:
    found = _PLACE.fullmatch(message)
    if found is None:
        return Detail(message)
    return Detail(found[1], found[2].removeprefix(".") or None)


def _of_extra(extra: Any) -> Detail:
    """One of Litestar's own findings; `data` is the body as a whole."""
    message, field = str(extra["message"]), extra.get("key")
    if field == "data":
        # Litestar says no more than the name of what is not there.
        return Detail("The body is missing" if message == "'data'" else message)
    return Detail(message, field)
