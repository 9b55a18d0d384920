"""Kinesis streaming destinations: their states, and the records that AWS would send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.engine.streams import kinesis_records
from sortkey.engine.tables.core import Settings
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import INVALID, table
from tests.engine.samples import n, s

ARN = "arn:aws:kinesis:eu-west-1:000000000000:stream/changes"
AT = {"TableName": "orders", "StreamArn": ARN}
MILLISECOND = {"ApproximateCreationDateTimePrecision": "MILLISECOND"}
MICROSECOND = {"ApproximateCreationDateTimePrecision": "MICROSECOND"}
KEY = {"p": s("a"), "s": n(1)}


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    database = Database(None, clock, Settings(delivers_to_kinesis=True))
    yield database
    assert check_database(database).problems == []
    database.close()


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call("CreateTable", **table())


@pytest.fixture
def pending(db: Database) -> Callable[[], list[dict[str, Any]]]:
    """What is not delivered yet, as it would be sent."""

    def pending() -> list[dict[str, Any]]:
        return [
            json.loads(record.data)
            for destination in kinesis_records.destinations(db)
            for record in kinesis_records.pending(db, destination)
        ]

    return pending


Pending = Callable[[], list[dict[str, Any]]]


def described(call: Call) -> list[tuple[str, str]]:
    destinations = call("DescribeKinesisStreamingDestination", TableName="orders")["KinesisDataStreamDestinations"]
    return [(each["DestinationStatus"], each["ApproximateCreationDateTimePrecision"]) for each in destinations]


def test_states(call: Call) -> None:
    assert described(call) == []
    answer = call("EnableKinesisStreamingDestination", **AT)
    assert answer == AT | {"DestinationStatus": "ENABLING", "EnableKinesisStreamingConfiguration": MILLISECOND}
    assert described(call) == [("ACTIVE", "MILLISECOND")]
    answer = call("UpdateKinesisStreamingDestination", **AT, UpdateKinesisStreamingConfiguration=MICROSECOND)
    assert answer == AT | {"DestinationStatus": "UPDATING", "UpdateKinesisStreamingConfiguration": MICROSECOND}
    assert described(call) == [("ACTIVE", "MICROSECOND")]
    assert call("DisableKinesisStreamingDestination", **AT)["DestinationStatus"] == "DISABLING"
    assert described(call) == [("DISABLED", "MICROSECOND")]
    call("EnableKinesisStreamingDestination", **AT)
    assert described(call) == [("ACTIVE", "MILLISECOND")]


def test_records(call: Call, clock: ManualClock, pending: Pending) -> None:
    call("PutItem", TableName="orders", Item=KEY)
    call("EnableKinesisStreamingDestination", **AT)
    call("PutItem", TableName="orders", Item=KEY)
    call("PutItem", TableName="orders", Item=KEY | {"v": s("x")})
    call("DeleteItem", TableName="orders", Key=KEY)
    changed, deleted = pending()
    now = int(clock.now() * 1000)
    assert changed == {
        "awsRegion": "local",
        "eventID": changed["eventID"],
        "eventName": "MODIFY",
        "userIdentity": None,
        "recordFormat": "application/json",
        "tableName": "orders",
        "dynamodb": {
            "ApproximateCreationDateTime": now,
            "Keys": KEY,
            "NewImage": KEY | {"v": s("x")},
            "OldImage": KEY,
            "SizeBytes": 17,
            "ApproximateCreationDateTimePrecision": "MILLISECOND",
        },
        "eventSource": "aws:dynamodb",
    }
    assert deleted["eventName"] == "REMOVE"
    assert "NewImage" not in deleted["dynamodb"]
    call("UpdateKinesisStreamingDestination", **AT, UpdateKinesisStreamingConfiguration=MICROSECOND)
    assert pending()[0]["dynamodb"]["ApproximateCreationDateTime"] == now * 1000


def test_what_expires_is_deleted_by_the_service(call: Call, db: Database, clock: ManualClock, pending: Pending) -> None:
    ttl = {"Enabled": True, "AttributeName": "end"}
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=ttl)
    call("PutItem", TableName="orders", Item=KEY | {"end": n(int(clock.now()) + 1)})
    call("EnableKinesisStreamingDestination", **AT)
    clock.advance(10)
    db.janitor.sweep()
    (expired,) = pending()
    assert expired["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


# As on AWS: what cannot be delivered for a day is lost.
def test_a_day_of_records_is_kept(call: Call, db: Database, clock: ManualClock, pending: Pending) -> None:
    call("EnableKinesisStreamingDestination", **AT)
    call("PutItem", TableName="orders", Item=KEY)
    clock.advance(86_401)
    assert pending() == []
    db.janitor.sweep()
    call("DeleteItem", TableName="orders", Key=KEY)
    assert [record["eventName"] for record in pending()] == ["REMOVE"]


# A stream of the table and two destinations do not know of each other.
def test_each_destination_has_its_own_records(call: Call, pending: Pending) -> None:
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    call("UpdateTable", TableName="orders", StreamSpecification=stream)
    call("EnableKinesisStreamingDestination", **AT)
    call("EnableKinesisStreamingDestination", TableName="orders", StreamArn=f"{ARN}-2")
    call("PutItem", TableName="orders", Item=KEY)
    assert len(pending()) == 2
    call("DisableKinesisStreamingDestination", **AT)
    assert len(pending()) == 1
    assert len(call("ListStreams", TableName="orders")["Streams"]) == 1
    call("DeleteTable", TableName="orders")
    assert pending() == []


@pytest.mark.parametrize(
    ("operation", "members", "code", "message"),
    [
        (
            "EnableKinesisStreamingDestination",
            {"StreamArn": "arn:aws:dynamodb:local:000000000000:table/orders"},
            "ValidationException",
            INVALID + "Invalid StreamArn: arn:aws:dynamodb:local:000000000000:table/orders is not the ARN of a Kinesis "
            "data stream",
        ),
        ("EnableKinesisStreamingDestination", {"TableName": "missing"}, "ResourceNotFoundException", None),
        ("DisableKinesisStreamingDestination", {}, "ResourceNotFoundException", None),
        (
            "UpdateKinesisStreamingDestination",
            {},
            "ValidationException",
            "Streaming destination cannot be updated with given parameters: "
            "UpdateKinesisStreamingConfiguration cannot be null or contain only null values",
        ),
        (
            "UpdateKinesisStreamingDestination",
            {"UpdateKinesisStreamingConfiguration": MICROSECOND},
            "ResourceNotFoundException",
            None,
        ),
    ],
)
def test_rejects(
    call: Call, expect_error: ExpectError, operation: str, members: dict[str, Any], code: str, message: str | None
) -> None:
    with expect_error(code, message):
        call(operation, **AT | members)


def test_states_that_do_not_allow_it(call: Call, expect_error: ExpectError) -> None:
    call("EnableKinesisStreamingDestination", **AT)
    with expect_error(
        "ValidationException",
        "Table is not in a valid state to enable Kinesis Streaming Destination: KinesisStreamingDestination must be "
        "DISABLED or ENABLE_FAILED to perform ENABLE operation.",
    ):
        call("EnableKinesisStreamingDestination", **AT)
    with expect_error("ValidationException"):
        call("UpdateKinesisStreamingDestination", **AT, UpdateKinesisStreamingConfiguration=MILLISECOND)
    call("DisableKinesisStreamingDestination", **AT)
    with expect_error("ValidationException"):
        call("DisableKinesisStreamingDestination", **AT)
    with expect_error("ValidationException"):
        call("UpdateKinesisStreamingDestination", **AT, UpdateKinesisStreamingConfiguration=MICROSECOND)


def test_without_the_option(expect_error: ExpectError) -> None:
    database = Database(None)
    database.call("CreateTable", table())
    with expect_error("ValidationException") as rejected:
        database.call("EnableKinesisStreamingDestination", AT)
    assert "sortkey db --kinesis TARGET" in rejected.value.message
    database.close()
