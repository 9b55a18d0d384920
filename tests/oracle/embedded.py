"""The engine in this process, with the interface of an endpoint: JSON in, JSON or an error out."""

from __future__ import annotations

from typing import Any

import orjson

from sortkey.engine import requests
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_dict, to_json
from sortkey.errors import DynamoDBError
from tests.oracle.endpoint import OracleError


class Embedded:
    """A database in memory. It takes a request's bytes, so that decoding is compared too."""

    def __init__(self) -> None:
        self._database = Database.open()

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self.send(operation, orjson.dumps(request))

    def send(self, operation: str, body: bytes) -> dict[str, Any]:
        try:
            answer = self._database.execute(operation, requests.decode(operation, body))
        except DynamoDBError as error:
            members = {"__type": error.code, "message": error.message, **to_dict(error.members)}
            raise OracleError(error.code, error.message, members) from None
        plain: dict[str, Any] = orjson.loads(to_json(answer))
        return plain

    def close(self) -> None:
        self._database.close()
