"""The fast way of remote reads: past botocore, with its credentials.

Half the time of a call through botocore is neither signing nor sending: events, endpoint rules, contexts, logs. A read
may be sent twice without harm. So it is first sent without all this. If it does not get a complete answer (an error, a
broken connection, a wrong checksum), botocore sends it again, with its retries and its errors.

Requests to DynamoDB all have one form, so their SigV4 signature is made here: botocore's signer handles any request of
any service, and takes ten times as long. The tests compare both.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from time import gmtime, strftime
from typing import Any, Final
from urllib.parse import urlsplit
from zlib import crc32

from sortkey.client.remote_formats import headers, read_unparsed
from sortkey.clock import SystemClock
from sortkey.wire.signing_key import ALGORITHM, DATE_FORMAT, TERMINATOR, signing_key

_CLOCK: Final = SystemClock()
_OK: Final = 200
_SIGNATURE: Final = "v4"
_LOCAL_REGION: Final = "local"
"""botocore's name for DynamoDB Local, which signs with the name of another region."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class RemoteReads:
    """The requests of a botocore or aiobotocore client, and their answers. Sends nothing itself."""

    def __init__(self, client: Any) -> None:
        meta = client.meta
        self.url = f"{meta.endpoint_url.rstrip('/')}/"
        self._host = host_of(self.url)
        self._user_agent = meta.config.user_agent
        self._region, self._service = meta.region_name, meta.service_model.signing_name

    def signed_headers(self, operation: str, body: bytes, credentials: Any) -> dict[str, str]:
        """The headers of a request; takes botocore's frozen credentials."""
        moment = strftime(DATE_FORMAT, gmtime(_CLOCK.now()))
        unsigned = {**headers(operation), "Host": self._host}
        made = signed(unsigned, body, credentials, self._region, self._service, moment)
        # Not signed: proxies may add to it.
        made["User-Agent"] = self._user_agent
        return made

    def answer(self, status: int, received: Any, content: bytes) -> dict[str, Any] | None:
        """The answer, with unparsed items; None if it is an error or incomplete. `received` are its headers."""
        checksum = received.get("x-amz-crc32")
        if status != _OK or (checksum is not None and crc32(content) != int(checksum)):
            return None
        answer = read_unparsed(content)
        if answer is not None:
            found = {name.lower(): value for name, value in received.items()}
            answer["ResponseMetadata"] = {
                "RequestId": found.get("x-amzn-requestid", ""),
                "HTTPStatusCode": status,
                "HTTPHeaders": found,
                "RetryAttempts": 0,
            }
        return answer


def is_possible(client: Any) -> bool:
    """Whether a botocore client signs with SigV4 and sends to the root of one fixed address."""
    config = client.meta.config
    if config.signature_version != _SIGNATURE or client.meta.region_name == _LOCAL_REGION:
        return False
    if getattr(config, "account_id_endpoint_mode", None) == "required":
        return False
    endpoint = urlsplit(client.meta.endpoint_url)
    return endpoint.path in ("", "/") and "@" not in endpoint.netloc


def host_of(url: str) -> str:
    """The Host header of a URL: without a default port."""
    parts = urlsplit(url)
    if parts.port is None or parts.port != _DEFAULT_PORTS.get(parts.scheme):
        return parts.netloc
    return parts.netloc.rpartition(":")[0]


def signed(
    unsigned: dict[str, str], body: bytes, credentials: Any, region: str, service: str, moment: str
) -> dict[str, str]:
    """The headers with a signature over all of them; takes botocore's frozen credentials, and a time as in
    `X-Amz-Date`."""
    made = {**unsigned, "X-Amz-Date": moment}
    if credentials.token:
        made["X-Amz-Security-Token"] = credentials.token
    lines = sorted((name.lower(), value) for name, value in made.items())
    names = ";".join([name for name, _ in lines])
    content = "".join([f"{name}:{value}\n" for name, value in lines])
    canonical = f"POST\n/\n\n{content}\n{names}\n{sha256(body).hexdigest()}"
    scope = f"{moment[:8]}/{region}/{service}/{TERMINATOR}"
    text = f"{ALGORITHM}\n{moment}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
    key = signing_key(credentials.secret_key, moment[:8], region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    made["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return made
