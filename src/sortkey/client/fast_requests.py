"""The fast way of remote reads and writes of items: past botocore, with its credentials.

Half the time of a call through botocore is neither signing nor sending: events, endpoint rules, contexts, logs. So a
request is first sent without all this. If it gets no answer, or one that botocore would not accept at once either (a
server's error, throttling, a broken connection, a read's wrong checksum), botocore sends it again, with its retries and
its errors: as it would have sent it again itself. A client without retries has no fast way. Other errors of writes are
read here, since a condition that is not met is an ordinary answer.

Requests to DynamoDB all have one form, so their SigV4 signature is made here: botocore's signer handles any request of
any service, and takes ten times as long. The tests compare both.
"""

from __future__ import annotations

import hmac
from functools import cache
from hashlib import sha256
from importlib import import_module
from time import gmtime, strftime
from typing import Any, Final
from urllib.parse import urlsplit
from zlib import crc32

from botocore.exceptions import ClientError

from sortkey.client import errors
from sortkey.client.boto3_shapes import UNPARSED_READS
from sortkey.client.interface import RETRIED_BY_CALLER
from sortkey.client.remote_formats import headers, read_answer, read_unparsed
from sortkey.client.service_model import operation_model, service_model
from sortkey.clock import SystemClock
from sortkey.wire.signing_key import ALGORITHM, DATE_FORMAT, TERMINATOR, signing_key

_CLOCK: Final = SystemClock()
_OK: Final = 200
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = 500
FAST_OPERATIONS: Final = UNPARSED_READS | {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"}
THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "ThrottledException",
        "TooManyRequestsException",
    }
)
"""Codes of a store that asks to send less."""
_SENT_AGAIN: Final = frozenset({"PriorRequestNotComplete", "RequestTimeout", "RequestTimeoutException"})
"""Other codes after which botocore sends a request again."""
_SIGNATURE: Final = "v4"
_LOCAL_REGION: Final = "local"
"""botocore's name for DynamoDB Local, which signs with the name of another region."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class FastRequests:
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

    def answer(
        self, operation: str, members: dict[str, Any], status: int, received: Any, content: bytes
    ) -> dict[str, Any] | None:
        """The answer, the items of a read unparsed; None if botocore is to send the request again. `received` are the
        answer's headers. Raises the ClientError of a write; of throttling for a caller that sends it again."""
        if operation in UNPARSED_READS:
            checksum = received.get("x-amz-crc32")
            if status != _OK or (checksum is not None and crc32(content) != int(checksum)):
                return None
            answer = read_unparsed(content)
            return None if answer is None else _with_metadata(answer, status, received)
        if status >= _SERVER_ERRORS or status == _TOO_MANY_REQUESTS:
            return None
        answer = read_answer(operation, content) if status == _OK else None
        if answer is None:
            answer = _read_by_botocore(operation, members, status, received, content)
        return None if answer is None else _with_metadata(answer, status, received)


def _with_metadata(answer: dict[str, Any], status: int, received: Any) -> dict[str, Any]:
    found = {name.lower(): value for name, value in received.items()}
    answer["ResponseMetadata"] = {
        "RequestId": found.get("x-amzn-requestid", ""),
        "HTTPStatusCode": status,
        "HTTPHeaders": found,
        "RetryAttempts": 0,
    }
    return answer


def _read_by_botocore(
    operation: str, members: dict[str, Any], status: int, received: Any, content: bytes
) -> dict[str, Any] | None:
    """What botocore makes of an answer to a write; None if it sends the request again."""
    response = {"status_code": status, "headers": dict(received), "body": content}
    parsed: Any = _parser().parse(response, operation_model(operation).output_shape)
    if status == _OK:
        answer: dict[str, Any] = parsed
        return answer
    code = parsed["Error"]["Code"]
    if code in _SENT_AGAIN or (code in THROTTLED and not RETRIED_BY_CALLER.get()):
        return None
    shape: Any = service_model().shape_for_error_code(code)
    if shape is not None:
        parsed.update(_parser().parse(response, shape))
    # Whatever botocore's parser leaves of the answer's metadata, ours is that of every fast answer.
    _with_metadata(parsed, status, received)
    raise errors.remote_error(operation, members, ClientError(parsed, operation))


@cache
def _parser() -> Any:
    return import_module("botocore.parsers").create_parser("json")


def is_possible(client: Any) -> bool:
    """Whether a botocore client signs with SigV4, sends to the root of one fixed address, and may send a request
    again."""
    config = client.meta.config
    if config.retries.get("total_max_attempts") == 1:
        # Botocore would be the second attempt: an ADD that lost its answer would be done twice.
        return False
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
