from __future__ import annotations

import json

import pytest
from botocore.session import Session

from sortkey import errors
from sortkey.engine.rows.stored_item import Json
from sortkey.wire import messages
from sortkey.wire.messages import CoralError


# Each service has its own prefix, and only its own operations.
@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_targets_are_those_of_the_service_model(service: str) -> None:
    model = Session().get_service_model(service)
    prefix = model.metadata["targetPrefix"].encode()
    served = {target.split(b".")[1].decode() for target in messages.TARGETS if target.split(b".")[0] == prefix}
    assert served
    assert served <= set(model.operation_names)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.ValidationException("m"), "com.amazon.coral.validate#ValidationException"),
        (errors.UnknownOperationException("m"), "com.amazon.coral.service#UnknownOperationException"),
        (errors.ThrottlingException("m"), "com.amazon.coral.availability#ThrottlingException"),
        (errors.ResourceNotFoundException("m"), "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"),
        (CoralError(400, "InvalidSignatureException", "m"), "com.amazon.coral.service#InvalidSignatureException"),
    ],
)
def test_errors_have_the_namespace_of_the_layer_that_raises_them(
    error: errors.DynamoDBError | CoralError, kind: str
) -> None:
    assert json.loads(messages.error_json(error)) == {"__type": kind, "message": "m"}


# AWS spells the member with a capital letter for some; SDKs take either.
def test_messages_with_a_capital() -> None:
    error = json.loads(messages.error_json(errors.SerializationException("m")))
    assert error == {"__type": "com.amazon.coral.service#SerializationException", "Message": "m"}


def test_an_error_without_message_has_none() -> None:
    assert messages.error_json(errors.SerializationException("")).count(b":") == 1


def test_what_an_error_holds_comes_along() -> None:
    error = errors.ConditionalCheckFailedException(Item=Json(b'{"pk":{"S":"a"}}', False))
    assert json.loads(messages.error_json(error))["Item"] == {"pk": {"S": "a"}}
