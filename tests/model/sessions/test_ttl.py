"""The TTL field: stored as a number whatever its type, so that the store finds what has expired."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from tests.model.sessions.shop import SHOP, Customer

THEN = datetime(2036, 8, 24, 12, 30, tzinfo=UTC)
SECONDS = "2103193800"
ADA = Customer.key(customer="ada")


def stored(db: sk.Session) -> Any:
    return db.client.get_item(TableName="shop", Key=ADA.key())["Item"].get("expires")


def test_a_datetime_is_stored_in_seconds(db: sk.Session) -> None:
    db.put(Customer(customer="ada", expires=THEN))
    assert stored(db) == {"N": SECONDS}
    assert db.get(ADA) == Customer(customer="ada", expires=THEN)
    assert list(db.iterate(ADA)) == [Customer(customer="ada", expires=THEN)]
    assert db.update(ADA, {"expires": THEN + timedelta(hours=1)}).expires == THEN + timedelta(hours=1)
    assert stored(db) == {"N": str(int(SECONDS) + 3600)}
    db.update(ADA, {"expires": None})
    assert stored(db) is None


def test_conditions_compare_numbers(db: sk.Session) -> None:
    db.put(Customer(customer="ada", expires=THEN))
    assert db.count(ADA, where={"expires": THEN}) == 1
    assert db.count(ADA, where=sk.F(Customer.expires) > THEN) == 0
    assert db.count(ADA, where=sk.F(Customer.expires) > THEN - timedelta(seconds=1)) == 1
    assert not db.put(Customer(customer="ada", expires=THEN), newer_by="expires")
    assert db.put(Customer(customer="ada", expires=THEN + timedelta(seconds=1)), newer_by="expires")


# Rows of a program that stored text, this one's earlier version or another's.
def test_a_stored_text_is_an_error_that_an_audit_repairs(db: sk.Session) -> None:
    db.put(Customer(customer="ada", name="Ada"))
    db.client.update_item(
        TableName="shop",
        Key=ADA.key(),
        UpdateExpression="SET expires = :e",
        ExpressionAttributeValues={":e": {"S": "2036-08-24T12:30:00.000000Z"}},
    )
    said = (
        r"Customer\.expires: '2036-08-24T12:30:00\.000000Z' is not in the form .* a datetime without sk\.epoch reads it"
    )
    for read in (lambda: db.get(ADA), lambda: list(db.iterate(ADA))):
        with pytest.raises(sk.DecodeError, match=said):
            read()
    db.audit(SHOP, repair=True)
    assert db.get(ADA) == Customer(customer="ada", name="Ada", expires=THEN)
    assert stored(db) == {"N": SECONDS}


def test_an_expired_item_is_deleted(memory: sk.Session) -> None:
    memory.put(Customer(customer="ada", expires=datetime.now(UTC) - timedelta(minutes=1)))
    database = memory.client.database
    assert database is not None
    database.janitor.sweep()
    assert memory.get(ADA) is None


def test_seconds_are_whole_and_of_any_time_zone(memory: sk.Session) -> None:
    berlin = timezone(timedelta(hours=2))
    memory.put(Customer(customer="ada", expires=datetime(2036, 8, 24, 14, 30, 0, 999_999, tzinfo=berlin)))
    assert stored(memory) == {"N": SECONDS}
    with pytest.raises(sk.EncodeError, match=r"Customer\.expires: .* has no time zone"):
        memory.put(Customer(customer="ada", expires=datetime(2036, 8, 24)))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("number", "time"),
    [
        (SECONDS, THEN),
        ("-1", datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ],
)
def test_numbers_that_others_wrote_are_read(number: str, time: datetime) -> None:
    schema = schema_of(Customer)
    assert schema.decode(schema.encode(Customer(customer="ada")) | {"expires": {"N": number}}).expires == time


def test_milliseconds_are_an_error_that_says_so() -> None:
    schema = schema_of(Customer)
    with pytest.raises(sk.DecodeError, match="is it in milliseconds"):
        schema.decode(schema.encode(Customer(customer="ada")) | {"expires": {"N": f"{SECONDS}000"}})


class Visit(sk.Item, table=sk.Table("visits", ttl="until")):
    page: str
    until: datetime
    seen: Annotated[datetime, sk.epoch]

    key = sk.Key("PAGE#{page}", "UNTIL#{until}")
    by_seen = sk.Index("by_seen", ("page",), ("seen",))


# The fraction is not stored, so it must not be in the key either: the item that is read has the key that was written.
def test_keys_have_whole_seconds(store: str) -> None:
    moment = THEN + timedelta(milliseconds=500)
    with sk.connect(store, tables=[Visit]) as db:
        db.create_tables()
        db.put(Visit(page="home", until=moment, seen=moment))
        (found,) = db.iterate(Visit.key(page="home"))
        assert found == Visit(page="home", until=THEN, seen=THEN)
        assert db.get(found.key) == found
        assert db.get(Visit.key(page="home", until=moment)) == found
        assert list(db.iterate(Visit.key(page="home").between(THEN, THEN))) == [found]
        assert list(db.iterate(Visit.by_seen(page="home").after(THEN - timedelta(seconds=1)))) == [found]
        assert db.update(found.key, {"seen": THEN + timedelta(days=1)}).seen == THEN + timedelta(days=1)
        assert list(db.iterate(Visit.by_seen(page="home").before(THEN + timedelta(days=1)))) == []
        db.delete(found.key)
        assert list(db.iterate(Visit.key(page="home"))) == []


def test_a_ttl_that_names_no_field_is_rejected() -> None:
    table = sk.Table("sessions-without-ttl", ttl="expires")

    class Login(sk.Item, table=table):
        user: str
        expired: int = 0
        key = sk.Key("{user}")

    with pytest.raises(sk.DeclarationError, match="ttl='expires' is not a field; did you mean 'expired'"):
        sk.connect("memory:", tables=[Login])


def test_another_type_is_rejected_at_import() -> None:
    with pytest.raises(
        sk.DeclarationError, match=r"Login\.expires, the TTL of table logins, must be a datetime, or an int"
    ):

        class Login(sk.Item, table=sk.Table("logins", ttl="expires")):
            user: str
            expires: str
            key = sk.Key("{user}")

    with pytest.raises(sk.DeclarationError, match=r"Visitor\.expires, .* is in_key, so it is not an attribute"):

        class Visitor(sk.Item, table=sk.Table("visitors", ttl="expires")):
            expires: Annotated[int, sk.in_key]
            key = sk.Key("AT#{expires}")


# The name is the field's; the attribute follows from it.
def test_a_renamed_field() -> None:
    table = sk.Table("renamed-ttl", ttl="expires")

    class Login(sk.Item, table=table):
        user: str
        expires: datetime = sk.field(name="exp")
        key = sk.Key("{user}")

    with sk.connect("memory:", tables=[Login]) as db:
        db.create_tables()
        described = db.client.describe_time_to_live(TableName="renamed-ttl")["TimeToLiveDescription"]
        assert described["AttributeName"] == "exp"
        assert db.diff_tables() == []
        db.put(Login(user="ada", expires=THEN))
        assert db.client.get_item(TableName="renamed-ttl", Key={"pk": {"S": "ada"}})["Item"]["exp"] == {"N": SECONDS}

    with pytest.raises(sk.DeclarationError, match="all classes of a table must have the same TTL attribute"):

        class Token(sk.Item, table=table):
            token: str
            expires: int
            key = sk.Key("TOKEN#{token}")


def test_only_a_datetime_can_be_marked() -> None:
    with pytest.raises(sk.DeclarationError, match=r"Odd\.day: only a datetime can be stored as seconds"):

        class Odd(sk.Item):
            day: Annotated[int, sk.epoch]


def test_the_shop_expires_by_its_customers() -> None:
    assert SHOP.ttl_attribute == "expires"
