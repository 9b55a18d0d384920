"""What a row remembers, and for how long."""

from __future__ import annotations

from sortkey_services.boosts.event import DAYS, day_slot_bits
from sortkey_services.boosts.model import (
    RETENTION_SECONDS,
    BoostRow,
    Campaign,
    PartnerRow,
    area_entry,
    campaign_area,
    main_entry,
    pruned,
)
from tests.sortkey_services.boosts.campaigns import event

NOW = 1_750_000_000
LATER = NOW + RETENTION_SECONDS + 1


def row(*campaign_areas: str, **campaigns: Campaign) -> PartnerRow:
    bare = BoostRow(tenant="de", area="*", partner="p1", campaign_areas=set(campaign_areas), revision=3)
    return BoostRow.campaigns.replaced(bare, campaigns)


ACTIVE = main_entry(event(), NOW)
ENDED = main_entry(event(status="ENDED"), NOW)
ZONED = main_entry(event(areas=("A", "B")), NOW)


def test_a_row_with_nothing_to_remove_is_not_changed() -> None:
    for kept in (row("*#c", c=ACTIVE), row("*#c", "*#d", c=ACTIVE, d=ENDED), row("*#c", "A#c", "B#c", c=ZONED)):
        assert pruned(kept, NOW) is kept


def test_ended_campaigns_are_forgotten_after_the_retention() -> None:
    kept = pruned(row("*#c", "*#d", c=ACTIVE, d=ENDED), LATER)
    assert (kept.campaigns, kept.campaign_areas, kept.expires) == ({"c": ACTIVE}, {"*#c"}, None)


def test_a_row_in_which_nothing_runs_expires() -> None:
    kept = pruned(row("*#c", "*#d", c=ENDED, d=ENDED), NOW)
    assert (kept.campaigns, kept.expires) == ({"c": ENDED, "d": ENDED}, NOW + RETENTION_SECONDS)
    assert pruned(kept, NOW) is kept


def test_areas_are_removed_once_they_are_settled() -> None:
    before = row("*#c", "A#c", "B#c", "A#d", "*#d", c=ZONED, d=ZONED)
    assert pruned(before, NOW, {"c": ["B"]}).campaign_areas == {"*#c", "B#c", "A#d", "*#d"}
    assert pruned(before, NOW, {"c": ["A", "B"]}) is before


# Its entry in A may still be active; a repeated event has to find that area.
def test_an_ended_campaign_is_kept_as_long_as_it_has_areas() -> None:
    unsettled = row("*#c", "A#c", c=ENDED)
    assert pruned(unsettled, LATER) is unsettled
    settled = pruned(unsettled, NOW, {"c": ()})
    assert (settled.campaign_areas, settled.expires) == ({"*#c"}, NOW + RETENTION_SECONDS)


# An id may hold what separates it from the area.
def test_campaign_areas_tell_campaigns_apart() -> None:
    before = row(
        campaign_area("*", "x#c"), campaign_area("A", "x#c"), campaign_area("*", "c"), **{"x#c": ZONED, "c": ACTIVE}
    )
    assert pruned(before, NOW, {"c": ()}).campaign_areas == before.campaign_areas
    assert pruned(before, NOW, {"x#c": ()}).campaign_areas == {"*#x#c", "*#c"}


def test_entries_in_areas() -> None:
    assert area_entry(ZONED, runs=True, now=NOW).areas is None
    assert area_entry(ACTIVE, runs=True, now=NOW).areas == ["*"]
    gone = area_entry(ZONED, runs=False, now=NOW)
    assert gone.when == 0
    assert (gone.status, gone.version, gone.until) == ("ENDED", ZONED.version, NOW + RETENTION_SECONDS)


# A lookup looks at nothing else, so it must be nothing wherever a campaign does not count.
def test_when_a_campaign_counts() -> None:
    every_day = day_slot_bits((day, "all-day") for day in DAYS)
    assert (ACTIVE.when, ENDED.when, ZONED.when) == (every_day, 0, 0)
    assert area_entry(ZONED, runs=True, now=NOW).when == every_day
