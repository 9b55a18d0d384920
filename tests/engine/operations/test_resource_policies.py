"""PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy, and the policy of CreateTable."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import table

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"


def policy(resource: str = ARN, action: str = "dynamodb:*") -> str:
    statement = {"Effect": "Allow", "Principal": "*", "Action": action, "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, indent=1)


def not_found(arn: str = ARN) -> str:
    return f"Resource-based policy not found for the provided ResourceArn: {arn}"


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call("CreateTable", **table(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}))


def test_the_policy_is_returned_as_it_was_put(call: Call) -> None:
    put = call("PutResourcePolicy", ResourceArn=ARN, Policy=policy())
    assert call("GetResourcePolicy", ResourceArn=ARN) == {"Policy": policy(), **put}


def test_revisions_grow_within_one_moment_and_when_the_clock_goes_back(call: Call, clock: ManualClock) -> None:
    revisions = [int(call("PutResourcePolicy", ResourceArn=ARN, Policy=policy())["RevisionId"]) for _ in range(2)]
    clock.advance(-3600)
    revisions.append(int(call("PutResourcePolicy", ResourceArn=ARN, Policy=policy())["RevisionId"]))
    assert revisions == sorted(set(revisions))


def test_a_table_without_a_policy(call: Call, expect_error: ExpectError) -> None:
    with expect_error("PolicyNotFoundException", not_found()):
        call("GetResourcePolicy", ResourceArn=ARN)
    assert call("DeleteResourcePolicy", ResourceArn=ARN) == {}


def test_a_deleted_policy_is_gone(call: Call, expect_error: ExpectError) -> None:
    put = call("PutResourcePolicy", ResourceArn=ARN, Policy=policy())
    assert call("DeleteResourcePolicy", ResourceArn=ARN) == put
    with expect_error("PolicyNotFoundException"):
        call("GetResourcePolicy", ResourceArn=ARN)


@pytest.mark.parametrize("operation", ["PutResourcePolicy", "DeleteResourcePolicy"])
def test_an_expected_revision_must_be_the_present_one(call: Call, expect_error: ExpectError, operation: str) -> None:
    members: dict[str, Any] = {"ResourceArn": ARN} | ({"Policy": policy()} if operation[0] == "P" else {})
    with expect_error("PolicyNotFoundException"):
        call(operation, **members, ExpectedRevisionId="1")
    put = call("PutResourcePolicy", ResourceArn=ARN, Policy=policy(), ExpectedRevisionId="NO_POLICY")
    for expected in ("1", "NO_POLICY"):
        with expect_error("PolicyNotFoundException"):
            call(operation, **members, ExpectedRevisionId=expected)
    call(operation, **members, ExpectedRevisionId=put["RevisionId"])


def test_a_stream_has_a_policy_of_its_own(call: Call, expect_error: ExpectError) -> None:
    stream = call("DescribeTable", TableName="orders")["Table"]["LatestStreamArn"]
    call("PutResourcePolicy", ResourceArn=stream, Policy=policy(stream, "dynamodb:GetRecords"))
    assert json.loads(call("GetResourcePolicy", ResourceArn=stream)["Policy"])["Statement"][0]["Resource"] == stream
    with expect_error("PolicyNotFoundException"):
        call("GetResourcePolicy", ResourceArn=ARN)
    with expect_error("ResourceNotFoundException"):
        call("GetResourcePolicy", ResourceArn=f"{ARN}/stream/2000-01-01T00:00:00.000")


@pytest.mark.parametrize(
    ("arn", "code"),
    [
        (f"{ARN}2", "ResourceNotFoundException"),
        (f"{ARN}/index/by_g", "ValidationException"),
        ("orders", "ValidationException"),
        (ARN.replace("dynamodb", "s3"), "AccessDeniedException"),
        (ARN.replace("dynamodb", "s3") + "/stream/x", "AccessDeniedException"),
    ],
)
def test_the_resource_must_exist(call: Call, expect_error: ExpectError, arn: str, code: str) -> None:
    with expect_error(code):
        call("GetResourcePolicy", ResourceArn=arn)
    with expect_error(code):
        call("PutResourcePolicy", ResourceArn=arn, Policy=policy(arn))


def test_a_table_is_created_with_a_policy(call: Call, expect_error: ExpectError) -> None:
    arn = f"{ARN}-2"
    with expect_error("ValidationException"):
        call("CreateTable", **table("orders-2", ResourcePolicy=policy(ARN)))
    call("CreateTable", **table("orders-2", ResourcePolicy=policy(arn)))
    assert call("GetResourcePolicy", ResourceArn=arn)["Policy"] == policy(arn)


# A new table of the same name is another resource.
def test_a_policy_goes_with_its_table(call: Call, expect_error: ExpectError) -> None:
    call("PutResourcePolicy", ResourceArn=ARN, Policy=policy())
    call("DeleteTable", TableName="orders")
    call("CreateTable", **table())
    with expect_error("PolicyNotFoundException"):
        call("GetResourcePolicy", ResourceArn=ARN)


def test_a_policy_outlives_the_process(tmp_path: Path) -> None:
    for _ in range(2):
        database = Database(tmp_path)
        if not database.call("ListTables", {})["TableNames"]:
            database.call("CreateTable", table(ResourcePolicy=policy()))
        assert database.call("GetResourcePolicy", {"ResourceArn": ARN})["Policy"] == policy()
        database.close()
