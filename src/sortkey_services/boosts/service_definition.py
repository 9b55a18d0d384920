"""Boosts as the command line lists and makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import sortkey as sk
from sortkey_services.boosts.service import TABLES, BoostsService
from sortkey_services.boosts.tenants import read_settings


def _tables(settings: Mapping[str, Any]) -> Sequence[type[sk.Item]]:
    return TABLES[read_settings(settings).design]


def _make(session: sk.AsyncSession, settings: Mapping[str, Any]) -> BoostsService:
    return BoostsService(session, read_settings(settings))


BOOSTS: Final = sk.services.ServiceDefinition(
    name="boosts",
    summary="which partners of a search page are boosted, here and now",
    tables=_tables,
    make=_make,
    takes_messages=True,
)
