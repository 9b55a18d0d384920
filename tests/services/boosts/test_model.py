"""What a row remembers, and for how long."""

from __future__ import annotations

from sortkey.services.boosts.model import (
    RETENTION_SECONDS,
    BoostRow,
    Campaign,
    PartnerRow,
    entry_there,
    home_entry,
    place,
    tidied,
)
from sortkey.services.boosts.schedule import DAYS, bits
from tests.services.boosts.campaigns import event

NOW = 1_750_000_000
LATER = NOW + RETENTION_SECONDS + 1


def row(*places: str, **campaigns: Campaign) -> PartnerRow:
    bare = BoostRow(tenant="de", area="*", partner="p1", places=set(places), revision=3)
    return BoostRow.campaigns.replaced(bare, campaigns)


ACTIVE = home_entry(event(), NOW)
ENDED = home_entry(event(status="ENDED"), NOW)
ZONED = home_entry(event(areas=("A", "B")), NOW)


def test_a_row_with_nothing_to_forget_is_left_alone() -> None:
    for kept in (row("*#c", c=ACTIVE), row("*#c", "*#d", c=ACTIVE, d=ENDED), row("*#c", "A#c", "B#c", c=ZONED)):
        assert tidied(kept, NOW) is kept


def test_ended_campaigns_are_forgotten_after_the_retention() -> None:
    tidy = tidied(row("*#c", "*#d", c=ACTIVE, d=ENDED), LATER)
    assert (tidy.campaigns, tidy.places, tidy.expires) == ({"c": ACTIVE}, {"*#c"}, None)


def test_a_row_in_which_nothing_runs_expires() -> None:
    tidy = tidied(row("*#c", "*#d", c=ENDED, d=ENDED), NOW)
    assert (tidy.campaigns, tidy.expires) == ({"c": ENDED, "d": ENDED}, NOW + RETENTION_SECONDS)
    assert tidied(tidy, NOW) is tidy


def test_places_are_forgotten_once_they_are_settled() -> None:
    before = row("*#c", "A#c", "B#c", "A#d", "*#d", c=ZONED, d=ZONED)
    assert tidied(before, NOW, "c", ["B"]).places == {"*#c", "B#c", "A#d", "*#d"}
    assert tidied(before, NOW, "c", ["A", "B"]) is before


# Its entry in A may still say that it runs; whoever gets the event again has to find the place.
def test_an_ended_campaign_is_remembered_as_long_as_it_has_places() -> None:
    unsettled = row("*#c", "A#c", c=ENDED)
    assert tidied(unsettled, LATER) is unsettled
    settled = tidied(unsettled, NOW, "c")
    assert (settled.places, settled.expires) == ({"*#c"}, NOW + RETENTION_SECONDS)


# An id may hold what separates it from the area.
def test_places_tell_campaigns_apart() -> None:
    before = row(place("*", "x#c"), place("A", "x#c"), place("*", "c"), **{"x#c": ZONED, "c": ACTIVE})
    assert tidied(before, NOW, "c").places == before.places
    assert tidied(before, NOW, "x#c").places == {"*#x#c", "*#c"}


def test_entries_in_areas() -> None:
    assert entry_there(ZONED, runs=True, now=NOW).areas is None
    assert entry_there(ACTIVE, runs=True, now=NOW).areas == ["*"]
    gone = entry_there(ZONED, runs=False, now=NOW)
    assert gone.when == 0
    assert (gone.status, gone.version, gone.until) == ("ENDED", ZONED.version, NOW + RETENTION_SECONDS)


# A lookup looks at nothing else, so it must be nothing wherever a campaign does not count.
def test_when_a_campaign_counts() -> None:
    every_day = bits((day, "all-day") for day in DAYS)
    assert (ACTIVE.when, ENDED.when, ZONED.when) == (every_day, 0, 0)
    assert entry_there(ZONED, runs=True, now=NOW).when == every_day
