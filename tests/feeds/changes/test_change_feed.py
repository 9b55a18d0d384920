"""`sk.feeds.ChangeFeed`: mistakes are found where the feed is declared."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

import sortkey as sk
from tests.feeds.changes.parcels import PARCELS, Parcel


class Note(sk.Item, table="feed-notes"):
    number: int

    key = sk.Key("NOTE#{number:d}", "NOTE")


async def ignore(changes: Sequence[sk.Change[Any]]) -> None:
    """Handles nothing."""


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"name": ""}, "the name of a change feed has 1 to 100 letters"),
        ({"name": "a feed"}, "not 'a feed'"),
        (
            {"of": Note},
            'table feed-notes has no stream; declare it as .*stream="NEW_AND_OLD_IMAGES"',
        ),
        ({"start": "yesterday"}, 'start is "horizon", "now" or a datetime with a time zone, not \'yesterday\''),
        ({"start": datetime(2026, 8, 24)}, "a datetime with a time zone"),  # noqa: DTZ001 - the mistake
        ({"max_batch": 0}, "max_batch is a number from 1 on, not 0"),
        ({"max_batch": None}, "max_batch is a number from 1 on, not None"),
        ({"attempts": 0}, "attempts is a number from 1 on, not 0"),
        ({"max_wait": -1}, "max_wait is a number of seconds, not -1"),
    ],
)
def test_mistakes(options: dict[str, Any], error: str) -> None:
    arguments = {"name": "parcels", "of": Parcel, "on_changes": ignore, **options}
    with pytest.raises(sk.DeclarationError, match=error):
        sk.feeds.ChangeFeed(**arguments)


def test_it_is_of_a_class_or_a_table() -> None:
    assert repr(sk.feeds.ChangeFeed("parcels", Parcel, ignore)) == "<change feed parcels of feed-parcels>"
    assert sk.feeds.ChangeFeed("parcels", PARCELS, ignore, attempts=None).table is PARCELS
