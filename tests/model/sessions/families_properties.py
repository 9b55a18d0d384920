"""Any sequence of writes through any class of a family leaves what a dict of items would hold, in every index."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk

KENNEL = sk.Table("kennel")


class Pet(sk.Item, table=KENNEL, tag=True):
    name: str
    age: int = 0
    key = sk.Key("PETS", "PET#{name}")
    by_age = sk.Index("gsi1", "AGE", "{age:02}#{name}")


class Hound(Pet):
    breed: str | None = None
    by_breed = sk.Index("gsi2", "BREED#{breed}", "{age:02}#{name}")


class Pup(Hound, tag="pup"):
    weeks: int = 0


class Kitty(Pet, tag="kitty"):
    indoor: bool = True


CLASSES: tuple[type[Any], ...] = (Pet, Hound, Pup, Kitty)
names = st.sampled_from("ab")
ages = st.integers(0, 9)
pets = (
    st.builds(Pet, name=names, age=ages)
    | st.builds(Hound, name=names, age=ages, breed=st.sampled_from([None, "collie", "pug"]))
    | st.builds(Pup, name=names, age=ages, breed=st.just("pug"), weeks=ages)
    | st.builds(Kitty, name=names, age=ages, indoor=st.booleans())
)
writes = (
    st.tuples(st.just("put"), pets)
    | st.tuples(st.just("create"), pets)
    | st.tuples(st.sampled_from(["update", "upsert"]), st.sampled_from(CLASSES), names, ages)
    | st.tuples(st.just("delete"), st.sampled_from(CLASSES), names)
)


def expected(items: dict[str, Any], write: tuple[Any, ...]) -> str:
    """Applies a write to the dict; returns what the session does."""
    match write:
        case ("put", pet):
            items[pet.name] = pet
        case ("create", pet):
            if pet.name in items:
                return "False"
            items[pet.name] = pet
        case ("delete", cls, name):
            if not isinstance(items.get(name, cls(name="x")), cls):
                return "ConditionFailed"
            items.pop(name, None)
        case (kind, cls, name, age):
            if name not in items and kind == "update":
                return "ItemMissing"
            old = items.get(name, cls(name=name))
            if not isinstance(old, cls):
                return "ConditionFailed"
            items[name] = sk.replace(old, age=age)
    return "done"


def carried_out(db: sk.Session, write: tuple[Any, ...]) -> str:
    try:
        match write:
            case ("put", pet):
                db.put(pet)
            case ("create", pet):
                return "done" if db.put(pet, if_absent=True) else "False"
            case ("delete", cls, name):
                db.delete(cls.key(name=name))
            case (kind, cls, name, age):
                getattr(db, kind)(cls.key(name=name), {"age": age})
    except sk.ConditionFailed as error:
        return type(error).__name__
    return "done"


@given(st.lists(writes, max_size=12))
def test_writes_agree_with_a_dict(sequence: list[tuple[Any, ...]]) -> None:
    items: dict[str, Any] = {}
    with sk.connect("memory:", tables=[KENNEL]) as db:
        db.create_tables()
        for write in sequence:
            assert carried_out(db, write) == expected(items, write)
        in_order = [items[name] for name in sorted(items)]
        for cls in CLASSES:
            own = [item for item in in_order if isinstance(item, cls)]
            assert list(db.iterate(cls.key())) == own
            assert db.count(cls.key()) == len(own)
            assert list(db.iterate(cls.by_age())) == sorted(own, key=lambda item: (item.age, item.name))
            assert [db.get(cls.key(name=name)) for name in "ab"] == [
                item if isinstance(item := items.get(name), cls) else None for name in "ab"
            ]
        for breed in ("collie", "pug"):
            bred = [item for item in in_order if isinstance(item, Hound) and item.breed == breed]
            assert list(db.iterate(Hound.by_breed(breed=breed))) == sorted(bred, key=lambda item: (item.age, item.name))
