"""The short way from combinations of values to keys, beside the long one: key by key."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from hypothesis import given, strategies

import sortkey as sk
from sortkey.model.errors import KeyPartError
from sortkey.model.items.key import BoundKey

SHELF = sk.Table("shelf")


class Stored(sk.Item, table=SHELF):
    store: str
    channel: Literal["ALL", "WEB"]
    number: int
    since: datetime

    key = sk.Key("STORE#{store}#{channel}", "P#{number}#{since}")


class Own(sk.Item, table=sk.Table("own")):
    """Its sort key is the field's own attribute."""

    tenant: str
    partner: str

    key = sk.Key("{tenant}", "{partner}", names=("pk", "partner"))


class Constant(sk.Item, table=sk.Table("constant")):
    name: str

    key = sk.Key("CONSTANT", "{name}")


class Repeated(sk.Item, table=sk.Table("repeated")):
    """Both halves of the key hold one of the fields."""

    tenant: str
    name: str

    key = sk.Key("{tenant}", "{tenant}#{name}")


texts = strategies.text(max_size=4) | strategies.sampled_from(["a", "b#c", ""])
VALUES: dict[str, strategies.SearchStrategy[Any]] = {
    "store": texts,
    "channel": strategies.sampled_from(["ALL", "WEB", "SHOP"]),
    "number": strategies.integers(-5, 5),
    "since": strategies.datetimes(timezones=strategies.timezones()),
    "tenant": texts,
    "partner": texts | strategies.integers(),
    "name": texts,
}


@strategies.composite
def asked(draw: strategies.DrawFn) -> tuple[BoundKey[Any], dict[str, Any]]:
    key: BoundKey[Any] = draw(strategies.sampled_from([Stored.key, Own.key, Constant.key, Repeated.key]))
    names = list(key.layout.fields)
    if draw(strategies.integers(0, 4)) == 0:
        names = draw(strategies.permutations(names))
    values = {name: draw(strategies.lists(VALUES[name], max_size=3) | VALUES[name]) for name in names}
    return key, values


def pairs_or_error(key: BoundKey[Any], wanted: Any) -> list[tuple[str, str]] | str | None:
    try:
        pairs = key.layout.text_keys(wanted)
        return None if pairs is None else list(pairs)
    except KeyPartError as error:
        return str(error)


@given(asked=asked())
def test_combinations_make_the_keys_that_their_fields_make(asked: tuple[BoundKey[Any], dict[str, Any]]) -> None:
    key, fields = asked
    keys = sk.each(**fields)
    short, long = pairs_or_error(key, keys), pairs_or_error(key, list(keys))
    if isinstance(long, str):
        # Which of several bad values is named depends on the order in which they are looked at.
        assert isinstance(short, str)
    elif keys:
        assert short == long
