"""The remote client: boto3's low-level DynamoDB client, with the operations of streams on it as well."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.session import Session

from sortkey.client import botocore_deadline, capabilities, errors, fast_remote, remote_answers, remote_requests
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import Client
from sortkey.client.metadata import ClientMeta
from sortkey.client.remote_connection import STREAM_POLL_SECONDS, configuration, connection
from sortkey.client.service_model import METHOD_OF, service_of
from sortkey.client.store_url import Remote
from sortkey.client.unparsed_items import READS, items_parsed


class RemoteClient(Client):
    """One botocore client a service, made when first needed: making one takes longer than many calls."""

    def __init__(self, url: str, remote: Remote) -> None:
        self._connection = connection(remote)
        self._capabilities = self._connection.capabilities
        self._session = remote_answers.install(Session())
        self._clients: dict[str, Any] = {}
        self._shortcut: fast_remote.FastRemote | None = None
        self._making = threading.Lock()
        self._closed = False
        self.meta = ClientMeta(url, self._connection.region)

    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = self._read(operation, members)
        return items_parsed(answer) if operation in READS else answer

    def _read(self, operation: str, members: dict[str, Any], plain: bool = False) -> dict[str, Any]:
        service = service_of(operation)
        client = self._clients.get(service) or self._client(service)
        if self._shortcut is not None and operation in READS:
            read = self._shortcut.read(operation, members, plain)
            if read is not None:
                return read
        try:
            answer: dict[str, Any] = getattr(client, METHOD_OF[operation])(**members)
        except ClientError as error:
            raise errors.of_one_set(operation, members, error) from None
        return answer

    def _client(self, service: str) -> Any:
        with self._making:
            if self._closed:
                raise RuntimeError(f"this client of {self.meta.endpoint_url!r} is closed")
            if service not in self._clients:
                config = Config(**configuration(self._session))
                made = self._session.create_client(service, config=config, **self._connection.arguments)
                self._clients[service] = botocore_deadline.install(remote_requests.install(made))
                if service == "dynamodb" and fast_remote.is_possible(made):
                    self._shortcut = fast_remote.FastRemote(made)
            return self._clients[service]

    def capabilities(self) -> Capabilities:
        if self._capabilities is None:
            try:
                answer: Mapping[str, Any] = self.list_tables(Limit=1)
            except ClientError as error:
                # An error has a header too, and who may not list tables may still use them.
                answer = error.response
            self._capabilities = capabilities.of_answer(answer)
        return self._capabilities

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        """As in the process, though by asking again and again: a network tells nobody of new records."""
        until = time.monotonic() + Timeout
        while True:
            answer = self.get_records(ShardIterator=ShardIterator, Limit=1)
            if answer["Records"] or answer.get("NextShardIterator") is None:
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            ShardIterator = answer["NextShardIterator"]
            time.sleep(min(STREAM_POLL_SECONDS, left))

    def close(self) -> None:
        with self._making:
            self._closed = True
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
