"""Values that break things: numbers at the bounds of types, odd text, attribute values that are almost right."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from tests.faults.fuzz.json_text import Json, Raw

NUMBERS: Final[tuple[Json, ...]] = (
    *(0, 1, -1, 2, 100, 101, 0.5, -0.0, 1e300, 1e-320, 5e-324),
    *(sign * (1 << bits) + offset for bits in (15, 31, 32, 53, 63, 64, 100) for sign in (1, -1) for offset in (-1, 0)),
    *map(Raw, (b"1E400", b"NaN", b"Infinity", b"-", b"01", b"+1", b"1e5", b"1" + b"0" * 400, b"9" * 5000, b"0.1e1")),
)
LARGE_NUMBERS: Final[tuple[Json, ...]] = (1 << 63, 1 << 64, 1 << 100, -(1 << 63) - 1, -(1 << 64), 1e300)
"""Beyond 64 bits, and where a number has them all."""
TEXTS: Final[tuple[Json, ...]] = (
    *(
        "",
        " ",
        "x",
        "\0",
        "\n",
        "\u202e",
        "é",
        "e\u0301",
        "١",
        "𝟙",
        "🙂" * 100,
        "%s{}",
        "../..",
        "null",
        "a.b[0]",
        "#",
        ":",
    ),
    *("a" * size for size in (2, 255, 256, 1024, 1025, 2049, 4097, 70_000)),
    *(
        "1e126",
        "-1e-131",
        "9" * 39,
        "NaN",
        "-Infinity",
        "+1",
        " 1",
        "1_0",
        "0x1",
        "1e999999999",
        "1" * 5000,
        "-0",
        "1.0e0",
    ),
    *("====", "AA", "AA=", "AAAA", "Ä", "A A=", "AA==\n", "-_-_"),
    *("orders", "plain", "numbers", "by_city", "by_sum", "pk", "sk", "sum", "city", "expires"),
    *map(Raw, (b'"\\ud800"', b'"\\ud800\\u0041"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b'"\xc0\x80"', b'"\\x"', b'"')),
)
NAMES: Final = (
    "pk",
    "sk",
    "sum",
    "city",
    "S",
    "N",
    "L",
    "M",
    ":v",
    "#n",
    "orders",
    "",
    "TableName",
    "a" * 70_000,
    "\0",
)
TAGS: Final = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M", "?", "s", "")
DEPTHS: Final = (2, 31, 32, 33, 34, 100, 500, 1000, 1100, 20_000)
NESTS: Final = (
    (b'{"L":[', b"]}", b'{"S":"x"}'),
    (b'{"M":{"a":', b"}}", b'{"N":"1"}'),
    (b"[", b"]", b""),
    (b'{"a":', b"}", b"1"),
)


def any_value(random: Random) -> Json:
    return random.choice((number, text, attribute_value, nested, plain, container))(random)


def number(random: Random) -> Json:
    return random.choice(NUMBERS)


def text(random: Random) -> Json:
    return random.choice(TEXTS)


def plain(random: Random) -> Json:
    return random.choice((None, True, False, {}, [], [[]], {"": {}}))


def container(random: Random) -> Json:
    if random.random() < 0.5:
        return [_leaf(random) for _ in range(random.choice((1, 2, 3, 26, 101)))]
    return {name: _leaf(random) for name in random.sample(NAMES, random.choice((1, 2, 3)))}


def _leaf(random: Random) -> Json:
    return random.choice((number, text, plain, attribute_value))(random)


def attribute_value(random: Random) -> Json:
    """An attribute value, right or almost right."""
    tag = random.choice(TAGS)
    value: dict[str, Any] = {tag: _content(random, tag)}
    if random.random() < 0.05:
        value[random.choice(TAGS)] = _leaf(random) if random.random() < 0.5 else None
    return value


def _content(random: Random, tag: str) -> Json:
    if random.random() < 0.3:
        return any_value(random)
    if tag in ("SS", "NS", "BS"):
        members = [random.choice((text, number))(random) for _ in range(random.choice((0, 1, 2, 3)))]
        return members[: random.choice((0, 0, 1))] + members
    if tag == "L":
        return [attribute_value(random) for _ in range(random.choice((0, 1, 3)))]
    if tag == "M":
        return {name: attribute_value(random) for name in random.sample(NAMES, random.choice((0, 1, 2)))}
    return random.choice((True, False, "true")) if tag in ("BOOL", "NULL") else text(random)


def nested(random: Random) -> Json:
    opening, closing, middle = random.choice(NESTS)
    depth = random.choice(DEPTHS)
    return Raw(opening * depth + middle + closing * (depth if random.random() < 0.9 else depth // 2))
