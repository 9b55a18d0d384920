"""Classes with one key, told apart by a tag: scans, deletes of many items, and rows from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.maintenance.delete_all import DeleteAll, DeleteOptions

ADA = "ada"
ZOO = sk.Table("maintained-zoo")


class Animal(sk.Item, table=ZOO, tag=True):
    owner: str
    name: str
    age: int = 0

    key = sk.Key("OWNER#{owner}", "PET#{name}")
    by_age = sk.Index("gsi1", "OWNER#{owner}", "AGE#{age:03}#{name}")


class Dog(Animal):
    breed: str | None = None


class Puppy(Dog, tag="pup"):
    weeks: int = 0


class Cat(Animal, tag="cat"):
    indoor: bool = True


class Shop(sk.Item, table=ZOO):
    owner: str
    key = sk.Key("OWNER#{owner}", "SHOP")


REX = Dog(owner=ADA, name="rex", breed="collie", age=3)
TOM = Cat(owner=ADA, name="tom")
PIP = Puppy(owner=ADA, name="pip", breed="collie", weeks=9)
ANY = Animal(owner=ADA, name="axolotl")
SHOP = Shop(owner=ADA)


@pytest.fixture
def zoo(store: str) -> Iterator[sk.Session]:
    with sk.connect(store, tables=[ZOO]) as session:
        session.create_tables()
        session.batch(put=[REX, TOM, PIP, ANY, SHOP])
        yield session


def shown(items: Any) -> list[str]:
    return sorted(map(repr, items))


def test_scans_give_a_class_and_its_subclasses(zoo: sk.Session) -> None:
    assert shown(zoo.scan(Animal)) == shown([REX, TOM, PIP, ANY])
    assert shown(zoo.scan(Dog, segments=2)) == shown([REX, PIP])
    assert shown(zoo.scan(Puppy)) == shown([PIP])
    assert shown(zoo.scan(ZOO)) == shown([REX, TOM, PIP, ANY, SHOP])
    assert shown(zoo.scan(Dog, where={"breed": "collie", "age": 3})) == shown([REX])
    assert zoo.meter.reading("scan Dog").rows_unrecognised == 0


def test_deletes_take_a_class_and_its_subclasses(zoo: sk.Session) -> None:
    assert zoo.delete_all(Dog.key(owner=ADA)).items == 2
    assert shown(zoo.scan(ZOO, consistent=True)) == shown([TOM, ANY, SHOP])
    assert zoo.delete_all(Cat, scan=True).items == 1
    assert zoo.delete_all(Animal.key(owner=ADA)).items == 1
    assert shown(zoo.scan(ZOO, consistent=True)) == shown([SHOP])


# Under one key, an item may be replaced by one of another class.
@pytest.mark.parametrize(("found", "options"), [(Dog.key(owner=ADA), {}), (Dog, {"scan": True})])
def test_a_delete_keeps_what_has_become_another_class(zoo: sk.Session, found: Any, options: Any) -> None:
    work = DeleteAll(zoo._context, found, None, DeleteOptions(**options))
    more = zoo._run(work.part())
    cat = Cat(owner=ADA, name="rex")
    zoo.put(cat)
    while more:
        more = zoo._run(work.part())
    assert (work.result.items, work.result.kept) == (1, 1)
    assert shown(zoo.scan(ZOO, consistent=True)) == shown([cat, TOM, ANY, SHOP])


@pytest.mark.parametrize("transaction", [False, True])
def test_get_many_gives_what_each_path_is_of(zoo: sk.Session, transaction: bool) -> None:
    rex = {"owner": ADA, "name": "rex"}
    paths: list[sk.AccessPath[Any]] = [Dog.key(**rex), Cat.key(**rex), Animal.key(**rex), Puppy.key(**rex), SHOP.key]
    assert zoo.get_many(paths, transaction=transaction) == [REX, None, REX, None, SHOP]
    assert zoo.get_many(paths[1:2], transaction=transaction) == [None]
    assert zoo.get_many(paths[2:3], transaction=transaction) == [REX]


def test_only_some_fields(zoo: sk.Session) -> None:
    rex = {"owner": ADA, "name": "rex"}
    found = zoo.get(Animal.key(**rex), only=["age"])
    assert isinstance(found, Dog)
    assert found.age == 3
    with pytest.raises(sk.PartialItem):
        _ = found.breed
    dog = zoo.get(Dog.key(**rex), only=["breed"])
    assert dog is not None
    assert dog.breed == "collie"
    assert zoo.get(Cat.key(**rex), only=["age"]) is None
    assert [(type(each).__name__, each.name) for each in zoo.iterate(Dog.key(owner=ADA), only=["age"])] == [
        ("Puppy", "pip"),
        ("Dog", "rex"),
    ]
    assert [each.age for each in zoo.page(Animal.by_age(owner=ADA), only=["age"])] == [0, 0, 0, 3]
    assert zoo.whole([found]) == [REX]
    # The classes of partial items are not classes of the table.
    assert type(zoo.get(Animal.key(**rex))) is Dog
    assert len(ZOO.schemas) == 5


def test_rows_from_elsewhere(zoo: sk.Session) -> None:
    rows = {row["sk"]["S"]: row for row in zoo.scan_rows(ZOO)}
    rex, pip = rows["PET#rex"], rows["PET#pip"]
    assert sk.read(rex, ZOO) == sk.read(rex, Animal) == sk.read(rex, Dog) == REX
    assert sk.read(pip, Dog) == PIP
    with pytest.raises(sk.DecodeError, match="it is of the class Dog, not Cat"):
        sk.read(rex, Cat)
    with pytest.raises(sk.DecodeError, match=r"sk='PET#rex' cannot be read: .*not the tag of a class"):
        sk.read({**rex, "type": {"S": "Emu"}}, ZOO)
