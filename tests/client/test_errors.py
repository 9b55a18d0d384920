"""Errors are botocore's ClientError, in the shape in which boto3 raises them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from botocore.exceptions import ClientError
from botocore.parsers import create_parser

from sortkey import errors
from sortkey.client import Client, service_model
from sortkey.client.errors import CAPITAL_MESSAGE, EXCEPTIONS, UNMODELLED, client_error
from sortkey.errors import DynamoDBError
from tests.client.orders import EVERY_TYPE, key

ERRORS = DynamoDBError.__subclasses__()
NEVER_TWICE = {"TableName": "orders", "ConditionExpression": "attribute_not_exists(customer)"}


def test_a_failed_condition_is_caught_by_its_name(orders: Client) -> None:
    orders.put_item(TableName="orders", Item=EVERY_TYPE)
    with pytest.raises(orders.exceptions.ConditionalCheckFailedException) as raised:
        orders.put_item(**NEVER_TWICE, Item=key(1), ReturnValuesOnConditionCheckFailure="ALL_OLD")
    error: ClientError = raised.value
    assert isinstance(error, ClientError)
    assert error.operation_name == "PutItem"
    assert str(error) == (
        "An error occurred (ConditionalCheckFailedException) when calling the PutItem operation: "
        "The conditional request failed"
    )
    response: dict[str, Any] = dict(error.response)
    assert response.pop("ResponseMetadata").pop("HTTPStatusCode") == 400
    assert response == {
        "Error": {"Code": "ConditionalCheckFailedException", "Message": "The conditional request failed"},
        "message": "The conditional request failed",
        "Item": EVERY_TYPE,
    }


def test_cancellation_reasons_hold_items_in_boto3s_shape(orders: Client) -> None:
    orders.put_item(TableName="orders", Item=EVERY_TYPE)
    failing = {"Put": {**NEVER_TWICE, "Item": key(1), "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}
    fine = {"Put": {"TableName": "orders", "Item": key(2)}}
    with pytest.raises(orders.exceptions.TransactionCanceledException) as error:
        orders.transact_write_items(TransactItems=[failing, fine])
    response: Any = error.value.response
    assert response["CancellationReasons"] == [
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": EVERY_TYPE},
        {"Code": "None"},
    ]
    assert response["Message"] == response["Error"]["Message"]


# Compared with what boto3 parses from the same error on the wire.
@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
def test_responses_are_what_boto3_would_parse(kind: type[DynamoDBError]) -> None:
    error = kind("why")
    ours: Any = client_error("ListTables", {}, error).response
    body = orjson.dumps(
        {"__type": f"com.amazonaws.dynamodb.v20120810#{kind.__name__}", "message": "why", "Message": "why"}
    )
    service = (
        "dynamodbstreams" if kind.__name__ in ("ExpiredIteratorException", "TrimmedDataAccessException") else "dynamodb"
    )
    parser = create_parser("json")
    response = {"status_code": error.status, "headers": {}, "body": body}
    shape: Any = service_model.operation_model("ListTables").output_shape
    parsed: Any = parser.parse(response, shape)
    modelled = {shape.name: shape for shape in service_model.service_model(service).error_shapes}
    if kind.__name__ in modelled:
        parsed.update(parser.parse(response, modelled[kind.__name__]))
    ours["ResponseMetadata"] = parsed["ResponseMetadata"]
    assert ours == parsed


def test_the_member_of_the_message_is_the_models() -> None:
    shapes: dict[str, Any] = {
        shape.name: shape
        for service in ("dynamodb", "dynamodbstreams")
        for shape in service_model.service_model(service).error_shapes
    }
    assert {kind.__name__ for kind in ERRORS} - set(shapes) == UNMODELLED
    assert {name for name, shape in shapes.items() if "Message" in shape.members} == CAPITAL_MESSAGE


def test_classes_are_reached_by_code() -> None:
    assert EXCEPTIONS.from_code("ValidationException") is EXCEPTIONS.ValidationException
    assert EXCEPTIONS.from_code("NobodyKnows") is ClientError
    assert EXCEPTIONS.ClientError is ClientError


# Code written for AWS names errors that never happen here.
def test_errors_of_other_features_can_be_named() -> None:
    assert issubclass(EXCEPTIONS.BackupNotFoundException, ClientError)
    assert EXCEPTIONS.from_code("BackupNotFoundException") is EXCEPTIONS.BackupNotFoundException


def test_a_misspelt_error_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="ConditionFailed"):
        _ = EXCEPTIONS.ConditionFailed


def test_two_clients_raise_the_same_classes(client: Client) -> None:
    with pytest.raises(EXCEPTIONS.ResourceNotFoundException) as error:
        client.describe_table(TableName="missing")
    assert type(error.value).__name__ == errors.ResourceNotFoundException.__name__
