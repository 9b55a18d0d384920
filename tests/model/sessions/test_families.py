"""Classes with one key, told apart by a tag: reads give the right class, and writes leave items of others alone."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

import sortkey as sk
from sortkey.model.items.item import schema_of
from tests.stores import needs

ZOO = sk.Table("zoo", transactions=True)


class Animal(sk.Item, table=ZOO, tag=True):
    owner: str
    name: str
    age: int = 0

    key = sk.Key("OWNER#{owner}", "PET#{name}")
    by_age = sk.Index("gsi1", "OWNER#{owner}", "AGE#{age:03}#{name}")


class Dog(Animal):
    breed: str | None = None

    by_breed = sk.Index("gsi2", "BREED#{breed}", "{age:03}#{owner}#{name}")


class Puppy(Dog, tag="pup"):
    weeks: int = 0


class Cat(Animal, tag="cat"):
    indoor: bool = True


class Shop(sk.Item, table=ZOO):
    owner: str
    key = sk.Key("OWNER#{owner}", "SHOP")


REX = Dog(owner="ada", name="rex", breed="collie", age=3)
TOM = Cat(owner="ada", name="tom")
PIP = Puppy(owner="ada", name="pip", breed="collie", weeks=9)
ANY = Animal(owner="ada", name="axolotl")


@pytest.fixture
def zoo(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[ZOO]) as session:
        session.create_tables()
        session.batch(put=[REX, TOM, PIP, ANY, Shop(owner="ada")])
        yield session


def animal(item: Animal) -> sk.AccessPath[Animal]:
    return Animal.key(owner=item.owner, name=item.name)


def row_of(zoo: sk.Session, item: Animal) -> dict[str, Any]:
    row: dict[str, Any] = zoo.client.get_item(TableName="zoo", Key=animal(item).key())["Item"]
    return row


def test_the_tag_is_an_attribute_of_the_row(zoo: sk.Session) -> None:
    assert row_of(zoo, REX)["type"] == {"S": "Dog"}
    assert row_of(zoo, PIP)["type"] == {"S": "pup"}
    found = zoo.get(REX.key)
    assert found is not None
    assert sk.extra(found) == {}


def test_a_path_gives_the_items_of_the_class_and_of_its_subclasses(zoo: sk.Session) -> None:
    assert list(zoo.iterate(Animal.key(owner="ada"))) == [ANY, PIP, REX, TOM]
    assert list(zoo.iterate(Dog.key(owner="ada"))) == [PIP, REX]
    assert zoo.page(Cat.key(owner="ada")).items == [TOM]
    assert list(zoo.iterate(Animal.by_age(owner="ada").after(0))) == [REX]
    assert list(zoo.iterate(Dog.by_breed(breed="collie"))) == [PIP, REX]
    assert [type(each) for each in zoo.iterate(sk.collection(Shop.key, owner="ada"))] == [Animal, Puppy, Dog, Cat, Shop]


def test_counts_agree(zoo: sk.Session) -> None:
    assert [zoo.count(cls.key(owner="ada")) for cls in (Animal, Dog, Puppy, Cat)] == [4, 2, 1, 1]
    assert zoo.count(Dog.key(owner="ada"), where={"age": 3}) == 1
    assert zoo.meter.reading("Cat.key").rows_unrecognised == 0


def test_an_exact_key_gives_the_item_only_to_its_class(zoo: sk.Session) -> None:
    assert zoo.get(animal(REX)) == REX
    assert zoo.get(Dog.key(owner="ada", name="pip")) == PIP
    assert zoo.get(Cat.key(owner="ada", name="rex")) is None
    names = [{"owner": "ada", "name": name} for name in ("rex", "tom", "nobody")]
    assert zoo.lookup(Animal.key, names) == [REX, TOM, None]
    assert zoo.lookup(Cat.key, names) == [None, TOM, None]
    paths = [Dog.key(owner="ada", name="rex"), Cat.key(owner="ada", name="rex"), animal(TOM)]
    assert zoo.get_many(paths) == [REX, None, TOM]


# The subclass has an index that the base class does not know.
def test_an_update_through_the_base_class_keeps_the_indexes_of_the_subclass(zoo: sk.Session) -> None:
    changed = zoo.update(animal(REX), {"age": 7})
    assert changed == sk.replace(REX, age=7)
    assert row_of(zoo, REX)["gsi2sk"] == {"S": "007#ada#rex"}
    assert [each.age for each in zoo.iterate(Dog.by_breed(breed="collie"), descending=True)] == [7, 0]
    assert zoo.update(animal(ANY), [sk.F(Dog.age).add(1)], where={"age": 0}).age == 1
    with pytest.raises(sk.ConditionFailed):
        zoo.update(animal(REX), {"age": 8}, where={"age": 3})


@pytest.mark.parametrize("write", ["update", "upsert", "delete"])
def test_a_write_leaves_an_item_of_another_class_alone(zoo: sk.Session, write: str) -> None:
    rex = Cat.key(owner="ada", name="rex")
    arguments = () if write == "delete" else ({"age": 1},)
    with pytest.raises(sk.ConditionFailed, match=r"Cat.key\(.*name='rex'\): the stored item is a Dog") as found:
        getattr(zoo, write)(rex, *arguments)
    assert found.value.item == REX
    assert zoo.get(animal(REX)) == REX


# The index of the dogs needs the breed, so this update reads the item first.
def test_an_update_that_reads_first_leaves_an_item_of_another_class_alone(zoo: sk.Session) -> None:
    with pytest.raises(sk.ConditionFailed, match="the stored item is a Cat"):
        zoo.update(Dog.key(owner="ada", name="tom"), {"age": 1})
    assert zoo.get(animal(TOM)) == TOM


def test_scans_and_the_deletion_of_a_class(zoo: sk.Session) -> None:
    assert sorted(each.name for each in zoo.scan(Animal)) == ["axolotl", "pip", "rex", "tom"]
    assert sorted(each.name for each in zoo.scan(Dog)) == ["pip", "rex"]
    zoo.delete_all(Dog.key(owner="ada"))
    assert list(zoo.iterate(Animal.key(owner="ada"))) == [ANY, TOM]


def test_deletes(zoo: sk.Session) -> None:
    assert zoo.delete(Dog.key(owner="ada", name="pip")) == PIP
    assert zoo.delete(Dog.key(owner="ada", name="pip")) is None
    assert zoo.delete(animal(TOM), where={"age": 0}) == TOM
    with pytest.raises(sk.ConditionFailed):
        zoo.delete(Dog.key(owner="ada", name="rex"), where={"age": 9})
    assert zoo.delete(Dog.key(owner="ada", name="rex"), where={"age": 3}) == REX


# One key is one animal, whatever its class.
def test_a_put_replaces_an_item_of_another_class(zoo: sk.Session) -> None:
    assert not zoo.put(Cat(owner="ada", name="rex"), if_absent=True)
    cat = Cat(owner="ada", name="rex")
    zoo.put(cat)
    assert zoo.get(animal(REX)) == cat
    assert list(zoo.iterate(Dog.by_breed(breed="collie"))) == [PIP]


def test_transactions(zoo: sk.Session) -> None:
    needs(zoo.capabilities, "transactions")
    sale = sk.Transaction()
    sale.update(animal(REX), {"age": 9})
    sale.delete(Cat.key(owner="ada", name="tom"))
    sale.check(Dog.key(owner="ada", name="pip"), where={"age": 0})
    zoo.transact(sale)
    assert zoo.get(animal(REX)) == sk.replace(REX, age=9)
    assert row_of(zoo, REX)["gsi2sk"] == {"S": "009#ada#rex"}
    wrong = sk.Transaction()
    wrong.delete(Cat.key(owner="ada", name="pip"))
    with pytest.raises(sk.TransactionFailed):
        zoo.transact(wrong)


@pytest.mark.parametrize("tag", [{"S": "Bird"}, {"N": "1"}, None])
def test_a_row_with_an_unknown_tag_cannot_be_decoded(zoo: sk.Session, tag: Any) -> None:
    row = {name: value for name, value in row_of(zoo, REX).items() if name != "type"}
    zoo.client.put_item(TableName="zoo", Item=row if tag is None else {**row, "type": tag})
    reason = "no type, which says what class it is of" if tag is None else ".* as type, which is not the tag of a class"
    with pytest.raises(sk.DecodeError, match=f"a row of Animal has {reason}"):
        zoo.get(animal(REX))
    with pytest.raises(sk.DecodeError, match="pk='OWNER#ada', sk='PET#rex'"):
        list(zoo.iterate(Animal.key(owner="ada")))
    assert list(zoo.iterate(Animal.key(owner="ada"), undecodable="skip")) == [ANY, PIP, TOM]
    assert list(zoo.iterate(Cat.key(owner="ada"))) == [TOM]


def test_an_index_with_a_part_of_the_items_projects_the_tag() -> None:
    table = sk.Table("zoo-parts")

    class Part(sk.Item, table=table, tag=True):
        id: str
        kind: str
        note: str = ""
        key = sk.Key("PART#{id}")
        by_kind = sk.Index("gsi1", "KIND#{kind}", projection=("kind",))

    class Bolt(Part):
        length: int = 0

    with sk.connect("memory:", tables=[table]) as session:
        session.create_tables()
        session.put(Bolt(id="1", kind="m4", length=9))
        (bolt,) = session.iterate(Part.by_kind(kind="m4"))
        assert isinstance(bolt, Bolt)
        assert sk.is_partial(bolt)
        assert session.whole([bolt]) == [Bolt(id="1", kind="m4", length=9)]


def egg(partition: str, sort: str, projection: Any = "ALL", **options: Any) -> None:
    """Declares a class in the same table."""
    names = {
        "__annotations__": {"a": str, "b": str},
        "key": sk.Key(partition, sort),
        "by_b": sk.Index("gsi3", "B#{b}", projection=projection),
    }
    types.new_class("Egg", (sk.Item,), {"table": ZOO, **options}, lambda body: body.update(names))


REJECTED: dict[str, tuple[Any, str]] = {
    "a subclass with the tag of its base": (lambda: types.new_class("Kitten", (Cat,)), "Kitten has the tag 'cat', as"),
    "an index without the tag": (lambda: egg("EGG#{a}", "{b}", "KEYS_ONLY", tag=True), r"Egg.by_b: KEYS_ONLY does not"),
    "a key attribute": (lambda: egg("EGG#{a}", "{b}", tag_field="sk"), "Egg: the tag_field 'sk' is a key attribute"),
    "no tag": (lambda: egg("OWNER#{a}", "PET#{b}"), "could have the same key; .* or give both a tag"),
    "another attribute": (lambda: egg("OWNER#{a}", "PET#{b}", tag_field="kind"), "could have the same key"),
}


@pytest.mark.parametrize(("make", "message"), REJECTED.values(), ids=REJECTED)
def test_what_a_tag_cannot_tell_is_rejected_at_import(make: Any, message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        make()
    assert "Egg" not in repr(ZOO)


def test_entries_need_a_class_without_a_tag() -> None:
    class Label(sk.Item):
        at: int

    class Crate(sk.Item, table="zoo-crates", tag=True):
        id: Annotated[str, sk.in_key]
        labels = sk.Entries(Label, "l:")
        key = sk.Key("CRATE#{id}")

    with sk.connect("memory:", tables=[Crate]) as session:
        session.create_tables()
        with pytest.raises(sk.Unsupported, match="Crate has a tag, so an item must be read"):
            session.put_entry(Crate.key(id="1"), Crate.labels, "a", Label(at=1), newer_by="at")


def test_upgrades_and_versions_are_of_each_class() -> None:
    table = sk.Table("zoo-versions")

    class Plan(sk.Item, table=table, tag=True):
        id: str
        note: str = ""
        key = sk.Key("PLAN#{id}")

    class Paid(Plan, version=2):
        cents: int

    @Paid.upgrade(1)
    def in_cents(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "cents": old["euros"] * 100}

    row = {"pk": {"S": "PLAN#1"}, "id": {"S": "1"}, "type": {"S": "Paid"}, "euros": {"N": "5"}}
    assert schema_of(Plan).decode(row) == Paid(id="1", cents=500)
    with sk.connect("memory:", tables=[table]) as session:
        session.create_tables()
        session.client.put_item(TableName="zoo-versions", Item=row)
        assert session.update(Plan.key(id="1"), {"note": "new"}) == Paid(id="1", note="new", cents=500)


# The path's class has no tag, and the key of a stall is not that of its base.
def test_a_count_of_a_collection_has_the_items_with_tags() -> None:
    table = sk.Table("zoo-market")

    class Booth(sk.Item, table=table, tag=True):
        market: str
        name: str
        key = sk.Key("MARKET#{market}", "BOOTH#{name}")

    class Stall(Booth):
        key = sk.Key("MARKET#{market}", "STALL#{name}")

    class Market(sk.Item, table=table):
        market: str
        key = sk.Key("MARKET#{market}", "MARKET")

    with sk.connect("memory:", tables=[table]) as session:
        session.create_tables()
        session.batch(put=[Booth(market="m", name="1"), Stall(market="m", name="2"), Market(market="m")])
        everything = sk.collection(Market.key, market="m")
        assert session.count(everything) == len(list(session.iterate(everything))) == 3
        assert session.meter.reading(everything.name).rows_unrecognised == 0
        assert list(session.iterate(Booth.key(market="m"))) == [Booth(market="m", name="1")]


# A base class of entities in several tables declares where the tag is stored.
def test_a_class_without_a_table_may_declare_the_tag() -> None:
    class Entity(sk.Item, tag_field="entity"):
        id: str

    class Plant(Entity, table=sk.Table("plants"), tag="plant"):
        key = sk.Key("{id}", names=("id",))

    with sk.connect("memory:", tables=[Plant]) as db:
        db.create_tables()
        db.put(Plant(id="1"))
        assert db.client.get_item(TableName="plants", Key={"id": {"S": "1"}})["Item"]["entity"] == {"S": "plant"}
        assert db.get(Plant.key(id="1")) == Plant(id="1")
