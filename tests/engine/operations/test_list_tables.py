"""ListTables: names in order, page by page."""

from __future__ import annotations

import pytest

from tests.engine.conftest import Call, ExpectError
from tests.engine.operations.table_shapes import table


def test_there_may_be_none(call: Call) -> None:
    assert call("ListTables") == {"TableNames": []}


# The last page has no LastEvaluatedTableName even when it is full, or every walk would end in an empty page.
@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_add_up(call: Call, limit: int) -> None:
    for name in ("bbb", "aaa", "ddd", "ccc"):
        call("CreateTable", **table(name))
    names: list[str] = []
    page = call("ListTables", Limit=limit)
    while "LastEvaluatedTableName" in page:
        assert len(page["TableNames"]) == limit
        names += page["TableNames"]
        page = call("ListTables", Limit=limit, ExclusiveStartTableName=page["LastEvaluatedTableName"])
    assert names + page["TableNames"] == ["aaa", "bbb", "ccc", "ddd"]


def test_the_start_need_not_be_a_table(call: Call) -> None:
    call("CreateTable", **table("bbb"))
    assert call("ListTables", ExclusiveStartTableName="aaa")["TableNames"] == ["bbb"]


@pytest.mark.parametrize("limit", [0, 101])
def test_the_limit_has_bounds(call: Call, expect_error: ExpectError, limit: int) -> None:
    with expect_error("ValidationException"):
        call("ListTables", Limit=limit)
