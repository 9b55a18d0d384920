"""DescribeTimeToLive."""

from __future__ import annotations

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import table


def test_is_off_until_it_is_switched_on(call: Call) -> None:
    call("CreateTable", **table())
    assert call("DescribeTimeToLive", TableName="orders") == {
        "TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"},
    }


def test_a_missing_table_is_named(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: orders not found"):
        call("DescribeTimeToLive", TableName="orders")
