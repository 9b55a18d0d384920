"""One list of methods: the engine's operations under boto3's names."""

from __future__ import annotations

import inspect
from typing import Any

import boto3
import pytest
from botocore import xform_name

from sortkey.client import Client
from sortkey.client.embedded import EmbeddedClient
from sortkey.client.methods import Methods
from sortkey.client.service_model import operation_model, service_model
from sortkey.engine.requests import OPERATIONS

METHODS = {name: method for name, method in vars(Methods).items() if inspect.isfunction(method) and name[0] != "_"}


def test_every_operation_is_a_method_by_boto3s_name() -> None:
    assert sorted(METHODS) == sorted(map(xform_name, OPERATIONS))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_method_calls_its_operation(operation: str) -> None:
    called = []

    class Recorder(Methods[None]):
        def _call(self, operation: str, members: dict[str, object]) -> None:
            called.append((operation, members))

    getattr(Recorder(), xform_name(operation))(TableName="t")
    assert called == [(operation, {"TableName": "t"})]


@pytest.mark.parametrize("method", METHODS.values())
def test_methods_are_documented(method: object) -> None:
    assert inspect.getdoc(method)


# botocore rejects a member that the service model lacks, but it checks only requests that fail.
@pytest.mark.parametrize("operation", OPERATIONS)
def test_boto3_knows_all_members_of_the_engine(operation: str) -> None:
    shape: Any = operation_model(operation).input_shape
    assert set(OPERATIONS[operation].__struct_encode_fields__) <= set(shape.members)


def test_only_keyword_arguments(client: Client) -> None:
    with pytest.raises(TypeError):
        client.get_item("orders")  # type: ignore[call-arg]


# What boto3-stubs' DynamoDBClient promises to type checkers (client/__init__.py), a client has at run time: but for
# what is botocore's alone, and operations that the engine lacks. `meta` is an attribute of each client.
def test_a_client_has_the_methods_of_boto3s() -> None:
    boto3s = {name for name in dir(boto3.client("dynamodb", region_name="eu-west-1")) if not name.startswith("_")}
    lacking = {xform_name(operation) for operation in service_model("dynamodb").operation_names} - METHODS.keys()
    assert boto3s - set(dir(EmbeddedClient)) - lacking == {"generate_presigned_url", "meta", "waiter_names"}
