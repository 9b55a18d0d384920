"""A service as the command line knows it, before a store is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sortkey.model.items.item import Item
from sortkey.model.sessions.async_session import AsyncSession
from sortkey.model.tables.table import Table
from sortkey.services.service import Service


class BadSettings(Exception):
    """A configuration that cannot be used; says which setting, and what it may be."""


@dataclass(frozen=True, slots=True)
class ServiceDefinition:
    name: str
    summary: str
    tables: Callable[[Mapping[str, Any]], Sequence[type[Item] | Table]]
    """What its settings need of a store; a session is opened with these."""
    make: Callable[[AsyncSession, Mapping[str, Any]], Service]
    """The service with its settings, a section of the configuration file; empty is all defaults. Raises BadSettings."""
