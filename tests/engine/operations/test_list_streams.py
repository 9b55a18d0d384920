"""ListStreams."""

from __future__ import annotations

from sortkey.clock import ManualClock
from sortkey.engine.database import Database
from tests.engine.orders import DAY, Orders


def listed(db: Database, **members: object) -> list[str]:
    return [stream["StreamArn"] for stream in db.call("ListStreams", members)["Streams"]]


def test_stream_is_shown_with_its_table_and_label(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    assert db.call("ListStreams", {}) == {
        "Streams": [{"StreamArn": orders.arn, "TableName": "orders", "StreamLabel": "2025-06-15T15:06:40.000"}]
    }


def test_tables_without_stream_are_left_out(db: Database) -> None:
    Orders(db)
    assert db.call("ListStreams", {}) == {"Streams": []}


def test_only_streams_of_the_table_asked_for(db: Database) -> None:
    orders = Orders(db, "KEYS_ONLY")
    Orders(db, "KEYS_ONLY", name="others")
    assert listed(db, TableName="orders") == [orders.arn]
    # As DynamoDB does, a table that is not there is not an error.
    assert listed(db, TableName="nowhere") == []


def test_pages_go_on_behind_the_last_arn(db: Database) -> None:
    arns = sorted(Orders(db, "KEYS_ONLY", name=name).arn for name in ("one", "two", "three"))
    page = db.call("ListStreams", {"Limit": 2})
    assert page["LastEvaluatedStreamArn"] == arns[1]
    rest = db.call("ListStreams", {"Limit": 2, "ExclusiveStartStreamArn": arns[1]})
    assert [stream["StreamArn"] for stream in rest["Streams"]] == arns[2:]
    assert "LastEvaluatedStreamArn" not in rest


def test_page_that_holds_the_last_stream_has_no_more(db: Database) -> None:
    Orders(db, "KEYS_ONLY")
    assert "LastEvaluatedStreamArn" not in db.call("ListStreams", {"Limit": 1})


# A consumer may still have to finish it.
def test_disabled_stream_stays_listed_for_a_day(db: Database, clock: ManualClock) -> None:
    orders = Orders(db, "KEYS_ONLY")
    arn = orders.arn
    orders.disable_stream()
    clock.advance(DAY)
    assert listed(db) == [arn]
    clock.advance(1)
    assert listed(db) == []
