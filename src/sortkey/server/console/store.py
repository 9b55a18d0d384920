"""Requests to the store in DynamoDB JSON, each of them checked against the viewer's rights.

A store of this process is asked on threads: a page of a megabyte must not hold up the loop, which answers everybody
else. A remote one is asked by the client of the services.
"""

from __future__ import annotations

import asyncio
import time
from binascii import b2a_base64
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

from botocore.exceptions import ClientError

from sortkey.client.boto3_shapes import to_boto3
from sortkey.client.interface import AsyncClient
from sortkey.client.prefixed import TableNames
from sortkey.engine.database import Database
from sortkey.engine.operations.answers import to_dict
from sortkey.errors import DynamoDBError
from sortkey.server.console.access import Viewer

THREADS: Final = 4
"""All pages together."""
_METADATA: Final = "ResponseMetadata"


class StoreError(Exception):
    """The store's error answer."""

    def __init__(self, code: str, message: str, item: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.item = item
        """The item as it is, of a failed condition that asked for it."""


class StoreRequests:
    def __init__(self, database: Database | None, client: AsyncClient | None, prefix: str = "") -> None:
        """One of the two; `prefix` is that of table names in the database, which a client adds by itself."""
        self.database = database
        self._client = client
        self._names = TableNames(prefix) if prefix else None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="sortkey-console")
        self.seconds = 0.0
        """That threads have worked for consoles."""

    async def call(self, viewer: Viewer | None, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        """Request and answer as DynamoDB JSON. None is the console itself. Raises StoreError, and ApiError for what the
        viewer may not do."""
        if viewer is not None:
            viewer.check(operation, members)
        if self.database is not None:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._call_here, operation, members)
        assert self._client is not None
        try:
            answer = await self._client._call(operation, to_boto3(members))
        except ClientError as error:
            response: Any = error.response
            shown = response["Error"]
            raise StoreError(shown["Code"], shown["Message"], dynamodb_json(response.get("Item"))) from None
        answer.pop(_METADATA, None)
        found: dict[str, Any] = dynamodb_json(answer)
        return found

    def _call_here(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        assert self.database is not None
        began = time.thread_time()
        sent = members if self._names is None else self._names.add(operation, members)
        try:
            answer = self.database.call(operation, sent)
        except DynamoDBError as error:
            raise StoreError(error.code, error.message, to_dict(error.members).get("Item")) from None
        finally:
            self.seconds += time.thread_time() - began
        return answer if self._names is None else self._names.strip(operation, answer)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)


def dynamodb_json(member: Any) -> Any:
    """A part of boto3's answer: binary as base64, times as seconds."""
    if isinstance(member, Mapping):
        return {name: dynamodb_json(inner) for name, inner in member.items()}
    if isinstance(member, list):
        return [dynamodb_json(inner) for inner in member]
    if isinstance(member, bytes):
        return b2a_base64(member, newline=False).decode()
    return member.timestamp() if isinstance(member, datetime) else member
