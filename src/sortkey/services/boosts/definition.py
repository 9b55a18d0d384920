"""The service as the command line knows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sortkey.model.items.item import Item
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.services.boosts.api import BoostsService
from sortkey.services.boosts.service import TABLES
from sortkey.services.boosts.tenants import read_settings
from sortkey.services.definition import ServiceDefinition


def _tables(given: Mapping[str, Any]) -> Sequence[type[Item]]:
    return TABLES[read_settings(given).design]


def _make(session: AsyncSession, given: Mapping[str, Any]) -> BoostsService:
    return BoostsService(session, read_settings(given))


BOOSTS: Final = ServiceDefinition(
    name="boosts",
    summary="which partners of a search page are boosted, here and now",
    tables=_tables,
    make=_make,
)
