"""What botocore knows of DynamoDB: the names of operations, the checks of their parameters, the metadata of answers and
clients.

botocore's service model is loaded when first needed; most programs never need it. Loading takes some 50 ms, and
importing the loader twice as long, so neither happens at import.
"""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from botocore import xform_name

from sortkey.engine.requests import OPERATIONS

if TYPE_CHECKING:
    from botocore.model import OperationModel, ServiceModel

OPERATION_OF: Final = {xform_name(operation): operation for operation in OPERATIONS}
"""Operations by the names of their methods."""
METHOD_OF: Final = {operation: method for method, operation in OPERATION_OF.items()}
_STREAM_OPERATIONS: Final = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
"""boto3 has these on a separate client."""


@cache
def service_model(service: str = "dynamodb") -> ServiceModel:
    made: ServiceModel = import_module("botocore.model").ServiceModel(load_data(service, "service-2"), service)
    return made


def service_of(operation: str) -> str:
    """The boto3 service that has an operation."""
    return "dynamodbstreams" if operation in _STREAM_OPERATIONS else "dynamodb"


def operation_model(operation: str) -> OperationModel:
    return service_model(service_of(operation)).operation_model(operation)


def serialise(operation: str, members: dict[str, Any]) -> bytes:
    """The body that boto3 would send. Raises botocore's ParamValidationError where boto3 would."""
    body: bytes = _serialiser().serialize_to_request(members, operation_model(operation))["body"]
    return body


@cache
def _serialiser() -> Any:
    return import_module("botocore.serialize").create_serializer("json", include_validation=True)


def load_data(service: str, file: str) -> Any:
    """One of botocore's data files about a service, such as `paginators-1`."""
    return import_module("sortkey.client.service_data").loader().load_service_model(service, file)


def check_parameters(operation: str, members: dict[str, Any]) -> None:
    """Raise botocore's ParamValidationError if boto3 would not have sent this."""
    serialise(operation, members)


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
