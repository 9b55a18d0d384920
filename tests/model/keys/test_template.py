"""Templates: what they may look like, what they build, and which of them could build the same."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import pytest

from sortkey.model.errors import DeclarationError, KeyPartError
from sortkey.model.fields.annotation import Annotation
from sortkey.model.keys.collision import may_collide
from sortkey.model.keys.template import Template, parse_template

TYPES: dict[str, Any] = {
    "user": str,
    "game": str,
    "order": str,
    "year": int,
    "month": int,
    "day": int,
    "shard": int,
    "when": datetime,
    "kind": Literal["Base", "Swap"],
}


def template(text: str, *, partition: bool = False) -> Template:
    kinds = {name: Annotation(base, optional=False, inexact=False) for name, base in TYPES.items()}
    return Template(parse_template(text), kinds, partition=partition)


ORDERS = template("YEAR#{year:04}#MONTH#{month:02}#DAY#{day:02}#ORDER#{order}")


def test_fields_and_literals_make_a_key() -> None:
    assert ORDERS.build([2026, 8, 24, "abc123"]) == "YEAR#2026#MONTH#08#DAY#24#ORDER#abc123"
    assert ORDERS.parse("YEAR#2026#MONTH#08#DAY#24#ORDER#abc123") == {
        "year": 2026,
        "month": 8,
        "day": 24,
        "order": "abc123",
    }


# A prefix extends to the next field, so that it excludes as many rows as possible.
def test_a_prefix_holds_the_literals_behind_it() -> None:
    assert ORDERS.prefix([2026, 8, 24]) == "YEAR#2026#MONTH#08#DAY#24#ORDER#"
    assert ORDERS.prefix([]) == "YEAR#"


def test_a_range_of_months() -> None:
    assert ORDERS.between([2026], 1, 6) == ("YEAR#2026#MONTH#01", "YEAR#2026#MONTH#06$")


def test_constants() -> None:
    assert template("PROFILE").build([]) == "PROFILE"
    assert template("PROFILE").parse("PROFILE") == {}
    assert template("PROFILE").parse("OTHER") is None


def test_empty_parts_are_values_and_an_empty_key_is_none() -> None:
    assert template("{user}#{order}").parse("#") == {"user": "", "order": ""}
    with pytest.raises(KeyPartError, match="user: the key attribute would be empty"):
        template("{user}").build([""])


@pytest.mark.parametrize("text", ["YEAR#26#", "YEAR#2026#MONTH#08#DAY#24#ORDER#a#b", "", "year#2026"])
def test_other_keys_do_not_parse(text: str) -> None:
    assert ORDERS.parse(text) is None


# b07 has the shape of a number, but no number is written so.
def test_texts_that_no_value_has_do_not_parse() -> None:
    assert template("{year}").parse("b07") is None


# A partition key is not sorted, so a shard may follow a string.
def test_a_literal_behind_text_is_for_partitions() -> None:
    sharded = template("GAME#{game}-SHARD#{shard}", partition=True)
    assert sharded.build(["a-SHARD", 3]) == "GAME#a-SHARD-SHARD#a3"
    assert sharded.parse("GAME#a-SHARD-SHARD#a3") == {"game": "a-SHARD", "shard": 3}
    with pytest.raises(DeclarationError, match=r"would not sort by \{game\}; put a # after it"):
        template("GAME#{game}-SHARD#{shard}")


def test_numbers_may_share_a_segment() -> None:
    assert template("{year:04}-{month:02}-{day:02}").build([2026, 8, 4]) == "2026-08-04"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("{user", "expected '}'"),
        ("{}", "is not a field name"),
        ("{user!r}", "is not a format; a format follows a colon"),
        ("{user.name}", "is not a field name"),
        ("{user}#{user}", "contains user twice; only parts of a time can"),
        ("{year:04}{month:02}", "needs a literal after it"),
    ],
)
def test_templates_that_say_nothing_clear_are_rejected(text: str, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        template(text)


@pytest.mark.parametrize(
    ("one", "other", "collide"),
    [
        ("USER#{user}", "USER#{order}", True),
        ("USER#{user}", "ORDER#{order}", False),
        ("USER#{user}", "USER#PROFILE", True),
        ("USER#{user}", "USER", False),
        ("{user}#{order}", "{user}", False),
        ("{user}", "PROFILE", True),
        ("{year:04}", "PROFILE", False),
        ("{when}", "PROFILE", False),
        ("{kind}#{user}", "CHANGE#{user}", False),
        ("{kind}#{user}", "Base#{user}", True),
        ("A-{year}", "B-{year}", False),
        ("A-{year}", "A{user}", True),
        ("{year}-A", "{year}-B", False),
    ],
)
def test_collisions(one: str, other: str, collide: bool) -> None:
    assert may_collide(template(one), template(other)) is collide
    assert may_collide(template(other), template(one)) is collide
