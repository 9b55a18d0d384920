"""The programs under examples/ run on every store, and print what they should."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import sortkey as sk

FOLDER = Path(__file__).parents[1] / "examples"
PRINTED = {
    "shop": [
        "order 1 of ada: 739.80",
        "bob's order failed, out of stock: sofa",
        "cheap: [('lamp', 3)]",
        'open: ["ada\'s order 1 of 739.80"]',
        "sent: ['desk']",
        "still open: 1",
        "too late: nothing was written: update of Order.key(customer='ada', number=2): ConditionalCheckFailed",
        "Ada has 2 orders of 1239.80",
    ],
    "chat": [
        "ada's unread: {'lobby': 3, 'news': 1}",
        "lobby: ['hi ada', 'hi all', 'hi cid']",
        "news: ['release on friday']",
        "ada's unread: 0",
        "since then: ['cid', 'bob']",
        "bob's last: hi cid",
    ],
    "similar": [
        "chosen: small green tea",
        "like it: ['green juice', 'black tea', 'green lemonade']",
        "'smoky teas' in small: P025, smoked tea, at a distance of 0.33",
        "without it: P313",
        "whole: dairy, fresh milk, 64 dimensions",
    ],
    "migration": [
        "differences: ['table accounts: its TTL attribute is None, but expires is declared']",
        "profile: Ada FREE 2021 {'legacyId': {'N': '17'}}",
        "cannot be read: {'PK': {'S': 'USER#6BA7B810-9DAD-11D1-80B4-00C04FD430C8'}, 'SK': {'S': 'ORDER#113'}}",
        "orders: {112: '20.5', 12: '99', 7: '12.5'}",
        "left out: 1 undecodable, 1 unrecognised",
        "open, by the index: [112]",
        "audit: 7 rows, 2 fine; "
        "{'index-key-missing': 2, 'older-version': 2, 'ttl': 1, 'undecodable': 1, 'unrecognised': 1}",
        "repaired: 7 rows, 3 fine; {'index-key-missing': 3, 'older-version': 2, 'ttl': 1}",
        "differences: []",
        "audit: 7 rows, 7 fine; {}",
        "all orders: [7, 12, 112, 113, 114]",
        "open, by the index: ['7 of 2021-03-02', '112 of 2024-01-09', '113 of 2024-02-01', '114 of 2024-02-01']",
    ],
}


def program(name: str) -> Callable[[str], None]:
    specification = importlib.util.spec_from_file_location(f"examples_{name}", FOLDER / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    # Classes look for the types of their fields in their module.
    sys.modules[module.__name__] = module
    specification.loader.exec_module(module)
    main: Callable[[str], None] = module.main
    return main


def test_all_of_them_are_here() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_it_prints_answers_and_explanations(name: str, store: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        program(name)(store)
    except sk.Unsupported as error:
        # DynamoDB Local has no vector indexes.
        pytest.skip(str(error))
    printed = capsys.readouterr().out
    for line in PRINTED[name]:
        assert line in printed
    assert printed.count("a million (list price") >= 3
