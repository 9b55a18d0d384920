"""Requests of the protocol, answered in the caller's thread: the bodies of the endpoint, without HTTP."""

from __future__ import annotations

from typing import Final, NamedTuple

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_json
from sortkey.errors import DynamoDBError, UnknownOperationException
from sortkey.storage import FolderBusy
from sortkey.wire.messages import TARGETS, CoralError, error_json

OK: Final = 200
UNAVAILABLE: Final = 503


class Message(NamedTuple):
    """What HTTP would carry."""

    status: int
    body: bytes


def answer(database: Database, target: bytes, body: bytes) -> Message:
    """The answer to a request: its `X-Amz-Target` and its body. Errors of the engine are answers; a bug is raised."""
    operation = TARGETS.get(target)
    try:
        if operation is None:
            raise UnknownOperationException("An unknown operation was requested.")
        return Message(OK, to_json(database.execute(operation, requests.decode(operation, body))))
    except DynamoDBError as error:
        return Message(error.status, error_json(error))
    except FolderBusy as busy:
        unavailable = CoralError(UNAVAILABLE, "ServiceUnavailableException", f"Nothing was written: {busy}")
        return Message(UNAVAILABLE, error_json(unavailable))
