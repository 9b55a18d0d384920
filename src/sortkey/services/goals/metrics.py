"""What goals adds to `GET /metrics`: which load is served."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sortkey as sk

FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "sortkey_goals_persons": ("gauge", "Persons in the load that is served."),
    "sortkey_goals_served_timestamp_seconds": ("gauge", "Since when the load is served, in seconds since 1970."),
}


def samples_of(served: sk.Served | None) -> dict[str, float]:
    if served is None:
        return {}
    return {
        "sortkey_goals_persons": served.rows,
        "sortkey_goals_served_timestamp_seconds": served.published.timestamp(),
    }
