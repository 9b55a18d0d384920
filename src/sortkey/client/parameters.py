"""A call's keyword arguments made a typed request.

boto3 checks every parameter against its service model before it sends anything. Here the engine's own reading of the
request is the check, in C; only what does not pass it is looked at again, slowly, by botocore itself, so that a mistake
is told in botocore's words, and anything unusual that boto3 takes is taken here.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from botocore.exceptions import ParamValidationError

from sortkey.client import service_model
from sortkey.client.shapes import Unusual, to_wire
from sortkey.engine import requests
from sortkey.engine.requests.shapes import Shape

_convert = msgspec.convert

_EXPECTED: Final = {
    name: (shape, dict.fromkeys(shape.__struct_encode_fields__).keys()) for name, shape in requests.OPERATIONS.items()
}


def request(operation: str, members: dict[str, Any], plain: bool = False) -> Shape:
    """Raises botocore's ParamValidationError for what boto3 would not send, DynamoDBError for what DynamoDB rejects.
    `plain` says that there is no binary to be converted."""
    shape, known = _EXPECTED[operation]
    if members.keys() <= known:
        try:
            return _convert(members if plain else to_wire(members), shape)
        except (Unusual, msgspec.ValidationError):
            pass
    body = service_model.serialise(operation, members)
    for name in members.keys() - known:
        # The installed boto3 is newer than the engine. Ignoring a parameter would be worse than rejecting it.
        raise ParamValidationError(report=f'Unknown parameter in input: "{name}", must be one of: {", ".join(known)}')
    return requests.decode(operation, body)


def check(operation: str, members: dict[str, Any]) -> None:
    """Raise botocore's ParamValidationError if boto3 would not have sent this."""
    service_model.serialise(operation, members)
