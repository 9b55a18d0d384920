"""Tables from declarations: created, compared, and rejected if the store lacks a feature."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import sortkey as sk
from sortkey.client.stores import ALTERNATOR, AWS, EMBEDDED, Capabilities
from sortkey.model.calls.steps import Call, Deadline
from sortkey.model.tables.provision import (
    add_index_request,
    create_request,
    differences,
    require_support,
    ttl_request,
)
from tests.model.sessions.shop import SHOP, Order, Parcel


def test_the_request() -> None:
    request = create_request(SHOP)
    assert request["KeySchema"] == [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ]
    assert {each["AttributeName"]: each["AttributeType"] for each in request["AttributeDefinitions"]} == dict.fromkeys(
        ("pk", "sk", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"), "S"
    )
    assert [index["IndexName"] for index in request["GlobalSecondaryIndexes"]] == ["gsi1", "gsi2"]
    assert request["StreamSpecification"]["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert request["BillingMode"] == "PAY_PER_REQUEST"


def test_projections_local_indexes_and_throughput() -> None:
    class Score(sk.Item, table=sk.Table("scores", provisioned=(5, 6))):
        game: str
        player: str
        points: int
        note: str = ""
        key = sk.Key("{game}", "{player}")
        by_points = sk.Index("lsi", "{game}", "{points}", local=True, projection="KEYS_ONLY")
        by_player = sk.Index("gsi", "{player}", projection=["points"])

    request = create_request(Score.__table__)
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    assert request["ProvisionedThroughput"] == units
    assert request["LocalSecondaryIndexes"] == [
        {
            "IndexName": "lsi",
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "lsisk", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ]
    (index,) = request["GlobalSecondaryIndexes"]
    assert index["Projection"] == {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["points"]}
    assert index["ProvisionedThroughput"] == units
    with sk.connect("memory:", tables=[Score]) as db:
        db.create_tables()
        assert db.diff_tables() == []


def test_tables_are_made_once(store: str) -> None:
    with sk.connect(store, tables=[Order]) as db:
        assert db.diff_tables() == ["table shop does not exist"]
        assert db.create_tables() == ["shop"]
        assert db.create_tables(Parcel) == []
        assert db.diff_tables() == []
        ttl = db.client.describe_time_to_live(TableName="shop")["TimeToLiveDescription"]
        assert (ttl["TimeToLiveStatus"], ttl["AttributeName"]) == ("ENABLED", "expires")


# A program compares its tables at each start: it asks for all at once, and waits twice.
def test_tables_that_exist_are_compared_in_two_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    class Note(sk.Item, table=sk.Table("provisioned-notes")):
        number: int
        key = sk.Key("NOTE#{number:06}")

    with sk.connect("memory:", tables=[Order, Note]) as db:
        db.create_tables()
        rounds: list[list[str]] = []
        perform_all = db._runner._perform_all

        def noted(calls: Sequence[Call], deadline: Deadline) -> Any:
            rounds.append([call.operation for call in calls])
            return perform_all(calls, deadline)

        monkeypatch.setattr(db._runner, "_perform_all", noted)
        assert db.create_tables() == []
        assert rounds == [["DescribeTable"] * 2, ["DescribeTimeToLive"] * 2]


def test_several_programs_may_create_the_tables_at_the_same_time(store: str) -> None:
    with sk.connect(store, tables=[Order]) as db, ThreadPoolExecutor() as programs:
        created = [programs.submit(db.create_tables) for _ in range(4)]
        assert sorted(table for each in created for table in each.result()) == ["shop"]
        assert db.diff_tables() == []


def test_the_ttl_of_a_table_that_another_program_creates_is_waited_for(store: str) -> None:
    with sk.connect(store, tables=[Order]) as db:
        db.client.create_table(**create_request(SHOP))
        pauses: list[float] = []

        def set_meanwhile(seconds: float) -> None:
            if not pauses:
                db.client.update_time_to_live(**(ttl_request(SHOP) or {}))
            pauses.append(seconds)

        db._runner.sleep = set_meanwhile
        assert db.create_tables() == []
        assert pauses


@pytest.mark.usefixtures("brief_polls")
def test_a_table_without_its_ttl_is_told(store: str) -> None:
    with sk.connect(store, tables=[Order]) as db:
        db.client.create_table(**create_request(SHOP))
        with pytest.raises(sk.TablesDiffer, match="its TTL attribute is None, but expires is declared"):
            db.create_tables()


@pytest.mark.usefixtures("brief_polls")
def test_differences_are_told_and_not_ignored(store: str) -> None:
    class Other(sk.Item, table=sk.Table("shop")):
        name: str
        key = sk.Key("OTHER#{name}")
        by_name = sk.Index("gsi1", "{name}", "NAME")
        by_more = sk.Index("gsi3", "{name}")

    with sk.connect(store, tables=[Order]) as db:
        db.create_tables()
        differences = db.diff_tables(Other)
        assert differences == [
            "table shop: its key is pk (S), sk (S), but pk (S) is declared",
            "table shop: index gsi2 is not declared",
            "table shop: index gsi3 does not exist",
            "table shop: its stream is NEW_AND_OLD_IMAGES, but None is declared",
            "table shop: its TTL attribute is expires, but None is declared",
        ]
        with pytest.raises(sk.TablesDiffer, match="gsi3 does not exist"):
            db.create_tables(Other)


# A program that needs more than the store has should not start, instead of failing at its first write.
@pytest.mark.parametrize(
    ("table", "store", "said"),
    [
        (
            sk.Table("thing", transactions=True),
            ALTERNATOR,
            "table thing needs transactions, which ScyllaDB Alternator does not have",
        ),
        (sk.Table("thing", ttl="expires"), Capabilities("X", ttl=False), "needs TTL by expires, which X does not have"),
        (sk.Table("thing", stream="NEW_IMAGE"), Capabilities("X", streams=False), "a stream"),
    ],
)
def test_what_a_store_lacks_is_rejected(table: sk.Table, store: Capabilities, said: str) -> None:
    with pytest.raises(sk.Unsupported, match=said):
        require_support([table], store)
    require_support([table], AWS)
    require_support([table], EMBEDDED)


# A declared projection saves units; where a store has none, a program still finds what it declared.
def test_a_store_without_projections_has_whole_indexes() -> None:
    class Thing(sk.Item, table=sk.Table("things")):
        name: str
        size: int
        key = sk.Key("{name}")
        by_name = sk.Index("gsi", "{name}", projection=("size",))

    require_support([Thing.__table__], ALTERNATOR)
    whole = create_request(Thing.__table__, projections=False)
    assert [each["Projection"] for each in whole["GlobalSecondaryIndexes"]] == [{"ProjectionType": "ALL"}]
    assert add_index_request(Thing.__table__, "gsi", projections=False)["GlobalSecondaryIndexUpdates"] == [
        {"Create": whole["GlobalSecondaryIndexes"][0]}
    ]
    assert differences(Thing.__table__, whole | {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}, None) == [
        "table things: index gsi has gsipk (S) with ALL, but gsipk (S) with INCLUDE, size is declared"
    ]
    assert not differences(
        Thing.__table__, whole | {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}, None, projections=False
    )


def test_it_is_rejected_at_open() -> None:
    with pytest.raises(sk.Unsupported, match="table t"):
        sk.connect("http://127.0.0.1:1?store=alternator", tables=[sk.Table("thing", transactions=True)])
