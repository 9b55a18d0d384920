"""botocore's description of DynamoDB, read when first needed: most programs never need it.

To read it takes some 50 ms, and to import what reads it twice as long, so neither is done at the top.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from botocore import xform_name

from sortkey.engine.requests import OPERATIONS

if TYPE_CHECKING:
    from botocore.model import OperationModel, ServiceModel

OPERATION_OF: Final = {xform_name(operation): operation for operation in OPERATIONS}
"""The operations by their methods' names."""
METHOD_OF: Final = {operation: method for method, operation in OPERATION_OF.items()}

_STREAM_OPERATIONS: Final = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
"""boto3 has them on a client of their own."""


@cache
def service_model(service: str = "dynamodb") -> ServiceModel:
    made: ServiceModel = import_module("botocore.model").ServiceModel(load(service, "service-2"), service)
    return made


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
    return import_module("botocore.serialize").create_serializer("json", include_validation=True)


def load(service: str, kind: str) -> Any:
    """One of the files that botocore has about a service."""
    return import_module("botocore.loaders").Loader().load_service_model(service, kind)
