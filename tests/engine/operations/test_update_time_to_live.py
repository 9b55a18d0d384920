"""UpdateTimeToLive. (test_expiry_index.py covers what happens to expired items.)"""

from __future__ import annotations

from typing import Any

import pytest

from sortkey.engine.database import Database
from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import table


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call("CreateTable", **table())


def switch(call: Call, attribute: str, enabled: bool) -> dict[str, Any]:
    specification = {"AttributeName": attribute, "Enabled": enabled}
    return call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification=specification)


def status(call: Call) -> object:
    return call("DescribeTimeToLive", TableName="orders")["TimeToLiveDescription"]


# AWS is ENABLING for up to an hour; here TTL is enabled when the request is answered.
def test_is_enabled_at_once(call: Call) -> None:
    answer = switch(call, "ends", True)
    assert answer == {"TimeToLiveSpecification": {"AttributeName": "ends", "Enabled": True}}
    assert status(call) == {"TimeToLiveStatus": "ENABLED", "AttributeName": "ends"}


def test_is_disabled_at_once(call: Call) -> None:
    switch(call, "ends", True)
    assert switch(call, "ends", False) == {
        "TimeToLiveSpecification": {"AttributeName": "ends", "Enabled": False},
    }
    assert status(call) == {"TimeToLiveStatus": "DISABLED"}


# Items that exist already expire without being written again.
def test_items_that_were_there_before_expire_too(db: Database, call: Call) -> None:
    ended = {"N": str(int(db.clock.now()) - 60)}
    call("PutItem", TableName="orders", Item={"p": {"S": "a"}, "s": {"N": "1"}, "ends": ended})
    switch(call, "ends", True)
    db.janitor.sweep()
    db.janitor.sweep()
    assert call("Scan", TableName="orders")["Count"] == 0


@pytest.mark.parametrize(
    ("before", "attribute", "enabled", "message"),
    [
        (None, "ends", False, "TimeToLive is already disabled"),
        ("ends", "ends", True, "TimeToLive is already enabled"),
        ("ends", "other", True, "TimeToLive is active on a different AttributeName"),
        ("ends", "other", False, "TimeToLive is active on a different AttributeName"),
    ],
)
def test_rejects_what_changes_nothing(
    call: Call, expect_error: ExpectError, before: str | None, attribute: str, enabled: bool, message: str
) -> None:
    if before is not None:
        switch(call, before, True)
    with expect_error("ValidationException", message):
        switch(call, attribute, enabled)


def test_a_missing_table_is_named(call: Call, expect_error: ExpectError) -> None:
    call("DeleteTable", TableName="orders")
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: orders not found"):
        switch(call, "ends", True)
