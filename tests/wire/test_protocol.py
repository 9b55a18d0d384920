from __future__ import annotations

import gzip
import json

import pytest
from botocore.session import Session

from sortkey import errors
from sortkey.engine.rows.stored_item import Json
from sortkey.http.request_parser import BODY_BYTES, Request, RequestError
from sortkey.wire import protocol
from sortkey.wire.protocol import CoralError


def request(body: bytes, coding: bytes | None = None) -> Request:
    return Request(b"POST", b"/", {} if coding is None else {b"content-encoding": coding}, body, True)


# Each service has its own prefix, and only its own operations.
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
        (CoralError(400, "InvalidSignatureException", "m"), "com.amazon.coral.service#InvalidSignatureException"),
    ],
)
def test_errors_have_the_namespace_of_the_layer_that_raises_them(
    error: errors.DynamoDBError | CoralError, kind: str
) -> None:
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
def test_uncompressed_bodies(coding: bytes | None) -> None:
    assert protocol.content(request(b"{}", coding)) == b"{}"


def test_compressed_bodies() -> None:
    assert protocol.content(request(gzip.compress(b"{}", mtime=0), b"GZIP")) == b"{}"


@pytest.mark.parametrize(
    ("body", "coding", "status", "code"),
    [
        (b"{}", b"br", 415, "UnsupportedMediaTypeException"),
        (b"{}", b"gzip", 400, "SerializationException"),
        (gzip.compress(bytes(BODY_BYTES + 1), mtime=0), b"gzip", 413, "RequestEntityTooLargeException"),
    ],
    ids=["other encoding", "not compressed", "too large"],
)
def test_bodies_that_cannot_be_decompressed(body: bytes, coding: bytes, status: int, code: str) -> None:
    with pytest.raises(CoralError) as caught:
        protocol.content(request(body, coding))
    assert (caught.value.status, caught.value.code) == (status, code)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "MalformedHttpRequestException"),
        (413, "RequestEntityTooLargeException"),
        (503, "ServiceUnavailableException"),
    ],
)
def test_unacceptable_http_has_a_code(status: int, code: str) -> None:
    assert protocol.http_error(RequestError(status, "m")).code == code
