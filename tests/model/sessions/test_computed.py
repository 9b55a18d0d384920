"""sk.computed: fields that follow from others are stored, and every write keeps them and their index keys current."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import pytest

import sortkey as sk

USERS = sk.Table("computed-users", transactions=True)


class Mark(sk.Item):
    at: int


class User(sk.Item, table=USERS):
    id: str
    email: str
    name: str = ""
    email_lower: Annotated[str, sk.computed("email", by=str.lower)] = ""
    key = sk.Key("U#{id}", "U")
    by_email = sk.Index("gsi1", "E#{email_lower}", "{id}")


class Line(sk.Item, table=USERS):
    id: str
    price: int
    amount: int = 1
    parts: list[int] = sk.field(default_factory=list)
    total: Annotated[int, sk.computed("price", "amount", by=operator.mul)] = 0
    largest: Annotated[int | None, sk.computed("parts", by=lambda parts: max(parts, default=None))] = None
    label: Annotated[str, sk.computed("id", "price", by=lambda name, price: f"{name}:{price}")] = ""
    key = sk.Key("L#{id}", "L")
    by_total = sk.Index("gsi2", "LINES", "{total}")
    by_largest = sk.Index("gsi3", "LARGEST", "{largest}")


class Fixed(sk.Item, table=USERS, frozen=True):  # type: ignore[misc]
    id: str
    upper: Annotated[str, sk.computed("id", by=str.upper)] = ""
    key = sk.Key("F#{id}", "F")


class Board(sk.Item, table=USERS):
    id: str
    count: int = 0
    double: Annotated[int, sk.computed("count", by=lambda count: 2 * count)] = 0
    marks = sk.Entries(Mark, "mark:")
    key = sk.Key("B#{id}", "B")


ADA = User.key(id="1")
LINE = Line.key(id="1")


@pytest.fixture
def users(db: sk.Session) -> sk.Session:
    db.create_tables(USERS)
    return db


def only(items: Any) -> Any:
    (item,) = items
    return item


def row_of(db: sk.Session, path: sk.AccessPath[Any]) -> dict[str, Any]:
    row: dict[str, Any] = db.client.get_item(TableName=path.table, Key=path.key())["Item"]
    return row


def test_an_update_keeps_the_field_and_its_index_current(users: sk.Session) -> None:
    user = User(id="1", email="Ada@X.org")
    assert user.email_lower == ""
    users.put(user)
    assert user.email_lower == "ada@x.org"
    assert users.update(ADA, {"email": "Bob@X.org"}).email_lower == "bob@x.org"
    assert users.get(ADA) == User(id="1", email="Bob@X.org", email_lower="bob@x.org")
    assert users.count(User.by_email(email_lower="bob@x.org")) == 1
    assert users.count(User.by_email(email_lower="ada@x.org")) == 0
    assert users.count(ADA, where={"email_lower": "bob@x.org"}) == 1


def test_an_update_reads_the_inputs_that_it_does_not_change(users: sk.Session) -> None:
    line = Line(id="1", price=5, amount=2, parts=[1, 9])
    users.put(line)
    assert (line.total, line.largest, line.label) == (10, 9, "1:5")
    assert users.update(LINE, {"price": 7}).total == 14
    assert users.update(LINE, [sk.F(Line.amount).add(1)]).total == 21
    assert users.update(LINE, {"price": 1, "amount": 1}).total == 1
    changed = users.update(LINE, {"parts": []})
    assert (changed.largest, changed.label) == (None, "1:1")
    assert users.count(Line.by_largest()) == 0
    assert only(users.iterate(Line.by_total())) == changed
    assert row_of(users, LINE)["gsi2sk"] == {"N": "1"}


OTHERS: list[Callable[[], object]] = []


def multiplied(price: int, amount: int) -> int:
    """Computed between the read of an update and its write, where others come in between."""
    while OTHERS:
        OTHERS.pop()()
    return price * amount


class Overtaken(sk.Item, table=USERS):
    id: str
    price: int
    amount: int = 1
    total: Annotated[int, sk.computed("price", "amount", by=multiplied)] = 0
    key = sk.Key("O#{id}", "O")


def test_an_update_that_was_overtaken_computes_again(memory: sk.Session) -> None:
    memory.create_tables(USERS)
    path = Overtaken.key(id="1")
    memory.put(Overtaken(id="1", price=5, amount=2))
    OTHERS.append(lambda: memory.update(path, {"price": 6, "amount": 3}))
    assert memory.update(path, {"price": 7}) == Overtaken(id="1", price=7, amount=3, total=21)


# Otherwise each attempt of an update that is rejected would be another one, and none the last.
def test_an_update_with_a_function_that_varies_is_rejected_as_any_other(users: sk.Session) -> None:
    users.put(Varying(id="1"))
    with pytest.raises(sk.ConditionFailed, match="does not match"):
        users.update(Varying.key(id="1"), {"one": 1}, where={"two": 5})


NUMBERS = itertools.count()


class Varying(sk.Item, table=USERS):
    id: str
    one: int = 0
    two: int = 0
    number: Annotated[int, sk.computed("one", "two", by=lambda *_inputs: next(NUMBERS))] = 0
    key = sk.Key("X#{id}", "X")


def test_every_way_to_write_computes(users: sk.Session) -> None:
    assert users.upsert(ADA, {"email": "A@b"}).email_lower == "a@b"
    assert users.upsert(ADA, {"email": "C@d"}).email_lower == "c@d"
    users.batch(put=[User(id="2", email="E@f")])
    users.load([User(id="3", email="G@h")])
    together = sk.Transaction()
    together.put(User(id="4", email="I@j"))
    together.update(ADA, {"email": "K@l"})
    users.transact(together)
    users.put(User(id="5", email="M@n"), if_absent=True)
    found = users.lookup(User.key, [{"id": each} for each in "12345"])
    assert [user and user.email_lower for user in found] == ["k@l", "e@f", "g@h", "i@j", "m@n"]
    fixed = Fixed(id="a")
    users.put(fixed)
    assert fixed.upper == ""
    assert users.get(fixed.key) == Fixed(id="a", upper="A")


class Bare(sk.Item, table=USERS):
    """A key of its index cannot hold the default."""

    id: str
    upper: Annotated[str, sk.computed("id", by=str.upper)] = ""
    key = sk.Key("N#{id}", "N")
    by_upper = sk.Index("gsi4", "{upper}")


def test_a_default_that_no_key_can_hold_is_never_written(users: sk.Session) -> None:
    users.put(Bare(id="a"), if_absent=True)
    assert "bytes" in str(users.explain(Bare.key(id="a"), sample=[Bare(id="a")]))
    together = sk.Transaction()
    together.put(Bare(id="b"))
    users.transact(together)
    assert [users.count(Bare.by_upper(upper=each)) for each in "AB"] == [1, 1]


def test_nobody_sets_it_otherwise(users: sk.Session) -> None:
    users.put(User(id="1", email="A@b", email_lower="something else"))
    assert users.get(ADA) == User(id="1", email="A@b", email_lower="a@b")
    with pytest.raises(sk.EncodeError, match=r"User\.email_lower: follows from email \(sk\.computed\); change those"):
        users.update(ADA, {"email_lower": "x"})
    path = Board.key(id="1")
    with pytest.raises(sk.Unsupported, match="Board has computed fields, so an item must be read"):
        users.put_entry(path, Board.marks, "m", Mark(at=1), newer_by="at", changes={"count": 1})


def test_a_function_that_raises_is_named(users: sk.Session) -> None:
    line = Line(id="1", price=1, parts=[1, None])  # type: ignore[list-item]
    with pytest.raises(sk.EncodeError, match=r"Line\.largest: cannot be computed from parts=\[1, None\]: TypeError"):
        users.put(line)


# Reading shows what conditions find; only a write, or an audit, makes it current.
def test_what_another_program_left_stale_is_shown_as_it_is_stored(users: sk.Session) -> None:
    users.put(User(id="1", email="A@b"))
    values = {":e": {"S": "C@d"}}
    users.client.update_item(
        TableName=USERS.name, Key=ADA.key(), UpdateExpression="SET email = :e", ExpressionAttributeValues=values
    )
    stale = users.get(ADA)
    assert stale == User(id="1", email="C@d", email_lower="a@b")
    assert users.count(ADA, where={"email_lower": "a@b"}) == 1
    report = users.audit(USERS)
    found = [(each.kind, each.subject) for each in report.findings]
    assert found == [("computed-stale", "email_lower"), ("index-key-stale", "gsi1")]
    assert not report.is_clean
    users.audit(USERS, repair=True)
    assert users.get(ADA) == User(id="1", email="C@d", email_lower="c@d")
    assert users.count(User.by_email(email_lower="c@d")) == 1
    assert users.audit(USERS).is_clean


def test_a_row_that_is_older_than_the_field_shows_the_default(users: sk.Session) -> None:
    users.put(Line(id="1", price=5, amount=2, parts=[4]))
    users.client.update_item(
        TableName=USERS.name,
        Key=LINE.key(),
        UpdateExpression="REMOVE #t, largest, label, gsi2pk, gsi2sk",
        ExpressionAttributeNames={"#t": "total"},
    )
    old = users.get(LINE)
    assert old is not None
    assert (old.total, old.largest, old.label) == (0, None, "")
    assert users.count(LINE, where={"total": 0}) == 1
    users.audit(USERS, repair=True)
    now = users.get(LINE)
    assert now is not None
    assert (now.total, now.largest, now.label) == (10, 4, "1:5")
    assert users.count(Line.by_total()) == 1


# An index that is declared together with the field it has.
def test_filling_an_index_computes_its_fields(users: sk.Session) -> None:
    users.client.put_item(TableName=USERS.name, Item={**ADA.key(), "id": {"S": "1"}, "email": {"S": "A@b"}})
    users.fill_index(User.by_email)
    assert users.count(User.by_email(email_lower="a@b")) == 1
    assert users.get(ADA) == User(id="1", email="A@b", email_lower="a@b")


class Shape(sk.Item, table=sk.Table("computed-shapes"), version=2):
    id: str
    side: int
    area: Annotated[int, sk.computed("side", by=lambda side: side * side)] = 0
    key = sk.Key("S#{id}")
    by_area = sk.Index("gsi1", "SHAPES", "{area}")


@Shape.upgrade(1)
def to_side(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "side": row.pop("width")}


@pytest.mark.parametrize("write", ["update", "put", "audit"])
def test_an_upgrade_of_an_older_class_version_computes(db: sk.Session, write: str) -> None:
    db.create_tables(Shape)
    row = {"pk": {"S": "S#1"}, "id": {"S": "1"}, "width": {"N": "3"}}
    db.client.put_item(TableName="computed-shapes", Item=row)
    path = Shape.key(id="1")
    if write == "update":
        db.update(path, [sk.F(Shape.side).add(1)])
    elif write == "put":
        old = db.get(path)
        assert old is not None
        db.put(sk.replace(old, side=4))
    else:
        db.audit(Shape, repair=True, upgrade=True)
    side = 3 if write == "audit" else 4
    assert db.get(path) == Shape(id="1", side=side, area=side * side)
    assert [shape.area for shape in db.iterate(Shape.by_area())] == [side * side]


def declared(**fields: tuple[Any, Any]) -> None:
    namespace: dict[str, Any] = {"__annotations__": {"id": str, **{name: each[0] for name, each in fields.items()}}}
    namespace |= {name: each[1] for name, each in fields.items() if each[1] is not ...}
    make: Any = type(sk.Item)
    make("Made", (sk.Item,), {**namespace, "key": sk.Key("M#{id}")}, table=sk.Table("made-computed"))


LOWER = sk.computed("id", by=str.lower)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"low": (Annotated[str, LOWER], ...)}, r"Made\.low: give a computed field a default"),
        ({"low": (Annotated[str, sk.computed("idd", by=str)], "")}, "no field 'idd' .*; did you mean 'id'"),
        (
            {"low": (Annotated[str, LOWER], ""), "x": (Annotated[str, sk.computed("low", by=str)], "")},
            "cannot be computed from low",
        ),
        ({"low": (Annotated[int, LOWER, sk.version], 0)}, "no other mark"),
    ],
)
def test_mistakes_are_rejected_at_import(fields: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        declared(**fields)


def test_it_is_no_part_of_the_primary_key() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Low\.low: a computed field cannot be in the primary key"):

        class Low(sk.Item, table=sk.Table("low-computed")):
            id: str
            low: Annotated[str, sk.computed("id", by=str.lower)] = ""
            key = sk.Key("L#{low}")

    with pytest.raises(sk.DeclarationError, match="name the fields"):
        sk.computed(by=str.lower)
    with pytest.raises(sk.DeclarationError, match="by must be a function"):
        sk.computed("id", by=None)  # type: ignore[arg-type]


# What __post_init__ sets, reading would show, and neither the row nor its index would have.
def test_post_init_is_rejected_at_import() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Late\.__post_init__: .* sk\.computed"):

        class Late(sk.Item, table=sk.Table("late")):
            id: str
            low: str = ""
            key = sk.Key("L#{id}")

            def __post_init__(self) -> None:
                self.low = self.id.lower()

    class Mixin:
        def __post_init__(self) -> None:
            return

    with pytest.raises(sk.DeclarationError, match=r"Mixed\.__post_init__"):

        class Mixed(sk.Item, Mixin):
            id: str


@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        sk.replace,
        lambda item: item.__replace__(),
        lambda item: pickle.loads(pickle.dumps(item)),
    ],
    ids=["copy", "deepcopy", "sk.replace", "copy.replace", "pickle"],
)
def test_a_copy_keeps_undeclared_attributes(users: sk.Session, copied: Any) -> None:
    users.client.put_item(
        TableName=USERS.name, Item={**ADA.key(), "id": {"S": "1"}, "email": {"S": "a"}, "x": {"S": "y"}}
    )
    user = users.get(ADA)
    assert user is not None
    assert sk.extra(copied(user)) == {"x": {"S": "y"}}
    users.put(copied(user))
    assert row_of(users, ADA)["x"] == {"S": "y"}


# msgspec copies the fields alone, and asks nobody: the result is a new item.
def test_structs_replace_makes_a_new_item(users: sk.Session) -> None:
    users.client.put_item(
        TableName=USERS.name, Item={**ADA.key(), "id": {"S": "1"}, "email": {"S": "a"}, "x": {"S": "y"}}
    )
    user = users.get(ADA)
    assert user is not None
    assert sk.extra(msgspec.structs.replace(user, name="Ada")) == {}
