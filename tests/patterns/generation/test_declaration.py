"""Declarations of generations: the mistakes that are rejected at import."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

import sortkey as sk
from tests.patterns.generation.persons import PEOPLE, Person


class Numbered(sk.Item, table=sk.Table("numbered-generations")):
    generation: int
    person: str
    key = sk.Key("{generation}#{person}")


class Sorted(sk.Item, table=sk.Table("sorted-generations")):
    generation: str
    person: str
    key = sk.Key("{person}", "{generation}")


class Mixed(sk.Item, table=sk.Table("mixed-generations")):
    generation: str
    person: str
    city: str
    key = sk.Key("{generation}#{person}")
    by_city = sk.Index("by-city", "{city}", "{person}")


class Tagged(sk.Item, table=sk.Table("tagged-generations"), tag=True):
    generation: str
    person: str
    key = sk.Key("{generation}#{person}")


class Counting(sk.Item, table=sk.Table("counting-generations")):
    generation: str = ""
    id: str
    revision: Annotated[int, sk.version] = 0
    key = sk.Key("G#{generation}#{id}")


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (Person, {"field": "generatoin"}, r"Person has no field 'generatoin'; did you mean 'generation'\?"),
        (Numbered, {}, "Numbered.generation must be a text, since loads set it"),
        (Sorted, {}, r"the partition key of Sorted.key lacks \{generation\}, so it would mix generations"),
        (Mixed, {}, r"the partition key of Mixed.by_city lacks \{generation\}"),
        (Tagged, {}, "Tagged has a tag; old generations are deleted by their keys alone"),
        (Counting, {}, r"Counting.revision: loads do not count the writes of items"),
        (Person, {"keep": -1}, "keep is the number of generations that are kept for rollbacks, not -1"),
    ],
)
def test_mistakes_are_rejected_at_import(cls: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.DeclarationError, match=message):
        sk.patterns.generations(cls, **options)


def test_the_pointer_is_named_after_the_table_and_the_class() -> None:
    assert PEOPLE.name == "generation-persons.Person"
    assert sk.patterns.generations(Person, name="people").name == "people"
