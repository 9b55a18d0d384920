"""Contributor insights: a setting of tables and indexes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import attributes, index, table

ALL_KEYS = "ACCESSED_AND_THROTTLED_KEYS"


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call(
        "CreateTable",
        **table(AttributeDefinitions=attributes(p="S", s="N", g="S"), GlobalSecondaryIndexes=[index()]),
    )


def switch(call: Call, action: str, **members: Any) -> dict[str, Any]:
    return call("UpdateContributorInsights", TableName="orders", ContributorInsightsAction=action, **members)


def describe(call: Call, **members: Any) -> dict[str, Any]:
    described = call("DescribeContributorInsights", TableName="orders", **members)
    described.pop("LastUpdateDateTime", None)
    return described


def test_off_until_switched(call: Call) -> None:
    off = {"TableName": "orders", "ContributorInsightsStatus": "DISABLED"}
    assert describe(call) == off
    assert describe(call, IndexName="by_g") == off | {"IndexName": "by_g"}
    assert call("ListContributorInsights") == {"ContributorInsightsSummaries": []}


def test_switching(call: Call) -> None:
    on = {"TableName": "orders", "ContributorInsightsStatus": "ENABLED", "ContributorInsightsMode": ALL_KEYS}
    assert switch(call, "ENABLE") == on | {"ContributorInsightsStatus": "ENABLING"}
    assert describe(call) == on
    assert "LastUpdateDateTime" in call("DescribeContributorInsights", TableName="orders")
    assert describe(call, IndexName="by_g")["ContributorInsightsStatus"] == "DISABLED"
    assert switch(call, "DISABLE") == on | {"ContributorInsightsStatus": "DISABLING"}
    assert describe(call) == on | {"ContributorInsightsStatus": "DISABLED"}


# The mode stays when the next request has none.
def test_modes(call: Call) -> None:
    switch(call, "ENABLE", IndexName="by_g", ContributorInsightsMode="THROTTLED_KEYS")
    assert switch(call, "ENABLE", IndexName="by_g")["ContributorInsightsMode"] == "THROTTLED_KEYS"
    assert switch(call, "ENABLE")["ContributorInsightsMode"] == ALL_KEYS


def test_lists_page_by_page(call: Call, expect_error: ExpectError) -> None:
    switch(call, "ENABLE")
    switch(call, "ENABLE", IndexName="by_g")
    call("CreateTable", **table("others"))
    call("UpdateContributorInsights", TableName="others", ContributorInsightsAction="ENABLE")
    first = call("ListContributorInsights", MaxResults=2)
    rest = call("ListContributorInsights", MaxResults=2, NextToken=first["NextToken"])
    found = first["ContributorInsightsSummaries"] + rest["ContributorInsightsSummaries"]
    places = [(each["TableName"], each.get("IndexName")) for each in found]
    assert places == [("orders", None), ("orders", "by_g"), ("others", None)]
    assert "NextToken" not in rest
    assert len(call("ListContributorInsights", TableName="orders")["ContributorInsightsSummaries"]) == 2
    for token in ("!", "YQ=="):
        with expect_error("ValidationException", "Invalid NextToken"):
            call("ListContributorInsights", NextToken=token)


def test_they_go_with_the_index(call: Call) -> None:
    switch(call, "ENABLE")
    switch(call, "ENABLE", IndexName="by_g")
    call("UpdateTable", TableName="orders", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": "by_g"}}])
    assert [each.get("IndexName") for each in call("ListContributorInsights")["ContributorInsightsSummaries"]] == [None]


def test_what_must_exist(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ResourceNotFoundException", "Requested resource not found: Table: missing not found"):
        call("UpdateContributorInsights", TableName="missing", ContributorInsightsAction="ENABLE")
    with expect_error("ResourceNotFoundException", "Requested resource not found: Index: none not found"):
        switch(call, "ENABLE", IndexName="none")
    with expect_error("ResourceNotFoundException"):
        call("ListContributorInsights", TableName="missing")
