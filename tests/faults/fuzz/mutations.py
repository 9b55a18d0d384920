"""Changes to a request's JSON, each at a random place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from tests.faults.fuzz import values
from tests.faults.fuzz.json_text import Json, Raw, Spot, clone, encode, spots

Mutation = Callable[[Random, Spot, Sequence[Json]], None]

TOKENS: Final = (
    *("NOT ", "not ", "(", ")", " AND ", " OR ", ", ", " = ", " <> ", " < ", " BETWEEN ", " IN (", " + ", " - ", "."),
    *("size(", "attribute_exists(", "attribute_type(", "contains(", "begins_with(", "list_append(", "if_not_exists("),
    *("SET ", "REMOVE ", "ADD ", "DELETE ", ":v", ":w", "#n", "#", ":", "pk", "[0]", "[-1]", "[99999999999999999999]"),
    *("é", "\0", "0", "'x'", '"', "\n", "a" * 300),
)
TOKEN: Final = re.compile(r"[\w#:]+|[^\w\s]")
NESTS: Final = (
    *(
        ("NOT ", ""),
        ("(", ")"),
        ("", ".a"),
        ("", "[0]"),
        ("size(", ")"),
        ("(NOT ", ")"),
        ("", " + :v"),
        ("", " AND pk = :v"),
    ),
    *(
        ("list_append(basket, ", ")"),
        ("if_not_exists(x, ", ")"),
        ("", ", pk"),
        ("NOT (pk = :v OR ", ")"),
        ("", " OR :v = :v"),
    ),
)
"""What can be around a part of an expression, many times over."""
REPEATS: Final = (1, 1, 1, 2, 5, 31, 151, 301, 980, 2000)
CHANGES: Final = (1, 1, 1, 1, 2, 2, 3, 6)
EXPRESSION_BYTES: Final = 4096
"""DynamoDB's limit. What is deeper than this allows is rejected before it is read."""
LARGEST: Final = 1 << 19
"""Bytes of a body. Larger ones are possible, but say little more and take longer. No change adds more than this: a few
that multiply, one after the other, would fill the memory."""


def mutated(random: Random, tree: Json, donors: Sequence[Json]) -> Json:
    """The tree with a few changes. `donors` are other trees, to take parts from."""
    root = [clone(tree)]
    for _ in range(random.choice(CHANGES)):
        places = list(spots(root))
        if not places:
            break
        expressions = [spot for spot in places if str(spot.key).endswith("Expression")]
        if expressions and random.random() < 0.3:
            _edit_expression(random, random.choice(expressions))
        else:
            random.choice(MUTATIONS)(random, random.choice(places), donors)
    if not root:
        return {}
    return root[0] if len(encode(root[0])) <= LARGEST else clone(tree)


def _replace(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    spot.put(values.any_value(random))


def _replace_alike(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    """Keeps the type, so that the request gets further."""
    value = spot.get()
    if isinstance(value, bool):
        spot.put(not value)
    elif isinstance(value, str | Raw):
        spot.put(values.text(random))
    elif isinstance(value, int | float):
        spot.put(values.number(random))
    elif isinstance(value, dict) and len(value) == 1 and next(iter(value)) in values.TAGS:
        spot.put(values.attribute_value(random))
    else:
        spot.put(values.container(random))


def _remove(_: Random, spot: Spot, __: Sequence[Json]) -> None:
    del spot.container[spot.key]


def _rename(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    if isinstance(spot.container, dict):
        value = spot.container.pop(spot.key)
        spot.container[random.choice((*values.NAMES, spot.key.lower(), spot.key + "s"))] = value


def _add(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    if isinstance(spot.container, dict):
        spot.container[random.choice(values.NAMES)] = values.any_value(random)
    else:
        spot.container.insert(spot.key, values.any_value(random))


def _repeat(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    times = min(random.choice((1, 2, 9, 24, 25, 99, 100, 101)), LARGEST // len(encode(spot.get())))
    if isinstance(spot.container, list):
        spot.container.extend([clone(spot.get()) for _ in range(times)])
    else:
        for number in range(times):
            spot.container[f"{spot.key}{number}"] = clone(spot.get())


def _twice(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    """The same member twice in one object."""
    if isinstance(spot.container, dict) and isinstance(spot.get(), dict) and spot.get():
        name, value = random.choice(list(spot.get().items()))
        rest = encode(spot.get())[1:]
        spot.put(
            Raw(b"{" + encode(name) + b":" + encode(random.choice((value, values.any_value(random)))) + b"," + rest)
        )


def _transplant(random: Random, spot: Spot, donors: Sequence[Json]) -> None:
    """A part of another request."""
    spot.put(clone(random.choice(list(spots(random.choice(donors)))).get()))


def _edit_text(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    text = spot.get()
    if not isinstance(text, str):
        return
    start = random.randrange(len(text) + 1)
    end = min(len(text), start + random.choice((0, 0, 1, 3, 10)))
    spot.put(text[:start] + random.choice(TOKENS) * random.choice(REPEATS) + text[end:])


def _edit_expression(random: Random, spot: Spot) -> None:
    """Nest a part of it, repeat it, or put tokens between its tokens."""
    text = spot.get()
    if not isinstance(text, str):
        return
    places = [match.start() for match in TOKEN.finditer(text)] or [0]
    start = random.choice((0, random.choice(places)))
    times = random.choice(REPEATS)
    before, after = random.choice(NESTS)
    end = len(text) if start == 0 else start + len(text[start:].partition(" ")[0])
    inserted = random.choice((before * times + text[start:end] + after * times, random.choice(TOKENS) * times))
    spot.put(text[:start] + inserted + text[end:])


def nest_expression(random: Random, tree: Json) -> bool:
    """Put one thing around a whole expression, as often as the limit on its size allows; the rest is kept.

    Returns whether there is an expression.
    """
    expressions = [spot for spot in spots(tree) if str(spot.key).endswith("Expression")]
    if not expressions:
        return False
    spot = random.choice(expressions)
    text = random.choice((spot.get(), "a<b", "pk = :v", "a"))
    before, after = random.choice(NESTS)
    times = (EXPRESSION_BYTES - len(text)) // len(before + after) - random.choice((0, 0, 1, 100, 500))
    spot.put(before * times + text + after * times)
    return True


def _join_text(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    text = spot.get()
    if isinstance(text, str):
        times = min(random.choice(REPEATS), LARGEST // max(len(text), 1))
        spot.put(random.choice((" AND ", " OR ", ", ", " ", "")).join([text] * max(times, 1)))


def _cut_text(random: Random, spot: Spot, _: Sequence[Json]) -> None:
    text = spot.get()
    if isinstance(text, str) and text:
        spot.put(text[: random.randrange(len(text))])


MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(_replace, _replace, _replace_alike, _replace_alike, _replace_alike),
    *(_remove, _rename, _add, _repeat, _twice, _transplant, _transplant),
    *(_edit_text, _edit_text, _edit_text, _join_text, _cut_text),
)


def damaged(random: Random, body: bytes) -> bytes:
    """The bytes with some of them changed, dropped or doubled, so that they may not be JSON any more."""
    data = bytearray(body)
    for _ in range(random.choice((1, 1, 2, 5))):
        start = random.randrange(len(data) + 1)
        part = data[start : start + random.choice((0, 1, 1, 4, 40))]
        data[start : start + len(part)] = random.choice((b"", part + part, random.randbytes(len(part) + 1)))
    return bytes(data)
