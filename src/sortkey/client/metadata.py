"""The metadata of answers (`ResponseMetadata`) and of clients (`client.meta`)."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sortkey.client.service_model import service_model

if TYPE_CHECKING:
    from botocore.model import ServiceModel

_PROCESS: Final = secrets.token_hex(16).upper()
_REQUESTS: Final = itertools.count(10**15)
"""From a number large enough that all have one length, without padding."""


def response_metadata(status: int = 200) -> dict[str, Any]:
    """What boto3 adds to every answer. The request id is unique: the process's id, then the request's number."""
    return {
        "RequestId": f"{_PROCESS}{next(_REQUESTS)}",
        "HTTPStatusCode": status,
        "HTTPHeaders": {},
        "RetryAttempts": 0,
    }


@dataclass(frozen=True, slots=True)
class ClientMeta:
    """`client.meta`: the parts that make sense without a network."""

    endpoint_url: str
    region_name: str

    @property
    def service_model(self) -> ServiceModel:
        return service_model()
