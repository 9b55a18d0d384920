"""Events and markets that the tests of boosts share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from sortkey_services.boosts.event import DAYS, CampaignEvent
from sortkey_services.boosts.tenants import Settings, TenantSettings

SETTINGS = Settings(
    tenants={"de": TenantSettings("zoned", "Europe/Berlin"), "tr": TenantSettings("wildcard", "Europe/Istanbul")}
)
NOW = 4_000_000_000.0
"""Of the service's clock: later than any store's, which would otherwise take rows for expired and drop them."""
DISTRICTS = ("BER-01", "BER-02", "BER-03")
START = datetime(2026, 8, 1, tzinfo=UTC)
MONDAY_LUNCH = datetime(2026, 8, 24, 10, 30, tzinfo=UTC)
"""Half past twelve in Berlin."""


def event(number: int = 1, campaign: str = "c1", partner: str = "p1", **fields: Any) -> CampaignEvent:
    """An event that is as new as its number: all week, all day, everywhere, unless told otherwise."""
    given: dict[str, Any] = {
        "event_id": f"e{number}",
        "campaign_id": campaign,
        "partner_id": partner,
        "areas": ("*",),
        "score": 1.5,
        "days_of_week": frozenset(DAYS),
        "time_slots": frozenset({"all-day"}),
        "status": "ACTIVE",
        "updated_at": START + timedelta(minutes=number),
        "tenant": "de",
    }
    return CampaignEvent(**(given | fields))


def as_json(made: CampaignEvent) -> bytes:
    return msgspec.json.encode(made)
