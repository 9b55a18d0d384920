"""Errors in GraphQL's shape, each with a code for programs.

{"message": "…", "locations": [{"line": 1, "column": 3}], "path": ["price"], "extensions": {"code": "BAD_REQUEST"}}
"""

from __future__ import annotations

import logging
from typing import Any, Final

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as NotConnected
from graphql import GraphQLError

from sortkey.model.errors import CursorError, DeadlineExceeded, KeyPartError
from sortkey.services.interface import BadRequest, Conflict, NotFound

PARSE_FAILED: Final = "GRAPHQL_PARSE_FAILED"
VALIDATION_FAILED: Final = "GRAPHQL_VALIDATION_FAILED"
BAD_REQUEST: Final = "BAD_REQUEST"
NOT_FOUND: Final = "NOT_FOUND"
CONFLICT: Final = "CONFLICT"
OVERLOADED: Final = "OVERLOADED"
STORE_UNAVAILABLE: Final = "STORE_UNAVAILABLE"
INTERNAL: Final = "INTERNAL"

ErrorAnswer = dict[str, Any]

_OVERLOADED: Final = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
    }
)
NO_TABLE: Final = (
    "A table of the service is missing in the store: it was deleted, or is being created. Starting the server again"
    " creates it."
)
_logger = logging.getLogger(__name__)


class Refused(Exception):
    """The request is not executed; these are its errors."""

    def __init__(self, errors: list[ErrorAnswer]) -> None:
        super().__init__(errors[0]["message"])
        self.errors = errors


def refused(code: str, message: str) -> Refused:
    return Refused([{"message": message, "extensions": {"code": code}}])


def error_answer(error: GraphQLError, code: str = BAD_REQUEST) -> ErrorAnswer:
    """`code` is that of errors which GraphQL itself raises; a resolver's error has its own."""
    answer: ErrorAnswer = dict(error.formatted)
    raised = error.original_error
    extensions = {"code": code} if raised is None or isinstance(raised, GraphQLError) else _extensions(raised)
    if extensions["code"] == INTERNAL:
        _logger.error("a GraphQL resolver failed", exc_info=raised)
        answer["message"] = "Internal error; see the server's log."
    elif extensions["code"] == OVERLOADED:
        answer["message"] = "The store is overloaded or did not answer in time; try again."
    elif extensions["code"] == STORE_UNAVAILABLE:
        answer["message"] = NO_TABLE
        _logger.error("a GraphQL resolver: %s", NO_TABLE)
    return {**answer, "extensions": extensions}


def _extensions(raised: Exception) -> dict[str, Any]:
    match raised:
        case BadRequest(details=()) | CursorError() | KeyPartError():
            return {"code": BAD_REQUEST}
        case BadRequest():
            return {"code": BAD_REQUEST, "details": list(raised.details)}
        case NotFound():
            return {"code": NOT_FOUND}
        case Conflict():
            return {"code": CONFLICT, "reason": raised.code}
        case DeadlineExceeded() | HTTPClientError() | NotConnected():
            return {"code": OVERLOADED}
        case ClientError() if raised.response["Error"]["Code"] in _OVERLOADED:
            return {"code": OVERLOADED}
        case ClientError() if raised.response["Error"]["Code"] == "ResourceNotFoundException":
            return {"code": STORE_UNAVAILABLE}
    return {"code": INTERNAL}
