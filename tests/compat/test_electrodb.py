"""Rows as ElectroDB 3 writes them; `tests/takeover/beside` runs ElectroDB itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.compat import electrodb

TASKS = sk.Table("tasks", ttl="expires")
CREATED = datetime(2026, 1, 4, 10, 0, 0, 123_000, tzinfo=UTC)


class Task(electrodb.Entity, table=TASKS, tag="task"):
    project: str
    number: electrodb.Integer
    status: str
    created: electrodb.ISOString
    points: electrodb.Number | None = None
    tags: set[str] = sk.field(default_factory=set)
    data: electrodb.AnyValue = None
    expires: electrodb.TTL | None = None

    key = sk.Key("$shop#project_{project:raw}", "$task_1#number_{number:06}", names=("pk", "sk"))
    by_status = sk.Index("gsi1", "$shop#status_{status:raw}", "$task_1#number_{number:06}", names=("gsi1pk", "gsi1sk"))


class Note(electrodb.Entity, table=TASKS):
    project: str
    edb_version: str = sk.field(name="__edb_v__", default="2")

    key = sk.Key("$shop#project_{project:raw}", "$note_2", names=("pk", "sk"))


ROW: dict[str, Any] = {
    "project": {"S": "new york"},
    "number": {"N": "7"},
    "status": {"S": "open"},
    "created": {"S": "2026-01-04T10:00:00.123Z"},
    "points": {"N": "1.5"},
    "tags": {"SS": ["a", "b"]},
    "data": {"M": {"none": {"NULL": True}, "list": {"L": [{"N": "0.1"}]}}},
    "expires": {"N": "3976214400"},
    "hidden": {"S": "not declared here"},
    "pk": {"S": "$shop#project_new york"},
    "sk": {"S": "$task_1#number_000007"},
    "gsi1pk": {"S": "$shop#status_open"},
    "gsi1sk": {"S": "$task_1#number_000007"},
    "__edb_e__": {"S": "task"},
    "__edb_v__": {"S": "1"},
}
PATH = Task.key(project="new york", number=7)


@pytest.fixture
def db() -> Iterator[sk.Session]:
    with sk.connect("memory:", tables=[TASKS]) as made:
        made.create_tables()
        yield made


def stored(db: sk.Session) -> dict[str, Any]:
    (row,) = db.scan_rows(TASKS)
    return row


def test_a_row_of_theirs_shows_its_values_and_a_put_leaves_it_as_it_was(db: sk.Session) -> None:
    db.client.put_item(TableName="tasks", Item=ROW)
    item = db.get(PATH)
    assert item is not None
    assert (item.created, item.points, item.data) == (CREATED, 1.5, {"none": None, "list": [0.1]})
    db.put(item)
    assert stored(db) == ROW
    assert db.audit(TASKS).is_clean


def test_a_row_of_ours_has_what_they_need(db: sk.Session) -> None:
    made = Task(
        project="new york",
        number=7,
        status="open",
        created=CREATED.replace(microsecond=123_999),
        points=1.5,
        tags={"a", "b"},
        data={"none": None, "list": [0.1]},
        expires=datetime(2096, 1, 1, tzinfo=UTC),
    )
    db.put(made)
    assert {**stored(db), "hidden": ROW["hidden"]} == ROW


def test_upsert_stores_the_entity_and_its_version(db: sk.Session) -> None:
    db.upsert(PATH, {"status": "open", "created": CREATED})
    assert {name: stored(db)[name] for name in ("__edb_e__", "__edb_v__", "gsi1pk")} == {
        name: ROW[name] for name in ("__edb_e__", "__edb_v__", "gsi1pk")
    }


def test_an_update_moves_the_item_in_the_index(db: sk.Session) -> None:
    db.client.put_item(TableName="tasks", Item=ROW)
    db.update(PATH, {"status": "done"})
    assert stored(db) == {**ROW, "status": {"S": "done"}, "gsi1pk": {"S": "$shop#status_done"}}


def test_entities_of_a_table_are_told_apart(db: sk.Session) -> None:
    db.client.put_item(TableName="tasks", Item=ROW)
    db.put(Note(project="new york"))
    assert sorted(type(item).__name__ for item in db.scan(TASKS)) == ["Note", "Task"]
    (row,) = (row for row in db.scan_rows(TASKS) if row["sk"] == {"S": "$note_2"})
    assert (row["__edb_e__"], row["__edb_v__"]) == ({"S": "Note"}, {"S": "2"})


# The SDK of JavaScript raises for a row with such a number, so none is written.
@pytest.mark.parametrize(("field", "value"), [("number", 2**53), ("points", 1.5e20)])
def test_a_number_that_javascript_does_not_hold_is_rejected(db: sk.Session, field: str, value: float) -> None:
    given: dict[str, Any] = {"project": "p", "number": 1, "status": "open", "created": CREATED, field: value}
    with pytest.raises(sk.ModelError, match=field):
        db.put(Task(**given))


@pytest.mark.parametrize(
    "text", ["2026-01-04T10:00:00Z", "2026-01-04T10:00:00.123456Z", "2026-01-04T10:00:00.123+00:00"]
)
def test_a_time_in_another_form_is_named(db: sk.Session, text: str) -> None:
    db.client.put_item(TableName="tasks", Item={**ROW, "created": {"S": text}})
    with pytest.raises(sk.DecodeError, match=r"Task\.created: .*2026-08-24T12:30:00\.000Z"):
        db.get(PATH)


# What ElectroDB 3.9 writes for { id: "ab", n: 7 } of the service "shop" and the entity "task".
@pytest.mark.parametrize(
    ("templates", "key"),
    [
        (("$shop#id_{id:raw}", "$task_1#n_{n:d}"), {"pk": {"S": "$shop#id_ab"}, "sk": {"S": "$task_1#n_7"}}),
        (("$shop$task_1#id_{id:raw}#n_{n:d}",), {"pk": {"S": "$shop$task_1#id_ab#n_7"}}),
        (("$shop#id_{id:raw}", "$work#task_1#n_{n:d}"), {"pk": {"S": "$shop#id_ab"}, "sk": {"S": "$work#task_1#n_7"}}),
        (("$shop#id_{id:raw}", "$work#n_{n:d}#task_1"), {"pk": {"S": "$shop#id_ab"}, "sk": {"S": "$work#n_7#task_1"}}),
        (("user#{id:raw}", "{n}"), {"pk": {"S": "user#ab"}, "sk": {"N": "7"}}),
    ],
    ids=["entity", "no sort key", "collection", "clustered", "template"],
)
def test_its_keys_can_be_declared(templates: tuple[str, ...], key: dict[str, Any]) -> None:
    class Keyed(electrodb.Entity, table=sk.Table("keyed")):
        id: str
        n: electrodb.Integer
        key = sk.Key(*templates, names=("pk", "sk")[: len(templates)])

    assert Keyed(id="ab", n=7).key.key() == key


# ElectroDB writes "New York" as "new york" into the key, and as it is into the attribute.
def test_a_value_with_capitals_is_a_field_of_its_own() -> None:
    class City(electrodb.Entity, table=sk.Table("cities"), tag="city"):
        name_key: Annotated[str, sk.in_key]
        name: str
        size: int = 0
        key = sk.Key("$shop#name_{name_key:raw}", "$city_1", names=("pk", "sk"))

    row = {
        "pk": {"S": "$shop#name_new york"},
        "sk": {"S": "$city_1"},
        "name": {"S": "New York"},
        "size": {"N": "1"},
        "__edb_e__": {"S": "city"},
        "__edb_v__": {"S": "1"},
    }
    with sk.connect("memory:", tables=[City]) as db:
        db.create_tables()
        db.client.put_item(TableName="cities", Item=row)
        assert db.audit(City).is_clean
        city = db.get(City.key(name_key="new york"))
        assert city is not None
        city.size = 2
        db.put(city)
        assert list(db.scan_rows(City)) == [{**row, "size": {"N": "2"}}]
