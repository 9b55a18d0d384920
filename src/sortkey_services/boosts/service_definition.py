"""Boosts as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

import sortkey as sk
from sortkey_services.boosts import demo
from sortkey_services.boosts.moving import TO_MANIFEST, TO_V2
from sortkey_services.boosts.service import TABLES, BoostsService
from sortkey_services.boosts.tenants import read_settings


def _tables(settings: Mapping[str, Any]) -> Sequence[type[sk.Item]]:
    read = read_settings(settings)
    return TABLES[read.design] if read.moving_to is None else [table for each in TABLES.values() for table in each]


def _rekeys(settings: Mapping[str, Any]) -> Sequence[sk.patterns.Rekey]:
    moving_to = read_settings(settings).moving_to
    return () if moving_to is None else [TO_MANIFEST if moving_to == "manifest" else TO_V2]


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> BoostsService:
    return BoostsService(session, read_settings(settings))


def _lookup(draw: Random) -> tuple[str, object]:
    """A page of search results."""
    market = draw.choice(demo.REGIONS)
    partners = [str(market.first_partner + 3 * number) for number in draw.sample(range(market.partners), 50)]
    return f"POST /boosts/{market.tenant}/lookup", {"partnerIds": partners, "district": draw.choice(market.districts)}


def _partner(draw: Random) -> str:
    market = draw.choice(demo.REGIONS)
    return f"GET /boosts/{market.tenant}/partners/{market.first_partner + 3 * draw.randrange(market.partners)}"


def _campaign(draw: Random) -> tuple[str, object]:
    market = draw.choice([each for each in demo.REGIONS if each.everywhere < 1])
    partner = market.first_partner + 3 * draw.randrange(market.partners)
    event = {
        "eventId": f"usual-{draw.getrandbits(64):016x}",
        "campaignId": f"{market.tenant}-{partner}-1",
        "partnerId": str(partner),
        "areas": draw.sample(market.districts, draw.randint(1, 3)),
        "score": 1.5,
        "daysOfWeek": ["Friday", "Saturday"],
        "timeSlots": ["dinner"],
        "status": "ACTIVE",
        "updatedAt": datetime.now(UTC).isoformat(),
    }
    return f"POST /boosts/{market.tenant}/campaigns", event


BOOSTS: Final = sk.services.ServiceDefinition(
    name="boosts",
    summary="which partners of a search page are boosted, here and now",
    tables=_tables,
    make=_make,
    takes_messages=True,
    has_feeds=True,
    rekeys=_rekeys,
    usual_requests=[
        sk.services.UsualRequest("look up a page of 50 partners", 979, _lookup),
        sk.services.UsualRequest("show a partner's campaigns", 1, _partner),
        sk.services.UsualRequest("change a campaign", 20, _campaign),
    ],
)
