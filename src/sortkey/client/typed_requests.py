"""From the keyword arguments of a call to the engine's request."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import msgspec
from botocore.exceptions import ParamValidationError

from sortkey.client import service_model
from sortkey.client.boto3_shapes import NeedsBotocore, to_dynamodb_json
from sortkey.engine import requests
from sortkey.engine.operations.items import BoundUpdate, bind_update
from sortkey.engine.requests.shapes import Shape
from sortkey.engine.tables.core import Core, Work
from sortkey.errors import ValidationException

_convert = msgspec.convert
_EXPECTED: Final = {
    name: (shape, dict.fromkeys(shape.__struct_encode_fields__).keys()) for name, shape in requests.OPERATIONS.items()
}
# `_convert` needs structures that were inspected.
requests.decoders()
_OWN: Final = frozenset({"Key", "ExpressionAttributeValues"})
"""The parameters in which similar updates differ."""


def typed_request(operation: str, members: dict[str, Any], binary: bool = True) -> Shape:
    """The keyword arguments of a call as a typed request; `binary` tells whether binary may occur in them.

    boto3 checks every parameter against its service model before it sends anything. Here msgspec checks them, in C, as
    it builds the request. Only a request that fails is checked again, slowly, by botocore: so errors have botocore's
    words, and any value that boto3 accepts is accepted here. Raises botocore's ParamValidationError for what boto3
    would not send, DynamoDBError for what DynamoDB rejects.
    """
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


class SimilarUpdates:
    """Plans UpdateItems that are written together. Those of an aggregate differ in their keys and values alone, so what
    they have in common is converted, checked and bound once. That is most of the work."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._known: dict[str, tuple[dict[str, Any], BoundUpdate]] = {}
        """An update for each expression, and its parameters that are not its own."""

    def plan(self, members: dict[str, Any]) -> Work:
        """Raises what `typed_request` and the operation raise."""
        return partial((self._similar(members) or self._new(members)).write, self._core)

    def _similar(self, members: dict[str, Any]) -> BoundUpdate | None:
        expression, key, values = map(members.get, ("UpdateExpression", "Key", "ExpressionAttributeValues"))
        if type(expression) is not str or type(key) is not dict or type(values) is not dict:
            return None
        common, update = self._known.get(expression, (None, None))
        if update is None or common != _common(members):
            return None
        try:
            return update.again(key, values)
        except ValidationException:
            # The general way has the words for it.
            return None

    def _new(self, members: dict[str, Any]) -> BoundUpdate:
        request: Any = typed_request("UpdateItem", members)
        update = bind_update(request)
        if update.request.update_expression is not None:
            self._known[update.request.update_expression] = _common(members), update
        return update


def _common(members: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in members.items() if name not in _OWN}
