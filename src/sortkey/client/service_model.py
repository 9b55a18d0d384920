"""botocore's description of DynamoDB, read when first needed: it takes some 50 ms, and most programs never need it."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from botocore import xform_name
from botocore.loaders import Loader
from botocore.model import OperationModel, ServiceModel
from botocore.serialize import create_serializer

from sortkey.engine.requests import OPERATIONS

OPERATION_OF: Final = {xform_name(operation): operation for operation in OPERATIONS}
"""The operations by their methods' names."""
METHOD_OF: Final = {operation: method for method, operation in OPERATION_OF.items()}

_STREAM_OPERATIONS: Final = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
"""boto3 has them on a client of their own."""


@cache
def service_model(service: str = "dynamodb") -> ServiceModel:
    return ServiceModel(load(service, "service-2"), service)


def service_of(operation: str) -> str:
    """Which of boto3's two services has an operation."""
    return "dynamodbstreams" if operation in _STREAM_OPERATIONS else "dynamodb"


def operation_model(operation: str) -> OperationModel:
    return service_model(service_of(operation)).operation_model(operation)


def serialise(operation: str, members: dict[str, Any]) -> bytes:
    """The body that boto3 would send. Raises botocore's ParamValidationError where boto3 would."""
    body: bytes = _serialiser().serialize_to_request(members, operation_model(operation))["body"]
    return body


@cache
def _serialiser() -> Any:
    return create_serializer("json", include_validation=True)


def load(service: str, kind: str) -> Any:
    """One of the files that botocore has about a service."""
    return Loader().load_service_model(service, kind)
