"""A table of ElectroDB entities, and the same table as Sortkey's items."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Annotated, Any, Final, Literal

import msgspec

import sortkey as sk
from sortkey.compat import electrodb as stored
from tests.takeover.beside import random_values as make
from tests.takeover.beside.campaign import Key, Library, Values
from tests.takeover.beside.node_packages import NodeProgram
from tests.takeover.legacy import Row
from tests.takeover.old_client import old_client

TABLE: Final = sk.Table("beside-electrodb", ttl="expires")
_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = {"seen": timedelta(milliseconds=1), "expires": timedelta(seconds=1)}
"""The times that are numbers."""


class Place(msgspec.Struct):
    city: str
    height: stored.Number | None = None
    since: stored.ISOString | None = None


class Entry(stored.Entity):
    tenant_key: Annotated[str, sk.in_key]
    """The tenant in lower case, which is what the key has."""
    tenant: str
    number: stored.Integer
    title: str = sk.field(name="theTitle")
    status: str
    at: stored.ISOString
    seen: Annotated[datetime, sk.epoch_ms] | None = None
    expires: datetime | None = None
    visits: stored.Integer | None = None
    amount: stored.Number | None = None
    flag: bool | None = None
    level: Literal["low", "High"] | None = None
    tags: set[str] = sk.field(default_factory=set)
    scores: set[stored.Number] = sk.field(default_factory=set)
    place: Place | None = None
    places: list[Place] | None = None
    log: list[stored.AnyValue] | None = None
    doc: stored.AnyValue = None
    blob: bytes | None = None


class Job(Entry, table=TABLE):
    key = sk.Key("$beside#tenant_{tenant_key:raw}", "$job_1#number_{number:06}", names=("pk", "sk"))
    by_status = sk.Index(
        "gsi1",
        "$Beside#status_{status:raw}",
        "$Job_1#number_{number:06}#tenant_{tenant:raw}",
        names=("gsi1pk", "gsi1sk"),
    )
    by_time = sk.Index(
        "gsi2", "$beside#status_{status:lower}", "$job_1#at_{at:lower}#number_{number:06}", names=("gsi2pk", "gsi2sk")
    )


class Call(Entry, table=TABLE):
    key = sk.Key("$beside#tenant_{tenant_key:raw}", "$call_1#number_{number:06}", names=("pk", "sk"))
    by_status = sk.Index(
        "gsi1",
        "$Beside#status_{status:raw}",
        "$Call_1#number_{number:06}#tenant_{tenant:raw}",
        names=("gsi1pk", "gsi1sk"),
    )
    by_time = sk.Index(
        "gsi2", "$beside#status_{status:lower}", "$call_1#at_{at:lower}#number_{number:06}", names=("gsi2pk", "gsi2sk")
    )


OURS: Final = (Job, Call)
SETS: Final = ("tags", "scores")
ONLY_THEIRS: Final = frozenset({"remark", "details"})


def _status(random: Random) -> str:
    return make.status(random).replace("#", "+")


def _fraction(random: Random) -> float:
    """JavaScript's SDK writes and reads no number above 2^53."""
    made = make.fraction(random)
    return made if abs(made) < 2**53 else made / 1e10


def _fractions(random: Random) -> set[float]:
    return {_fraction(random) for _ in range(random.randint(1, 4))}


def _place(random: Random) -> dict[str, Any]:
    made = {"city": make.text(random), "height": _fraction(random), "since": make.milliseconds(random)}
    return {name: value for name, value in made.items() if name == "city" or random.random() < 0.6}


VALUES: Final[dict[str, Callable[[Random], Any]]] = {
    "title": make.text,
    "status": _status,
    "at": make.milliseconds,
    "seen": make.milliseconds,
    "expires": make.expiry,
    "visits": make.whole,
    "amount": _fraction,
    "flag": make.flag,
    "level": lambda random: random.choice(("low", "High")),
    "tags": make.texts,
    "scores": _fractions,
    "place": _place,
    "places": lambda random: [_place(random) for _ in range(random.randrange(3))],
    "log": make.list_of_documents,
    "doc": make.map_of_documents,
    "blob": make.binary,
    "remark": make.text,
    "details": make.map_of_documents,
}


def _to_iso(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def _to_node(name: str, value: Any) -> Any:
    """A value as JavaScript has it."""
    if value is None:
        return None
    if name in _UNITS:
        return (value - _START) // _UNITS[name]
    if isinstance(value, datetime):
        return _to_iso(value)
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, set):
        return sorted(value)
    if name == "place":
        return {member: _to_node(member, each) for member, each in value.items()}
    return [_to_node("place", each) for each in value] if name == "places" else value


def _from_node(name: str, value: Any) -> Any:
    if name in _UNITS:
        return _START + value * _UNITS[name]
    if name in ("at", "since"):
        return datetime.fromisoformat(value)
    if name == "blob":
        return base64.b64decode(value["$bytes"])
    if name in SETS:
        return set(value)
    if name == "place":
        return {member: _from_node(member, each) for member, each in value.items()}
    return [_from_node("place", each) for each in value] if name == "places" else value


def _node_key(key: Key) -> dict[str, Any]:
    return {"tenant": key[0], "number": key[1]}


class ElectroDB:
    def __init__(self, node: NodeProgram) -> None:
        self._node = node

    def create(self, key: Key, _kind: str, values: Values) -> None:
        self._node.call("create", key=_node_key(key), values=_node_values(values))

    def save(self, key: Key, changes: Values) -> None:
        self._node.call("save", key=_node_key(key), changes=_node_values(changes))

    def update(self, key: Key, changes: Values) -> None:
        self._node.call("update", key=_node_key(key), changes=_node_values(changes))

    def add(self, key: Key, field: str, amount: Any) -> None:
        self._node.call("add", key=_node_key(key), field=field, amount=_to_node(field, amount))

    def append(self, key: Key, field: str, members: list[Any]) -> None:
        self._node.call("append", key=_node_key(key), field=field, members=_to_node(field, members))

    def save_batch(self, keys: list[Key]) -> None:
        self._node.call("saveBatch", keys=[_node_key(key) for key in keys])

    def delete(self, key: Key) -> None:
        self._node.call("delete", key=_node_key(key))

    def read(self, key: Key) -> Values | None:
        item = self._node.call("read", key=_node_key(key))
        return None if item is None else _shown(item)

    def read_all(self) -> dict[Key, Values]:
        return {_key_of(item): _shown(item) for item in self._node.call("readAll")}

    def find(self, status: str) -> set[Key]:
        return {_key_of(item) for item in self._node.call("find", status=status)}


def _node_values(values: Values) -> Values:
    return {name: _to_node(name, value) for name, value in values.items()}


def _key_of(item: Values) -> Key:
    return item["tenant"], item["number"]


def _shown(item: Values) -> Values:
    return {name: _from_node(name, value) for name, value in item.items() if name in VALUES and value is not None}


class Sortkey:
    def __init__(self, db: sk.Session) -> None:
        self.db = db

    def create(self, key: Key, _kind: str, values: Values) -> None:
        made = OURS[key[1] % len(OURS)](**_own_key(key), tenant=key[0], **_arguments(values))
        self.db.put(made, if_absent=True)

    def save(self, key: Key, changes: Values) -> None:
        item = self._item(key)
        for name, value in _arguments(changes).items():
            setattr(item, name, value)
        self.db.put(item)

    def update(self, key: Key, changes: Values) -> None:
        self.db.update(_path(key), _arguments(changes))

    def add(self, key: Key, field: str, amount: Any) -> None:
        self.db.update(_path(key), [sk.F(getattr(_class(key), field)).add(amount)])

    def append(self, key: Key, field: str, members: list[Any]) -> None:
        self.db.update(_path(key), [sk.F(getattr(_class(key), field)).append(_arguments({field: members})[field])])

    def save_batch(self, keys: list[Key]) -> None:
        self.db.batch(put=[self._item(key) for key in keys])

    def delete(self, key: Key) -> None:
        self.db.delete(_path(key))

    def read(self, key: Key) -> Values | None:
        item = self.db.get(_path(key), consistent=True)
        return None if item is None else _our_values(item)

    def read_all(self) -> dict[Key, Values]:
        found = [item for item in self.db.scan(TABLE) if isinstance(item, Entry)]
        return {(item.tenant, item.number): _our_values(item) for item in found}

    def find(self, status: str) -> set[Key]:
        found = [item for cls in OURS for item in self.db.iterate(cls.by_status(status=status))]
        return {(item.tenant, item.number) for item in found}

    def audit(self) -> None:
        report = self.db.audit(TABLE)
        assert report.is_clean, report.findings

    def _item(self, key: Key) -> Job | Call:
        item: Job | Call | None = self.db.get(_path(key), consistent=True)
        assert item is not None
        return item


def _class(key: Key) -> type[Job] | type[Call]:
    return OURS[key[1] % len(OURS)]


def _path(key: Key) -> Any:
    return _class(key).key(**_own_key(key))


def _own_key(key: Key) -> dict[str, Any]:
    return {"tenant_key": key[0].lower(), "number": key[1]}


def _arguments(values: Values) -> Values:
    made = dict(values)
    for name in made.keys() & set(SETS):
        made[name] = made[name] or set()
    if made.get("place") is not None:
        made["place"] = Place(**made["place"])
    if made.get("places") is not None:
        made["places"] = [Place(**each) for each in made["places"]]
    return made


def _our_values(item: Entry) -> Values:
    shown = {name: getattr(item, name) for name in VALUES if name not in ONLY_THEIRS}
    for name in SETS:
        shown[name] = shown[name] or None
    shown["place"] = None if item.place is None else _of_place(item.place)
    shown["places"] = None if item.places is None else [_of_place(each) for each in item.places]
    return {name: value for name, value in shown.items() if value is not None}


def _of_place(place: Place) -> dict[str, Any]:
    values = {"city": place.city, "height": place.height, "since": place.since}
    return {name: value for name, value in values.items() if value is not None}


def _attributes(field: str) -> frozenset[str]:
    if field == "status":
        return frozenset({"status", "gsi1pk", "gsi2pk"})
    if field == "at":
        return frozenset({"at", "gsi2sk"})
    return frozenset({"theTitle" if field == "title" else field})


def library(url: str, db: sk.Session, node: NodeProgram) -> Library:
    """Creates the table as well; ElectroDB leaves that to others."""
    node.call("createTable")
    client = old_client(url)
    ours = Sortkey(db)

    def stored_key(key: Key) -> Row:
        made: Row = _path(key).key()
        return made

    def row(key: Key) -> Row | None:
        found: Row | None = client.get_item(TableName=TABLE.name, Key=stored_key(key), ConsistentRead=True).get("Item")
        return found

    def store_null(key: Key, attribute: str) -> None:
        client.update_item(
            TableName=TABLE.name,
            Key=stored_key(key),
            UpdateExpression="SET #a = :null",
            ExpressionAttributeNames={"#a": attribute},
            ExpressionAttributeValues={":null": {"NULL": True}},
        )

    return Library(
        theirs=ElectroDB(node),
        ours=ours,
        stored=row,
        store_null=store_null,
        nullable=("doc", "blob", "details"),
        kinds=("",),
        values=VALUES,
        required=frozenset({"title", "status", "at"}),
        only_theirs=ONLY_THEIRS,
        attributes=_attributes,
        version=None,
        numbers=("visits",),
        sets=SETS,
        lists=("log", "places"),
        as_they_save=lambda row: row,
        check=ours.audit,
    )
