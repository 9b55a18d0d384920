"""`sortkey explain`: an access path from its text."""

from __future__ import annotations

import pytest

from sortkey.cli.explain import path_of
from sortkey.cli.main import main
from tests.model.sessions.shop import Order

SHOP = "tests.model.sessions.shop"


def test_it_shows_request_index_and_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", f"{SHOP}:Order.by_status(status='OPEN')", "--rows", "100", "--row-bytes", "400"]) == 0
    shown = capsys.readouterr().out
    for part in ("Query", '"IndexName": "gsi1"', '"STATUS#OPEN"', "5 read units", "$0.62 a million"):
        assert part in shown


def test_ranges() -> None:
    assert path_of(f"{SHOP}:Order.key(customer='ada').between(1, 5)") == Order.key(customer="ada").between(1, 5)


# A key without values is queried with its fields' names as values: that also shows the request.
def test_a_key_that_is_not_called() -> None:
    assert path_of(f"{SHOP}:Order.key") == Order.key(customer="customer")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nonsense", "not MODULE:PATH"),
        ("no_such_module:Order.key", "no module 'no_such_module'"),
        (f"{SHOP}:Nothing.key", "Nothing"),
        (f"{SHOP}:Order.key(", "is not an access path"),
        (f"{SHOP}:Order.key(customer=print())", "is not a literal"),
        (f"{SHOP}:order(1)", "is not a key, an index or a range"),
        (f"{SHOP}:1 + 1", "is not an access path"),
        (f"{SHOP}:SHOP", "it is a Table"),
        (f"{SHOP}:Order.key(number=1)", "needs customer"),
    ],
)
def test_other_texts_give_one_line(text: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", text]) == 2
    message = capsys.readouterr().err
    assert message.startswith("sortkey explain: ")
    assert expected in message
    assert message.count("\n") == 1
