"""How far ahead of the clock an event's time may be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from math import inf
from typing import Any

import msgspec
import pytest

import sortkey as sk
from sortkey_services.boosts.tenants import read_settings as boosts_settings
from sortkey_services.goals.service import read_settings as goals_settings

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
"""Of which there is no instant in UTC."""


def limit(*seconds: float) -> sk.services.AheadLimit:
    return sk.services.AheadLimit(sk.testing.ManualClock(NOON.timestamp()), *seconds)


@pytest.mark.parametrize(
    ("seconds", "ahead", "accepted"),
    [
        ((), -timedelta(days=9000), True),
        ((), timedelta(minutes=5), True),
        ((), timedelta(minutes=5, microseconds=1), False),
        ((), timedelta(days=200 * 365), False),
        ((0,), timedelta(), True),
        ((0,), timedelta(microseconds=1), False),
        ((3600,), timedelta(minutes=59), True),
        ((inf,), timedelta(days=2_000_000), True),
    ],
)
def test_what_is_accepted(seconds: tuple[float, ...], ahead: timedelta, accepted: bool) -> None:
    assert (limit(*seconds).error(NOON + ahead) is None) is accepted


def test_offsets_do_not_matter() -> None:
    east = timezone(timedelta(hours=14))
    assert limit().error((NOON + timedelta(minutes=5)).astimezone(east)) is None
    assert limit().error((NOON + timedelta(minutes=6)).astimezone(east)) is not None
    assert limit().error(LAST) is not None


def test_the_error_names_the_limit_and_the_clock() -> None:
    error = limit().error(datetime(2226, 1, 1, tzinfo=UTC), "placedAt")
    assert error == (
        "placedAt: 2226-01-01T00:00:00+00:00 is more than 300 s (max_ahead_seconds) ahead of the server's clock, "
        "2026-08-24T12:00:00+00:00"
    )


@pytest.mark.parametrize("read", [boosts_settings, goals_settings])
def test_every_service_has_the_setting(read: Any) -> None:
    assert read({}).max_ahead_seconds == 300
    assert read({"max_ahead_seconds": 60}).max_ahead_seconds == 60
    for wrong in (-1, "five", None, True):
        with pytest.raises(sk.services.BadSettings, match="max_ahead_seconds"):
            read({"max_ahead_seconds": wrong})


def test_the_type_of_the_setting() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(-0.5, sk.services.MaxAheadSeconds)
