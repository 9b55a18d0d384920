"""A database in memory with a manual clock, and functions that call it with DynamoDB JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from sortkey.clock import ManualClock
from sortkey.engine.check.database_check import check_database
from sortkey.engine.database import Database
from sortkey.errors import DynamoDBError

Call = Callable[..., dict[str, Any]]
ExpectError = Callable[..., AbstractContextManager[pytest.ExceptionInfo[DynamoDBError]]]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def db(clock: ManualClock) -> Iterator[Database]:
    """A database without a running janitor: tests sweep explicitly. After each test, the store must be consistent."""
    database = Database(None, clock)
    yield database
    assert check_database(database).problems == []
    database.close()


@pytest.fixture
def call(db: Database) -> Call:
    """`call("PutItem", TableName="t", …)`, in DynamoDB JSON."""

    def call(operation: str, **members: Any) -> dict[str, Any]:
        return db.call(operation, members)

    return call


@pytest.fixture
def expect_error() -> ExpectError:
    """The block must raise this error; with a message, exactly this one."""

    @contextmanager
    def expect(code: str, message: str | None = None) -> Iterator[pytest.ExceptionInfo[DynamoDBError]]:
        with pytest.raises(DynamoDBError) as caught:
            yield caught
        assert caught.value.code == code
        if message is not None:
            assert caught.value.message == message

    return expect
