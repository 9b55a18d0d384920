"""One list of methods: the engine's operations under boto3's names."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from botocore import xform_name

from sortkey.client import Client
from sortkey.client.methods import Methods
from sortkey.client.service_model import operation_model
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
