from __future__ import annotations

import gzip
import json

import pytest
from botocore.session import Session

from sortkey import errors
from sortkey.engine.rows.stored_item import Json
from sortkey.http.request_parser import BODY_BYTES, Request
from sortkey.wire import protocol
from sortkey.wire.protocol import HttpError


def request(body: bytes, coding: bytes | None = None) -> Request:
    return Request(b"POST", b"/", {} if coding is None else {b"content-encoding": coding}, body, True)


# Each service has its own prefix, and knows nothing of the other's operations.
@pytest.mark.parametrize("service", ["dynamodb", "dynamodbstreams"])
def test_targets_are_those_of_the_service_model(service: str) -> None:
    model = Session().get_service_model(service)
    prefix = model.metadata["targetPrefix"].encode()
    served = {target.split(b".")[1].decode() for target in protocol.TARGETS if target.split(b".")[0] == prefix}
    assert served
    assert served <= set(model.operation_names)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.ValidationException("m"), "com.amazon.coral.validate#ValidationException"),
        (errors.UnknownOperationException("m"), "com.amazon.coral.service#UnknownOperationException"),
        (errors.ThrottlingException("m"), "com.amazon.coral.availability#ThrottlingException"),
        (errors.ResourceNotFoundException("m"), "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"),
        (HttpError(400, "InvalidSignatureException", "m"), "com.amazon.coral.service#InvalidSignatureException"),
    ],
)
def test_errors_bear_the_namespace_of_whoever_raises_them(error: errors.DynamoDBError | HttpError, kind: str) -> None:
    assert json.loads(protocol.error_json(error)) == {"__type": kind, "message": "m"}


# AWS spells the member with a capital letter for some; SDKs take either.
def test_messages_with_a_capital() -> None:
    error = json.loads(protocol.error_json(errors.SerializationException("m")))
    assert error == {"__type": "com.amazon.coral.service#SerializationException", "Message": "m"}


def test_an_error_without_message_has_none() -> None:
    assert protocol.error_json(errors.SerializationException("")).count(b":") == 1


def test_what_an_error_holds_comes_along() -> None:
    error = errors.ConditionalCheckFailedException(Item=Json(b'{"pk":{"S":"a"}}', False))
    assert json.loads(protocol.error_json(error))["Item"] == {"pk": {"S": "a"}}


@pytest.mark.parametrize("coding", [None, b"identity", b"amz-1.0"])
def test_plain_bodies(coding: bytes | None) -> None:
    assert protocol.content(request(b"{}", coding)) == b"{}"


def test_packed_bodies() -> None:
    assert protocol.content(request(gzip.compress(b"{}", mtime=0), b"GZIP")) == b"{}"


@pytest.mark.parametrize(
    ("body", "coding", "status"),
    [
        (b"{}", b"br", 415),
        (b"{}", b"gzip", 400),
        (gzip.compress(b"{}", mtime=0)[:-1], b"gzip", 400),
        (gzip.compress(b"{}", mtime=0) + b"more", b"gzip", 400),
        (b"", b"gzip", 400),
        # A small request that would fill the memory.
        (gzip.compress(bytes(BODY_BYTES + 1), mtime=0), b"gzip", 413),
    ],
    ids=["other coding", "not packed", "cut off", "more behind it", "empty", "too large"],
)
def test_bodies_that_cannot_be_unpacked(body: bytes, coding: bytes, status: int) -> None:
    with pytest.raises(HttpError) as caught:
        protocol.content(request(body, coding))
    assert caught.value.status == status
