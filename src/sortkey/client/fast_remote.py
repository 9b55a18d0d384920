"""The fast path of remote reads: past most of botocore, with its credentials and connections.

Half the time of a call through botocore is neither signing nor sending: events, endpoint rules, contexts, logs. A read
may be sent twice without harm. So it is first sent without all this. If it does not get a complete answer (an error, a
broken connection, a wrong checksum), botocore sends it again, with its retries and its errors.
"""

from __future__ import annotations

from time import gmtime, strftime
from typing import Any, Final, cast
from urllib.parse import urlsplit
from zlib import crc32

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import BotoCoreError

from sortkey.client.remote_answers import read_unparsed
from sortkey.client.remote_requests import headers, request_body
from sortkey.client.request_signature import host_of, signed
from sortkey.wire.signing_key import DATE_FORMAT

_OK: Final = 200
_SIGNATURE: Final = "v4"


class AnyFastRemote:
    """What the sync and the async one have in common: how requests are built and answers read."""

    def __init__(self, client: Any) -> None:
        signer = client._request_signer
        self._url = f"{client.meta.endpoint_url.rstrip('/')}/"
        self._host = host_of(self._url)
        self._user_agent = client.meta.config.user_agent
        self._region, self._service = signer.region_name, signer.signing_name
        self._credentials = signer._credentials
        self._connections = client._endpoint.http_session

    def _request(self, operation: str, body: bytes, credentials: Any) -> AWSPreparedRequest:
        time = strftime(DATE_FORMAT, gmtime())
        unsigned = {**headers(operation), "Host": self._host}
        made = signed(unsigned, body, credentials, self._region, self._service, time)
        # Not signed: proxies may add to it.
        made["User-Agent"] = self._user_agent
        return AWSPreparedRequest("POST", self._url, cast(Any, made), body, False)

    def _answer(self, response: Any, content: bytes) -> dict[str, Any] | None:
        """The answer, with unparsed items; None if it is an error or incomplete."""
        checksum = response.headers.get("x-amz-crc32")
        if response.status_code != _OK or (checksum is not None and crc32(content) != int(checksum)):
            return None
        answer = read_unparsed(content)
        if answer is not None:
            found = {name.lower(): value for name, value in response.headers.items()}
            answer["ResponseMetadata"] = {
                "RequestId": found.get("x-amzn-requestid", ""),
                "HTTPStatusCode": response.status_code,
                "HTTPHeaders": found,
                "RetryAttempts": 0,
            }
        return answer


class FastRemote(AnyFastRemote):
    """Over a botocore client."""

    def read(self, operation: str, members: dict[str, Any], binary: bool) -> dict[str, Any] | None:
        """The answer, with unparsed items; None if botocore has to send the request."""
        body = request_body(operation, members, binary)
        if body is None or self._credentials is None:
            return None
        try:
            request = self._request(operation, body, self._credentials.get_frozen_credentials())
            response = self._connections.send(request)
        except BotoCoreError:
            return None
        return self._answer(response, response.content)


class AsyncFastRemote(AnyFastRemote):
    """Over an aiobotocore client."""

    async def read(self, operation: str, members: dict[str, Any], binary: bool) -> dict[str, Any] | None:
        """The answer, with unparsed items; None if botocore has to send the request."""
        body = request_body(operation, members, binary)
        if body is None or self._credentials is None:
            return None
        try:
            request = self._request(operation, body, await self._credentials.get_frozen_credentials())
            response = await self._connections.send(request)
            content = await response.content
        except BotoCoreError:
            return None
        return self._answer(response, content)


def is_possible(client: Any) -> bool:
    """Whether a botocore client signs with SigV4 and sends to the root of one fixed address."""
    if getattr(client.meta.config, "account_id_endpoint_mode", None) == "required":
        return False
    endpoint = urlsplit(client.meta.endpoint_url)
    at_root = endpoint.path in ("", "/") and "@" not in endpoint.netloc
    return at_root and client._request_signer.signature_version == _SIGNATURE
