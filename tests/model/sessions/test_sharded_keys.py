"""Sharded primary keys: exact keys take one request, paths of a partition are merged."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import sortkey as sk

LOG = sk.Table("sharded-log")


class Event(sk.Item, table=LOG):
    day: Annotated[str, sk.in_key]
    id: str
    size: int = 0
    kind: str = "click"
    key = sk.Key("DAY#{day}", "EVENT#{id}", shards=sk.Shards(8, by="id"))
    by_size = sk.Index("by_size", "DAY#{day}", "{size:06}", local=True)
    by_kind = sk.Index("by_kind", "KIND#{kind}", "{day}#{id}", shards=sk.Shards(4))


class Note(sk.Item, table=LOG):
    day: str
    text: str
    key = sk.Key("DAY#{day}", "NOTE#{text}", shards=sk.Shards(8))


IDS = [f"e{number:02}" for number in range(40)]


@pytest.fixture
def log(db: sk.Session) -> sk.Session:
    db.create_tables(LOG)
    db.batch(put=[Event(day="mon", id=each, size=number // 4) for number, each in enumerate(IDS)])
    db.batch(put=[Note(day="mon", text=f"n{number}") for number in range(5)])
    return db


def ids(items: Any) -> list[str]:
    return [each.id for each in items]


def test_an_exact_key_takes_one_request(log: sk.Session) -> None:
    before = log.meter.reading(Event.key).calls
    found = log.get(Event.key(day="mon", id="e07"))
    assert found == Event(day="mon", id="e07", size=1)
    assert log.meter.reading(Event.key).calls == before + 1
    assert log.get(Event.key(day="mon", id="none")) is None
    assert Event.key(day="mon", id="e07").is_exact
    assert log.explain(Event.key(day="mon", id="e07")).operation == "GetItem"


def test_writes_find_the_shard(log: sk.Session) -> None:
    assert log.update(Event.key(day="mon", id="e07"), [sk.F(Event.size).add(5)]).size == 6
    assert not log.put(Event(day="mon", id="e07"), if_absent=True)
    actions = sk.Transaction()
    actions.put(Event(day="mon", id="e07", size=70))
    actions.delete(Event.key(day="mon", id="e08"))
    log.transact(actions)
    assert log.delete(Event.key(day="mon", id="e09")) is not None
    left = [each for each in IDS if each not in ("e08", "e09")]
    assert ids(log.iterate(Event.key(day="mon"))) == left
    assert log.count(Event.key(day="mon")) == 38


def test_many_keys_are_looked_up(log: sk.Session) -> None:
    wanted = [{"day": "mon", "id": "e01"}, {"day": "mon", "id": "none"}, {"day": "mon", "id": "e30"}]
    found = [each and each.id for each in log.lookup(Event.key, wanted)]
    assert found == ["e01", None, "e30"]
    assert ids(log.lookup(Event.key, sk.each(day="mon", id=IDS))) == IDS
    assert ids(log.get_many([Event.key(day="mon", id="e03"), Event.key(day="mon", id="e02")])) == ["e03", "e02"]


def test_pages_of_a_partition_are_merged(log: sk.Session) -> None:
    path = Event.key(day="mon")
    seen: list[str] = []
    cursor = None
    while True:
        page = log.page(path, first=7, after=cursor, consistent=True)
        seen += ids(page)
        cursor = page.end_cursor
        if not page.has_next:
            break
    assert seen == IDS
    assert ids(log.page(path, last=3)) == IDS[-3:]
    assert ids(log.page(path.between("e10", "e12"), descending=True)) == ["e12", "e11", "e10"]
    assert ids(log.iterate(path, limit=2)) == IDS[:2]


def test_the_items_of_several_classes_are_merged(log: sk.Session) -> None:
    everything: list[Any] = list(log.iterate(sk.collection(Event.key, day="mon")))
    assert ids(everything[:40]) == IDS
    assert [each.text for each in everything[40:]] == ["n0", "n1", "n2", "n3", "n4"]


@pytest.mark.parametrize("descending", [False, True])
def test_a_local_index_has_the_shards_of_the_table(log: sk.Session, descending: bool) -> None:
    path = Event.by_size(day="mon")
    seen: list[Any] = []
    cursor = None
    while True:
        page = log.page(path, first=6, after=cursor, descending=descending)
        seen += page.items
        cursor = page.end_cursor
        if not page.has_next:
            break
    assert [each.size for each in seen] == sorted((number // 4 for number in range(40)), reverse=descending)
    assert sorted(ids(seen)) == IDS


def test_a_global_index_has_shards_of_its_own(log: sk.Session) -> None:
    assert ids(log.iterate(Event.by_kind(kind="click"))) == IDS


def test_delete_all_of_a_sharded_partition(log: sk.Session) -> None:
    assert log.delete_all(Event.key(day="mon").starting("e1")).items == 10
    assert log.count(sk.collection(Event.key, day="mon")) == 35


def test_the_audit_rejects_a_row_in_the_wrong_shard(log: sk.Session) -> None:
    assert log.audit(LOG).is_clean
    row = log.client.get_item(TableName="sharded-log", Key=Event.key(day="mon", id="e07").key())["Item"]
    number = int(row["pk"]["S"][-2:])
    log.client.put_item(TableName="sharded-log", Item={**row, "pk": {"S": f"DAY#mon#{(number + 1) % 8:02}"}})
    (found,) = log.audit(LOG).findings
    assert (found.kind, found.subject, found.repairable) == ("key-disagrees", "pk", 0)


def misplace(db: sk.Session, key: sk.AccessPath[Any]) -> dict[str, Any]:
    """Copies a row to the next shard, as if the number of shards had been another; returns the key of the copy."""
    row = db.client.get_item(TableName="sharded-log", Key=key.key())["Item"]
    shard = (int(row["pk"]["S"][-2:]) + 1) % 8
    kind = {"kind": {"S": "misplaced"}, "by_kindpk": {"S": "KIND#misplaced#00"}} if "kind" in row else {}
    copy = {**row, **kind, "pk": {"S": f"DAY#mon#{shard:02}"}}
    db.client.put_item(TableName="sharded-log", Item=copy)
    return {"pk": copy["pk"], "sk": copy["sk"]}


# Its fields make the key of another row, which a delete or a put by `item.key` would hit.
def test_a_row_in_the_wrong_shard_is_not_recognised(log: sk.Session, caplog: pytest.LogCaptureFixture) -> None:
    copies = [misplace(log, Event.key(day="mon", id="e07")), misplace(log, Note.key(day="mon", text="n1"))]
    path = Event.key(day="mon")
    assert ids(log.iterate(path)) == IDS
    assert ids(log.page(path, first=50)) == IDS
    assert log.count(path) == 40
    assert log.count(Note.key(day="mon")) == 5
    assert [each.kind for each in log.iterate(path.between("e07", "e07"), only=["kind"])] == ["click"]
    assert sorted(ids(log.iterate(Event.by_size(day="mon")))) == IDS
    assert list(log.iterate(Event.by_kind(kind="misplaced"))) == []
    assert sorted(ids(log.scan(Event))) == IDS
    assert log.count(sk.collection(Event.key, day="mon")) == 45
    assert "its shard is not that of its fields, as if Event.key had had another number of shards" in caplog.text
    assert log.meter.reading(Event.key).rows_unrecognised > 0
    assert log.delete_all(path).items == 40
    assert log.delete_all(Note, scan=True).items == 5
    left = [{name: row[name] for name in ("pk", "sk")} for row in log.client.scan(TableName="sharded-log")["Items"]]
    assert sorted(left, key=str) == sorted(copies, key=str)
    assert {each.kind for each in log.audit(LOG).findings} == {"key-disagrees"}


def test_declarations_that_cannot_be_are_rejected() -> None:
    with pytest.raises(sk.DeclarationError, match="its sort key, which does not contain size; use shards= on an index"):
        sk.Key("DAY#{day}", "EVENT#{id}", shards=sk.Shards(8, by="size"))
    with pytest.raises(sk.DeclarationError, match="its sort key, which does not contain a field"):
        sk.Key("DAY#{day}", shards=sk.Shards(8))
    with pytest.raises(sk.DeclarationError, match="the number of shards of a primary key cannot change"):
        sk.Key("DAY#{day}", "EVENT#{id}", shards=sk.Shards(8, formerly=4))
    with pytest.raises(sk.DeclarationError, match=r"the key: shards= takes sk.Shards\(…\), not 8"):
        sk.Key("DAY#{day}", "EVENT#{id}", shards=8)  # type: ignore[arg-type]
