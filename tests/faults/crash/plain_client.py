"""A client of an endpoint that sends each request once.

botocore would send a request again whose answer is lost, and takes longer to start than a kill may take.
"""

from __future__ import annotations

import threading
from typing import Any

from sortkey.client.interface import Client
from sortkey.client.stores import Capabilities
from tests.wire.serving import RawClient, request


class PlainClient(Client):
    """Without binary, dates and streams, whose shapes differ from JSON. Each thread has a connection of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._own = threading.local()
        self._opened: list[RawClient] = []

    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        connection: RawClient | None = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = RawClient(self._url)
            self._opened.append(connection)
        connection.send(request(operation, members))
        answer = connection.answer()
        content = answer.json()
        if answer.status == 200:
            return content
        code = content["__type"].rpartition("#")[2]
        response: Any = {"Error": {"Code": code, "Message": content.get("message", "")}, **content}
        raise self.exceptions.from_code(code)(response, operation)

    def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        raise NotImplementedError("writers read nothing unparsed")

    def capabilities(self) -> Capabilities:
        raise NotImplementedError("writers use what there is")

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:  # noqa: N803 - the interface's names
        raise NotImplementedError("writers do not read streams")

    def close(self) -> None:
        for connection in self._opened:
            connection.close()
