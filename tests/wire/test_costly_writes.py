"""Costly conditions on the endpoint: they are evaluated in slices, before the writer's turn."""

from __future__ import annotations

import pytest

from sortkey.engine.database import Database
from sortkey.wire.costly_requests import REHEARSALS
from tests.wire.serving import item, request
from tests.wire.stepped_endpoint import Clients

GET = request("GetItem", {"TableName": "orders", "Key": item(1)})
CONDITION = {
    "ConditionExpression": " OR ".join(["contains(#t, :v)"] * 100),
    "ExpressionAttributeNames": {"#t": "text"},
    "ExpressionAttributeValues": {":v": {"S": "z"}},
}
COSTLY = request("PutItem", {"TableName": "orders", "Item": item(1), **CONDITION})
DELETE = request("DeleteItem", {"TableName": "orders", "Key": item(1)})


@pytest.fixture
def clients(database: Database) -> Clients:
    change(database, "y")
    return Clients(database)


def change(database: Database, text: str) -> None:
    """Replace the item that the condition looks at."""
    database.call("PutItem", {"TableName": "orders", "Item": item(1) | {"text": {"S": text + "y" * 300_000}}})


# 30 conditions over 400 KB held the writer, and the loop, for ten seconds.
def test_others_are_answered_before_a_costly_condition_is_evaluated(clients: Clients) -> None:
    (writing, written), (getting, got) = clients.connect(), clients.connect()
    writing.data_received(COSTLY)
    getting.data_received(GET)
    assert got.statuses() == [200]
    assert clients.turn_until_done() > 5
    assert written.statuses() == []
    clients.commits.commit_one()
    assert written.statuses() == [400]
    assert b"ConditionalCheckFailedException" in written.written


# The condition became true after it was rehearsed.
def test_an_item_that_has_changed_is_evaluated_again_in_slices(clients: Clients, database: Database) -> None:
    writing, written = clients.connect()
    writing.data_received(COSTLY)
    clients.turn_until_done()
    change(database, "z")
    clients.commits.commit_one()
    assert written.statuses() == []
    assert clients.turn_until_done() > 0
    clients.commits.commit_one()
    assert written.statuses() == [200]
    assert clients.scheduler.bytes == 0


@pytest.mark.slow
def test_an_item_that_never_stays_the_same_throttles_the_write(clients: Clients, database: Database) -> None:
    writing, written = clients.connect()
    writing.data_received(COSTLY)
    for number in range(REHEARSALS):
        assert written.statuses() == []
        clients.turn_until_done()
        change(database, str(number))
        clients.commits.commit_one()
    assert written.statuses() == [400]
    assert b"ThrottlingException" in written.written


# A put that is queued, and not on the snapshot of the rehearsal, was evaluated by the writer.
def test_what_follows_does_not_overtake_a_write_that_is_rehearsed_again(clients: Clients, database: Database) -> None:
    database.call("DeleteItem", {"TableName": "orders", "Key": item(1)})
    large = item(1) | {"text": {"S": "z" * 60_000}}
    writing, written = clients.connect()
    writing.data_received(request("PutItem", {"TableName": "orders", "Item": large}) + COSTLY + DELETE + GET)
    for _ in range(2):
        clients.commits.commit_one()
    assert written.statuses() == [200]
    clients.turn_until_done()
    assert len(clients.commits.submitted) == 1
    clients.commits.commit_one()
    assert written.statuses() == [200, 200]
    clients.commits.commit_one()
    assert written.statuses() == [200] * 4
    assert b'"Item"' not in written.written


def test_the_write_of_a_client_that_has_gone_is_not_rehearsed_on(clients: Clients) -> None:
    writing, _ = clients.connect()
    writing.data_received(COSTLY)
    writing.connection_lost(None)
    assert clients.turn_until_done() == 1
    assert not clients.commits.submitted
