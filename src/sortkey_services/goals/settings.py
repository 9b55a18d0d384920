"""The service's settings.

    [goals]
    rules = "postgresql://goals@db.internal/goals"
    refresh_seconds = 5

The rules are those of the batch, so that an event gets the rate that the next batch would give. Without `rules`, events
keep the rates of the last batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

import sortkey as sk


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: str | None = None
    """The URL of the database with the table goal_rules: sqlite:///FILE or postgresql://…"""
    refresh_seconds: Annotated[float, Meta(gt=0, le=3600)] = 5.0
    """How old the rules may be that an event is enriched with."""
    patience_seconds: Annotated[float, Meta(gt=0, le=3600)] = 2.0
    """How long an event waits for the database."""


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Raises BadSettings."""
    try:
        return msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        raise sk.services.BadSettings(f"goals: {error}") from None
