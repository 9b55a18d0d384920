"""What every answer carries beside its members, and what a client tells about itself."""

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
"""All of one length, without the cost of padding each."""


def response_metadata(status: int = 200) -> dict[str, Any]:
    """What boto3 adds to every answer. The id is unique: which process, then which request."""
    return {
        "RequestId": f"{_PROCESS}{next(_REQUESTS)}",
        "HTTPStatusCode": status,
        "HTTPHeaders": {},
        "RetryAttempts": 0,
    }


@dataclass(frozen=True, slots=True)
class ClientMeta:
    """`client.meta`, as far as it means something without a network."""

    endpoint_url: str
    region_name: str

    @property
    def service_model(self) -> ServiceModel:
        return service_model()
