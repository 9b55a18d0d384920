"""Reads of an endpoint that go past most of botocore, with its credentials and connections.

Of the time that a call through botocore takes, half is neither signing nor sending: events, endpoint rules, contexts,
records of all this. A read may be sent twice without harm. So it is first tried without them, and whatever does not end
in a whole answer, an error, a broken connection, a checksum that is wrong, leaves it to botocore to ask again, with
its retries and its errors.
"""

from __future__ import annotations

from time import gmtime, strftime
from typing import Any, Final, cast
from urllib.parse import urlsplit
from zlib import crc32

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import BotoCoreError

from sortkey.client.remote_answers import read_members
from sortkey.client.remote_requests import headers, written
from sortkey.client.request_signature import host_of, signed
from sortkey.wire.signing_key import DATE_FORMAT

_OK: Final = 200
_SIGNATURE: Final = "v4"


class Requests:
    """How the requests of one botocore or aiobotocore client are made, and their answers read."""

    def __init__(self, client: Any) -> None:
        signer = client._request_signer
        self._url = f"{client.meta.endpoint_url.rstrip('/')}/"
        self._host = host_of(self._url)
        self._user_agent = client.meta.config.user_agent
        self._region, self._service = signer.region_name, signer.signing_name

    def prepared(self, operation: str, body: bytes, credentials: Any) -> AWSPreparedRequest:
        moment = strftime(DATE_FORMAT, gmtime())
        known = {**headers(operation), "Host": self._host}
        made = signed(known, body, credentials, self._region, self._service, moment)
        # Not signed: proxies may add to it.
        made["User-Agent"] = self._user_agent
        return AWSPreparedRequest("POST", self._url, cast(Any, made), body, False)

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


class FastRemote:
    """Of a botocore client."""

    def __init__(self, client: Any) -> None:
        self._requests = Requests(client)
        self._credentials = client._request_signer._credentials
        self._connections = client._endpoint.http_session

    def read(self, operation: str, members: dict[str, Any], plain: bool) -> dict[str, Any] | None:
        """The answer, with unparsed items; None if botocore has to be asked."""
        body = written(operation, members, plain)
        if body is None or self._credentials is None:
            return None
        try:
            request = self._requests.prepared(operation, body, self._credentials.get_frozen_credentials())
            response = self._connections.send(request)
        except BotoCoreError:
            return None
        return self._requests.answer(response, response.content)


class AsyncFastRemote:
    """Of an aiobotocore client."""

    def __init__(self, client: Any) -> None:
        self._requests = Requests(client)
        self._credentials = client._request_signer._credentials
        self._connections = client._endpoint.http_session

    async def read(self, operation: str, members: dict[str, Any], plain: bool) -> dict[str, Any] | None:
        """As in the sync one."""
        body = written(operation, members, plain)
        if body is None or self._credentials is None:
            return None
        try:
            request = self._requests.prepared(operation, body, await self._credentials.get_frozen_credentials())
            response = await self._connections.send(request)
            content = await response.content
        except BotoCoreError:
            return None
        return self._requests.answer(response, content)


def is_possible(client: Any) -> bool:
    """Whether requests are signed in the usual way, and sent to the root of one address."""
    required = getattr(client.meta.config, "account_id_endpoint_mode", None) == "required"
    endpoint = urlsplit(client.meta.endpoint_url)
    usual = endpoint.path in ("", "/") and "@" not in endpoint.netloc
    return usual and not required and client._request_signer.signature_version == _SIGNATURE
