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
from sortkey.client.aws_access import DEFAULT, AwsAccess
from sortkey.client.boto3_shapes import UNPARSED_READS, with_parsed_items
from sortkey.client.capabilities import Capabilities
from sortkey.client.interface import Client
from sortkey.client.remote_connection import STREAM_POLL_SECONDS, AnyRemoteClient, configuration, own_session
from sortkey.client.service_model import METHOD_OF, service_of
from sortkey.client.store_url import Remote


class RemoteClient(AnyRemoteClient[dict[str, Any]], Client):
    """Any number of threads may share one client."""

    def __init__(self, url: str, remote: Remote, access: AwsAccess = DEFAULT) -> None:
        given = access.botocore_session(is_async=False)
        super().__init__(url, remote, access, given)
        self._session = given or own_session(Session)
        self._fast: fast_remote.FastRemote | None = None
        self._opening = threading.Lock()

    def _call(self, operation: str, members: dict[str, Any]) -> dict[str, Any]:
        answer = self._call_unparsed(operation, members)
        return with_parsed_items(answer) if operation in UNPARSED_READS else answer

    def _call_unparsed(self, operation: str, members: dict[str, Any], binary: bool = True) -> dict[str, Any]:
        service = service_of(operation)
        client = self._clients.get(service) or self._client(service)
        if self._fast is not None and operation in UNPARSED_READS:
            read = self._fast.read(operation, members, binary)
            if read is not None:
                return read
        try:
            answer: dict[str, Any] = getattr(client, METHOD_OF[operation])(**members)
        except ClientError as error:
            raise errors.remote_error(operation, members, error) from None
        return answer

    def _client(self, service: str) -> Any:
        with self._opening:
            self._check_open()
            if service not in self._clients:
                config = self._access.configured(Config(**configuration(self._session)))
                made = self._session.create_client(service, config=config, **self._connection.arguments)
                self._clients[service] = botocore_deadline.install(
                    remote_requests.install(remote_answers.install(made))
                )
                if service == "dynamodb" and self._access.session is None and fast_remote.is_possible(made):
                    self._fast = fast_remote.FastRemote(made)
            return self._clients[service]

    def capabilities(self) -> Capabilities:
        if self._capabilities is None:
            try:
                answer: Mapping[str, Any] = self.list_tables(Limit=1)
            except ClientError as error:
                # An error has the header too, and a caller without the right to list tables may still use them.
                answer = error.response
            self._capabilities = capabilities.of_answer(answer)
        return self._capabilities

    def wait_for_records(self, *, ShardIterator: str, Timeout: float) -> bool:
        # By polling: an endpoint does not announce records.
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
        with self._opening:
            self._closed = True
            clients, self._clients = self._clients, {}
        self._abandon(clients)

    def _abandon(self, clients: dict[str, Any]) -> None:
        for client in clients.values():
            client.close()
