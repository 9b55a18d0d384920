"""A table of PynamoDB models, and the same table as Sortkey's items."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from random import Random
from typing import Annotated, Any, Final

import msgspec
from pynamodb.attributes import (
    Attribute,
    BinaryAttribute,
    BinarySetAttribute,
    BooleanAttribute,
    DiscriminatorAttribute,
    DynamicMapAttribute,
    JSONAttribute,
    ListAttribute,
    MapAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
    UTCDateTimeAttribute,
    VersionAttribute,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

import sortkey as sk
from sortkey.compat import pynamodb as stored
from tests.takeover.beside import random_values as make
from tests.takeover.beside.campaign import Key, Library, Values
from tests.takeover.legacy import Row
from tests.takeover.old_client import ENVIRONMENT, old_client

TABLE: Final = sk.Table("beside-pynamodb", ttl="expires")


class TheirPlace(MapAttribute[str, Any]):
    city = UnicodeAttribute()
    height = NumberAttribute(null=True)
    since = UTCDateTimeAttribute(null=True, attr_name="from")


class TheirFree(DynamicMapAttribute):
    since = UTCDateTimeAttribute(null=True)


class TheirByStatus(GlobalSecondaryIndex["TheirEntry"]):
    class Meta:
        index_name = "by-status"
        projection = AllProjection()

    status = UnicodeAttribute(hash_key=True)
    at = UTCDateTimeAttribute(range_key=True)


class TheirEntry(Model, discriminator="entry"):
    class Meta:
        table_name = TABLE.name
        region = ENVIRONMENT["AWS_DEFAULT_REGION"]
        billing_mode = "PAY_PER_REQUEST"
        aws_access_key_id = ENVIRONMENT["AWS_ACCESS_KEY_ID"]
        aws_secret_access_key = ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]
        host: str | None = None

    tenant = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)
    cls = DiscriminatorAttribute()
    title = UnicodeAttribute(attr_name="theTitle")
    status = UnicodeAttribute()
    at = UTCDateTimeAttribute()
    seen = UTCDateTimeAttribute(null=True)
    expires = TTLAttribute(null=True)
    visits = NumberAttribute(null=True)
    amount = NumberAttribute(null=True)
    flag = BooleanAttribute(null=True)
    photo = BinaryAttribute(legacy_encoding=True, null=True)
    thumb = BinaryAttribute(legacy_encoding=False, null=True)
    photos = BinarySetAttribute(legacy_encoding=True, null=True)
    thumbs = BinarySetAttribute(legacy_encoding=False, null=True)
    tags = UnicodeSetAttribute(null=True)
    scores = NumberSetAttribute(null=True)
    doc = JSONAttribute(null=True)
    place = TheirPlace(null=True)  # type: ignore[no-untyped-call]
    places = ListAttribute(of=TheirPlace, null=True)
    raw: MapAttribute[str, Any] = MapAttribute(null=True)
    free = TheirFree(null=True)  # type: ignore[no-untyped-call]
    log: ListAttribute[Any] = ListAttribute(null=True)
    times = ListAttribute(of=UTCDateTimeAttribute, null=True)
    remark = UnicodeAttribute(null=True)
    details = JSONAttribute(null=True)
    by_status = TheirByStatus()


class TheirJob(TheirEntry, discriminator="job"):
    pass


class TheirCall(TheirEntry, discriminator="call"):
    version = VersionAttribute()


class Place(msgspec.Struct):
    city: str
    height: stored.Number | None = None
    since: stored.UTCDateTime | None = msgspec.field(name="from", default=None)


class Free(sk.Item):
    since: stored.UTCDateTime | None = None


class Entry(sk.Item, table=TABLE, tag="entry", tag_field="cls"):
    tenant: str
    number: int
    title: str = sk.field(name="theTitle")
    status: str
    at: stored.UTCDateTime
    seen: stored.UTCDateTime | None = None
    expires: datetime | None = None
    visits: int | None = None
    amount: stored.Number | None = None
    flag: bool | None = None
    photo: stored.LegacyBinary | None = None
    thumb: bytes | None = None
    photos: set[stored.LegacyBinary] = sk.field(default_factory=set)
    thumbs: set[bytes] = sk.field(default_factory=set)
    tags: set[str] = sk.field(default_factory=set)
    scores: set[stored.Number] = sk.field(default_factory=set)
    doc: stored.JSON = None
    place: Place | None = None
    places: list[Place] | None = None
    raw: dict[str, stored.AnyValue] | None = None
    free: Free | None = None
    log: list[stored.AnyValue] | None = None
    times: list[stored.UTCDateTime] | None = None

    key = sk.Key("{tenant}", "{number}", names=("tenant", "number"))
    by_status = sk.Index("by-status", "{status}", "{at}", names=("status", "at"))


class Job(Entry, tag="job"):
    pass


class Call(Entry, tag="call"):
    version: Annotated[int, sk.version] = 0


THEIRS: Final[dict[str, type[TheirEntry]]] = {"entry": TheirEntry, "job": TheirJob, "call": TheirCall}
OURS: Final[dict[str, type[Entry]]] = {"entry": Entry, "job": Job, "call": Call}
SETS: Final = ("photos", "thumbs", "tags", "scores")


def _place(random: Random) -> dict[str, Any]:
    made = {"city": make.text(random), "height": make.fraction(random), "since": make.time(random)}
    return {name: value for name, value in made.items() if name == "city" or random.random() < 0.6}


def _free(random: Random) -> dict[str, Any]:
    made = {f"x{random.randrange(5)}": random.choice((make.text(random), make.flag(random), random.randrange(99)))}
    return {**made, "since": make.time(random)} if random.random() < 0.6 else made


VALUES: Final[dict[str, Callable[[Random], Any]]] = {
    "title": make.text,
    "status": make.status,
    "at": make.time,
    "seen": make.time,
    "expires": make.expiry,
    "visits": make.whole,
    "amount": make.fraction,
    "flag": make.flag,
    "photo": make.binary,
    "thumb": make.binary,
    "photos": make.binaries,
    "thumbs": make.binaries,
    "tags": make.texts,
    "scores": make.fractions,
    "doc": make.map_of_documents,
    "place": _place,
    "places": lambda random: [_place(random) for _ in range(random.randrange(3))],
    "raw": make.map_of_documents,
    "free": _free,
    "log": make.list_of_documents,
    "times": lambda random: [make.time(random) for _ in range(random.randrange(3))],
    "remark": make.text,
    "details": make.map_of_documents,
}
ONLY_THEIRS: Final = frozenset({"remark", "details"})


class PynamoDB:
    def create(self, key: Key, kind: str, values: Values) -> None:
        THEIRS[kind](*key, **values).save(TheirEntry.tenant.does_not_exist())

    def save(self, key: Key, changes: Values) -> None:
        item = TheirEntry.get(*key, consistent_read=True)
        for name, value in changes.items():
            setattr(item, name, value)
        item.save()

    def update(self, key: Key, changes: Values) -> None:
        item = TheirEntry.get(*key, consistent_read=True)
        fields = {name: getattr(TheirEntry, name) for name in changes}
        item.update(
            actions=[
                fields[name].remove() if value is None else fields[name].set(value) for name, value in changes.items()
            ]
        )

    def add(self, key: Key, field: str, amount: Any) -> None:
        attribute: Attribute[Any] = getattr(TheirEntry, field)
        TheirEntry.get(*key, consistent_read=True).update(actions=[attribute.add(amount)])

    def append(self, key: Key, field: str, members: list[Any]) -> None:
        attribute: Attribute[Any] = getattr(TheirEntry, field)
        TheirEntry.get(*key, consistent_read=True).update(actions=[attribute.set(attribute.append(members))])

    def save_batch(self, keys: list[Key]) -> None:
        items = list(TheirEntry.batch_get(keys, consistent_read=True))
        with TheirEntry.batch_write() as batch:
            for item in items:
                batch.save(item)

    def delete(self, key: Key) -> None:
        TheirEntry.get(*key, consistent_read=True).delete()

    def read(self, key: Key) -> Values | None:
        try:
            return _their_values(TheirEntry.get(*key, consistent_read=True))
        except TheirEntry.DoesNotExist:
            return None

    def read_all(self) -> dict[Key, Values]:
        return {(item.tenant, int(item.number)): _their_values(item) for item in TheirEntry.scan(consistent_read=True)}

    def find(self, status: str) -> set[Key]:
        return {(item.tenant, int(item.number)) for item in TheirEntry.by_status.query(status)}


def _their_values(item: TheirEntry) -> Values:
    shown = {name: _plain(getattr(item, name)) for name in VALUES}
    return {name: value for name, value in shown.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, MapAttribute):
        # An attribute that a map does not have is not among its values.
        return {name: _plain(each) for name, each in value.attribute_values.items() if name != "attribute_values"}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value


class Sortkey:
    def __init__(self, db: sk.Session) -> None:
        self.db = db

    def create(self, key: Key, kind: str, values: Values) -> None:
        self.db.put(OURS[kind](tenant=key[0], number=key[1], **_arguments(values)), if_absent=True)

    def save(self, key: Key, changes: Values) -> None:
        item = self._item(key)
        for name, value in _arguments(changes).items():
            setattr(item, name, value)
        self.db.put(item)

    def update(self, key: Key, changes: Values) -> None:
        self.db.update(_path(key), _arguments(changes))

    def add(self, key: Key, field: str, amount: Any) -> None:
        self.db.update(_path(key), [sk.F(getattr(Entry, field)).add(amount)])

    def append(self, key: Key, field: str, members: list[Any]) -> None:
        self.db.update(_path(key), [sk.F(getattr(Entry, field)).append(_arguments({field: members})[field])])

    def save_batch(self, keys: list[Key]) -> None:
        items = [self._item(key) for key in keys]
        self.db.batch(put=[item for item in items if not isinstance(item, Call)])
        # A batch cannot test a version.
        for item in items:
            if isinstance(item, Call):
                self.db.put(item)

    def delete(self, key: Key) -> None:
        self.db.delete(_path(key))

    def read(self, key: Key) -> Values | None:
        item = self.db.get(_path(key), consistent=True)
        return None if item is None else _our_values(item)

    def read_all(self) -> dict[Key, Values]:
        return {(item.tenant, item.number): _our_values(item) for item in self.db.scan(Entry)}

    def find(self, status: str) -> set[Key]:
        return {(item.tenant, item.number) for item in self.db.iterate(Entry.by_status(status=status))}

    def audit(self) -> None:
        report = self.db.audit(TABLE)
        assert report.is_clean, report.findings

    def _item(self, key: Key) -> Entry:
        item = self.db.get(_path(key), consistent=True)
        assert item is not None
        return item


def _path(key: Key) -> sk.AccessPath[Entry]:
    return Entry.key(tenant=key[0], number=key[1])


def _arguments(values: Values) -> Values:
    made = dict(values)
    for name in made.keys() & set(SETS):
        made[name] = made[name] or set()
    if made.get("place") is not None:
        made["place"] = Place(**made["place"])
    if made.get("places") is not None:
        made["places"] = [Place(**each) for each in made["places"]]
    if made.get("free") is not None:
        made["free"] = _to_free(made["free"])
    return made


def _to_free(values: dict[str, Any]) -> Free:
    """An item with undeclared attributes: Sortkey makes one by reading it."""
    since = values.get("since")
    made = Free(since=since)
    vars(made)["__extra__"] = {name: _attribute(value) for name, value in values.items() if name != "since"}
    return made


def _attribute(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": value}


def _our_values(item: Entry) -> Values:
    shown = {name: getattr(item, name) for name in VALUES if name not in ONLY_THEIRS}
    for name in SETS:
        shown[name] = shown[name] or None
    shown["place"] = None if item.place is None else _of_place(item.place)
    shown["places"] = None if item.places is None else [_of_place(each) for each in item.places]
    shown["free"] = None if item.free is None else _of_free(item.free)
    return {name: value for name, value in shown.items() if value is not None}


def _of_place(place: Place) -> dict[str, Any]:
    values = {"city": place.city, "height": place.height, "since": place.since}
    return {name: value for name, value in values.items() if value is not None}


def _of_free(free: Free) -> dict[str, Any]:
    others = {
        name: int(value["N"]) if "N" in value else next(iter(value.values()))
        for name, value in sk.extra(free).items()
        if name != "attribute_values"
    }
    return others if free.since is None else {**others, "since": free.since}


def _as_they_save(row: Row) -> Row:
    """PynamoDB leaves out NULL. And it takes the container of a dynamic map's values for one of them, and stores it,
    empty."""
    made = {name: value for name, value in row.items() if "NULL" not in value}
    if "free" in made:
        made["free"] = {"M": {**made["free"]["M"], "attribute_values": {"M": {}}}}
    return made


def library(url: str, db: sk.Session) -> Library:
    """Creates the table anew, as PynamoDB does."""
    TheirEntry.Meta.host = url
    if TheirEntry.exists():
        TheirEntry.delete_table()
    TheirEntry.create_table(wait=True)
    client = old_client(url)
    ours = Sortkey(db)

    def stored_key(key: Key) -> Row:
        return {"tenant": {"S": key[0]}, "number": {"N": str(key[1])}}

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
        theirs=PynamoDB(),
        ours=ours,
        stored=row,
        store_null=store_null,
        nullable=("seen", "amount", "flag", "photo", "doc", "place", "raw", "log", "tags", "expires", "remark"),
        kinds=tuple(OURS),
        values=VALUES,
        required=frozenset({"title", "status", "at"}),
        only_theirs=ONLY_THEIRS,
        attributes=lambda field: frozenset({"theTitle" if field == "title" else field}),
        version="version",
        numbers=("visits",),
        sets=SETS,
        lists=("log", "times", "places"),
        as_they_save=_as_they_save,
        check=ours.audit,
    )
