"""What the parts of the console share: the messages of the JSON API, and which function answers which name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from sortkey.server.console.access import Viewer
from sortkey.server.errors import ApiError, ErrorAnswer

Item = dict[str, dict[str, Any]]
"""As DynamoDB JSON."""
Key = Item


class Body(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Of a request. An unknown member is an error: it would be ignored silently."""


class Message(msgspec.Struct, rename="camel"):
    """Of an answer."""


class Nothing(Body):
    """A request without members."""


class Route(NamedTuple):
    body: type[Body]
    handle: Callable[[Viewer, Any], Awaitable[Message]]


Routes = dict[str, Route]


def invalid(message: str) -> ApiError:
    return ApiError(ErrorAnswer(400, "invalid_request", message))


def missing(message: str) -> ApiError:
    return ApiError(ErrorAnswer(404, "not_found", message))


def forbidden(message: str) -> ApiError:
    return ApiError(ErrorAnswer(403, "forbidden", message))


def instant(seconds: float) -> str:
    """ISO 8601 in UTC, as everywhere in the API."""
    return instant_text(datetime.fromtimestamp(seconds, UTC))


def instant_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


class ChangedError(Exception):
    """A row is not as it was shown."""

    def __init__(self, message: str, current: msgspec.Struct | None) -> None:
        super().__init__(message)
        self.answer = ErrorAnswer(409, "changed", message)
        self._current = current

    def json(self) -> bytes:
        answer = self.answer
        error = {"code": answer.code, "message": answer.message, "details": answer.details}
        return msgspec.json.encode({"error": error, "current": self._current})
