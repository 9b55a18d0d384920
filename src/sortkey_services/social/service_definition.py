"""Social as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sortkey as sk
from sortkey_services.social.service import TABLES, SocialService


def _tables(_: Mapping[str, Any]) -> Sequence[sk.Table]:
    return TABLES


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> SocialService:
    if settings:
        raise sk.services.BadSettings(f"social: there are no settings, so {min(settings)!r} is unknown")
    return SocialService(session)


SOCIAL: Final = sk.services.ServiceDefinition(
    name="social",
    summary="who follows whom, pins, orders by day, products, leaderboards; one table, one index",
    tables=_tables,
    make=_make,
    has_feeds=True,
)
