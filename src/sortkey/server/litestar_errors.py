"""The errors of Litestar, in the shape of all others.

The console and the tokens have the others without it: `sortkey db` serves a console where Litestar is not installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from litestar.exceptions import HTTPException

from sortkey.server.errors import (
    CODES,
    INVALID,
    Detail,
    ErrorAnswer,
    body_error,
    error_answer,
    internal_error,
    invalid_answer,
)

_MESSAGES: Final[Mapping[int, str]] = {
    404: "Not found. /docs lists the routes.",
    405: "The method is not allowed here. The Allow header lists those that are.",
}


def request_error(error: Exception, request_id: str) -> ErrorAnswer:
    """The answer to a request that raised this, in a handler or in Litestar."""
    return _litestar_error(error, request_id) if isinstance(error, HTTPException) else error_answer(error, request_id)


def _litestar_error(error: HTTPException, request_id: str) -> ErrorAnswer:
    headers = tuple((error.headers or {}).items())
    cause = error.__cause__
    if error.status_code >= 500 and error.status_code != 503:
        return internal_error(request_id)
    if error.status_code == 400 and cause is not None and isinstance(cause.__cause__, msgspec.DecodeError):
        return body_error(cause.__cause__)
    if error.status_code == 400 and isinstance(error.extra, list):
        return invalid_answer([_extra_detail(each) for each in error.extra])
    code = CODES.get(error.status_code, INVALID)
    return ErrorAnswer(error.status_code, code, _MESSAGES.get(error.status_code, error.detail), headers=headers)


def _extra_detail(extra: Any) -> Detail:
    """One of the errors that Litestar found; `data` is the whole body."""
    message, field = str(extra["message"]), extra.get("key")
    if field == "data":
        # Of a missing body, Litestar gives only the name.
        return Detail("The body is missing" if message == "'data'" else message)
    return Detail(message, field)
