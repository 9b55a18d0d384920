"""The handler of docs/guides/lambda.md, with events in the form that Lambda delivers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from tests.docs.files import imported, write_files

EVENT = json.loads("""
{
  "Records": [
    {
      "eventID": "c4ca4238a0b923820dcc509a6f75849b",
      "eventName": "MODIFY",
      "eventVersion": "1.1",
      "eventSource": "aws:dynamodb",
      "awsRegion": "eu-west-1",
      "dynamodb": {
        "ApproximateCreationDateTime": 1787572800,
        "Keys": {"pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#000007"}},
        "OldImage": {
          "pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#000007"},
          "customer": {"S": "ada"}, "number": {"N": "7"}, "status": {"S": "OPEN"}, "photo": {"B": "iVBORw=="}
        },
        "NewImage": {
          "pk": {"S": "CUSTOMER#ada"}, "sk": {"S": "ORDER#000007"},
          "customer": {"S": "ada"}, "number": {"N": "7"}, "status": {"S": "PAID"}, "photo": {"B": "iVBORw=="}
        },
        "SequenceNumber": "4421584500000000017450439091",
        "SizeBytes": 160,
        "StreamViewType": "NEW_AND_OLD_IMAGES"
      },
      "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/shop/stream/2026-08-24T00:00:00.000"
    },
    {
      "eventID": "c81e728d9d4c2f636f067f89cc14862c",
      "eventName": "REMOVE",
      "dynamodb": {
        "ApproximateCreationDateTime": 1787572801,
        "Keys": {"pk": {"S": "CUSTOMER#bob"}, "sk": {"S": "ORDER#000001"}},
        "OldImage": {"pk": {"S": "CUSTOMER#bob"}, "sk": {"S": "ORDER#000001"}},
        "SequenceNumber": "4421584500000000017450439092"
      }
    }
  ]
}
""")


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    write_files("guides/lambda.md", tmp_path)
    monkeypatch.setenv("STORE", "memory:")
    with imported(tmp_path, "handler") as (module,):
        module.db.create_tables()
        yield module
        module.db.close()


def shipments(function: Any) -> list[Any]:
    return list(function.db.iterate(function.Shipment.key(customer="ada")))


def test_a_paid_order_is_shipped_once(function: Any) -> None:
    for _ in range(2):
        assert function.handler(EVENT, Context()) == {"batchItemFailures": []}
        assert shipments(function) == [function.Shipment(customer="ada", number=7)]


@pytest.mark.parametrize("late", [True, False], ids=["late", "throttled"])
def test_the_first_failed_record_is_reported(function: Any, late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = ClientError({"Error": {"Code": "ThrottlingException", "Message": "on purpose"}}, "PutItem")

    def fail(*_: object, **__: object) -> None:
        raise function.sk.DeadlineExceeded("late") if late else throttled

    monkeypatch.setattr(function.sk.Session, "put", fail)
    failures = [{"itemIdentifier": "4421584500000000017450439091"}]
    assert function.handler(EVENT, Context()) == {"batchItemFailures": failures}


def test_a_change_feed_is_a_handler(function: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE", str(tmp_path / "data"))
    with function.sk.connect(tmp_path / "data", tables=[function.SHOP]) as db:
        db.create_tables()
        with imported(tmp_path, "feed_handler") as (module,), closing(module.handler) as handler:
            for _ in range(2):
                assert handler(EVENT, Context()) == {"batchItemFailures": []}
        shipped = list(db.iterate(function.Shipment.key(customer="ada")))
    assert shipped == [function.Shipment(customer="ada", number=7)]


@pytest.mark.slow
def test_schedules_are_made_and_handled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files("guides/lambda.md", tmp_path)
    environment = {
        "STORE": str(tmp_path / "data"),
        "DUE_ARN": "arn:aws:lambda:eu-west-1:123456789012:function:reminders-due",
        "ROLE_ARN": "arn:aws:iam::123456789012:role/call-reminders-due",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with mock_aws(), imported(tmp_path, "reminders") as (module,), module.sk.connect(tmp_path / "data") as db:
        db.create_tables(module.REMINDERS)
        reminder = module.Reminder(user="ana", number=1, remind_at=datetime(2026, 8, 24, 12, tzinfo=UTC))
        db.put(reminder)
        image = {"user": {"S": "ana"}, "number": {"N": "1"}, "remind_at": {"S": "2026-08-24T12:00:00.000000Z"}}
        content = EVENT["Records"][0]["dynamodb"] | {"Keys": reminder.key.key(), "NewImage": reminder.key.key() | image}
        record = EVENT["Records"][0] | {"dynamodb": {key: content[key] for key in content if key != "OldImage"}}
        with closing(module.on_change) as on_change, closing(module.on_due) as on_due:
            assert on_change({"Records": [record]}, Context()) == {"batchItemFailures": []}
            scheduler = boto3.client("scheduler", "eu-west-1")
            (made,) = scheduler.list_schedules()["Schedules"]
            sent = json.loads(scheduler.get_schedule(Name=made["Name"])["Target"]["Input"])
            assert on_due(sent, Context()) == {"handled": True}
            assert on_due(sent, Context()) == {"handled": False}
        assert db.get(reminder.key).sent


# Opening a session on AWS sends nothing, so it works without AWS.
def test_a_session_with_another_role_is_opened(tmp_path: Path) -> None:
    write_files("guides/lambda.md", tmp_path)
    with imported(tmp_path, "other_account") as (module,):
        assert module.db.capabilities.store == "DynamoDB"
        module.db.close()
