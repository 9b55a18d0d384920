"""The keyword arguments of a call, turned into a typed request.

boto3 checks every parameter against its service model before it sends anything. Here msgspec checks them, in C, as it
builds the engine's typed request. Only a request that fails is checked again, slowly, by botocore: so errors have
botocore's words, and any value that boto3 accepts is accepted here.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from botocore.exceptions import ParamValidationError

from sortkey.client import service_model
from sortkey.client.boto3_shapes import NeedsBotocore, to_dynamodb_json
from sortkey.engine import requests
from sortkey.engine.requests.shapes import Shape

_convert = msgspec.convert

_EXPECTED: Final = {
    name: (shape, dict.fromkeys(shape.__struct_encode_fields__).keys()) for name, shape in requests.OPERATIONS.items()
}


def request(operation: str, members: dict[str, Any], binary: bool = True) -> Shape:
    """Raises botocore's ParamValidationError for what boto3 would not send, DynamoDBError for what DynamoDB rejects.
    `binary` tells whether binary may occur in the members."""
    shape, known = _EXPECTED[operation]
    if members.keys() <= known:
        try:
            return _convert(to_dynamodb_json(members) if binary else members, shape)
        except (NeedsBotocore, msgspec.ValidationError):
            pass
    body = service_model.serialise(operation, members)
    for name in members.keys() - known:
        # The installed botocore is newer than the engine. Ignoring a parameter would be worse than rejecting it.
        raise ParamValidationError(report=f'Unknown parameter in input: "{name}", must be one of: {", ".join(known)}')
    return requests.decode(operation, body)


def check(operation: str, members: dict[str, Any]) -> None:
    """Raise botocore's ParamValidationError if boto3 would not have sent this."""
    service_model.serialise(operation, members)
