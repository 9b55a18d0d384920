"""Reads of an endpoint that go past most of botocore, with its credentials, signatures and connections.

Of the time that a call through botocore takes, half is neither signing nor sending: events, endpoint rules, contexts,
records of all this. A read may be sent twice without harm. So it is first tried without them, and whatever does not end
in a whole answer, a refusal, a broken connection, a checksum that is wrong, leaves it to botocore to ask again, with
its retries and its errors.
"""

from __future__ import annotations

from typing import Any, Final
from zlib import crc32

from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError

from sortkey.client.answers import read_members
from sortkey.client.serialiser import headers, written
from sortkey.client.unparsed import READS

_OK: Final = 200
_SIGNATURE: Final = "v4"


class Request:
    """How the requests of one botocore or aiobotocore client are made, and their answers read."""

    def __init__(self, client: Any) -> None:
        self._url = f"{client.meta.endpoint_url.rstrip('/')}/"
        self._user_agent = client.meta.config.user_agent

    def unsigned(self, operation: str, members: dict[str, Any]) -> AWSRequest | None:
        """None for what botocore has to write."""
        body = written(operation, members) if operation in READS else None
        if body is None:
            return None
        known = {**headers(operation), "User-Agent": self._user_agent}
        return AWSRequest(method="POST", url=self._url, headers=known, data=body)

    def answer(self, response: Any, content: bytes) -> dict[str, Any] | None:
        """With unparsed items; None for anything but a whole answer."""
        checksum = response.headers.get("x-amz-crc32")
        if response.status_code != _OK or (checksum is not None and crc32(content) != int(checksum)):
            return None
        answer = read_members(content)
        if answer is not None:
            found = {name.lower(): value for name, value in response.headers.items()}
            answer["ResponseMetadata"] = {
                "RequestId": found.get("x-amzn-requestid", ""),
                "HTTPStatusCode": response.status_code,
                "HTTPHeaders": found,
                "RetryAttempts": 0,
            }
        return answer


class Shortcut:
    """Of a botocore client."""

    def __init__(self, client: Any) -> None:
        self._request = Request(client)
        self._signer = client._request_signer
        self._connections = client._endpoint.http_session

    def read(self, operation: str, members: dict[str, Any]) -> dict[str, Any] | None:
        """The answer, with unparsed items; None if botocore has to be asked."""
        request = self._request.unsigned(operation, members)
        if request is None:
            return None
        try:
            signer = self._signer.get_auth_instance(self._signer.signing_name, self._signer.region_name)
            signer.add_auth(request)
            response = self._connections.send(request.prepare())
        except BotoCoreError:
            return None
        return self._request.answer(response, response.content)


class AsyncShortcut:
    """Of an aiobotocore client."""

    def __init__(self, client: Any) -> None:
        self._request = Request(client)
        self._signer = client._request_signer
        self._connections = client._endpoint.http_session

    async def read(self, operation: str, members: dict[str, Any]) -> dict[str, Any] | None:
        """As in the sync one."""
        request = self._request.unsigned(operation, members)
        if request is None:
            return None
        try:
            signer = await self._signer.get_auth_instance(self._signer.signing_name, self._signer.region_name)
            signer.add_auth(request)
            response = await self._connections.send(request.prepare())
            content = await response.content
        except BotoCoreError:
            return None
        return self._request.answer(response, content)


def is_possible(client: Any) -> bool:
    """Whether requests are signed in the usual way, and sent to one address."""
    required = getattr(client.meta.config, "account_id_endpoint_mode", None) == "required"
    return client._request_signer.signature_version == _SIGNATURE and not required
