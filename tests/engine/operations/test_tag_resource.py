"""TagResource, UntagResource and ListTagsOfResource, which make sense only together."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import INVALID, table

ARN = "arn:aws:dynamodb:local:000000000000:table/orders"


def tags(**values: str) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in values.items()]


def numbered(count: int, first: int = 0) -> list[dict[str, str]]:
    return tags(**{f"k{number:02}": "v" for number in range(first, first + count)})


@pytest.fixture(autouse=True)
def orders(call: Call) -> None:
    call("CreateTable", **table())


def test_adds_and_replaces(call: Call) -> None:
    assert call("TagResource", ResourceArn=ARN, Tags=tags(a="1", b="2")) == {}
    call("TagResource", ResourceArn=ARN, Tags=tags(b="3", c=""))
    assert call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": tags(a="1", b="3", c="")}


def test_untagging_forgives_unknown_keys(call: Call) -> None:
    call("TagResource", ResourceArn=ARN, Tags=tags(a="1", b="2"))
    assert call("UntagResource", ResourceArn=ARN, TagKeys=["a", "z"]) == {}
    assert call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": tags(b="2")}


def test_lists_page_by_page(call: Call) -> None:
    call("TagResource", ResourceArn=ARN, Tags=numbered(25))
    page = call("ListTagsOfResource", ResourceArn=ARN)
    listed = page["Tags"]
    # A token still holds when the tag that it was made from is gone.
    call("UntagResource", ResourceArn=ARN, TagKeys=["k09"])
    while "NextToken" in page:
        page = call("ListTagsOfResource", ResourceArn=ARN, NextToken=page["NextToken"])
        listed += page["Tags"]
    assert listed == numbered(25)


@pytest.mark.parametrize("token", ["!", "ä", "////"])
def test_a_token_must_be_one_of_ours(call: Call, expect_error: ExpectError, token: str) -> None:
    with expect_error("ValidationException", "Invalid NextToken"):
        call("ListTagsOfResource", ResourceArn=ARN, NextToken=token)


def test_fifty_in_all(call: Call, expect_error: ExpectError) -> None:
    call("TagResource", ResourceArn=ARN, Tags=numbered(50))
    call("TagResource", ResourceArn=ARN, Tags=tags(k00="other"))
    with expect_error("ValidationException", INVALID + "Number of tags exceeds the limit of 50 for a resource"):
        call("TagResource", ResourceArn=ARN, Tags=numbered(1, first=50))


@pytest.mark.parametrize(
    "rejected",
    [[], [{"Key": "aws:x", "Value": "1"}], tags(a="1") * 2, [{"Key": "a*", "Value": "1"}]],
)
def test_rejects(call: Call, expect_error: ExpectError, rejected: list[dict[str, str]]) -> None:
    with expect_error("ValidationException"):
        call("TagResource", ResourceArn=ARN, Tags=rejected)
    assert call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": []}


def test_untagging_nothing_is_rejected(call: Call, expect_error: ExpectError) -> None:
    with expect_error("ValidationException", INVALID + "At least one tag key is required"):
        call("UntagResource", ResourceArn=ARN, TagKeys=[])


OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    ("TagResource", {"Tags": tags(a="1")}),
    ("UntagResource", {"TagKeys": ["a"]}),
    ("ListTagsOfResource", {}),
]

# The region and the account of an ARN are ignored, as in every request. "ResourcArn" is AWS's spelling.
ARNS = [
    ("orders", "ValidationException", "Invalid TableArn: Invalid ResourceArn provided as input orders"),
    ("arn:aws:s3:local:000000000000:table/orders", "AccessDeniedException", None),
    (f"{ARN}/index/by_g", "ValidationException", None),
    (f"{ARN}2", "ResourceNotFoundException", f"Requested resource not found: ResourcArn: {ARN}2 not found"),
    ("arn:aws:dynamodb:elsewhere:111111111111:table/none", "ResourceNotFoundException", None),
]


@pytest.mark.parametrize(("operation", "members"), OPERATIONS)
@pytest.mark.parametrize(("arn", "code", "message"), ARNS)
def test_the_arn_must_be_of_a_table_here(
    call: Call,
    expect_error: ExpectError,
    operation: str,
    members: dict[str, Any],
    arn: str,
    code: str,
    message: str | None,
) -> None:
    with expect_error(code, message):
        call(operation, ResourceArn=arn, **members)
