"""What goals adds to `GET /metrics`: which load is served, and what became of the deposits before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import sortkey as sk
from sortkey_services.goals.model import DEMO_COMPETES_AS
from sortkey_services.goals.reconciliation_item import OUTCOMES, Reconciliation

FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "sortkey_goals_persons": ("gauge", "Persons in the load that is served."),
    "sortkey_goals_served_timestamp_seconds": ("gauge", "Since when the load is served, in seconds since 1970."),
    "sortkey_goals_as_of_timestamp_seconds": (
        "gauge",
        "The instant up to which the data of the load that is served is complete, in seconds since 1970.",
    ),
    "sortkey_goals_reconciled": ("gauge", "Goals of persons by what the last batch made of their deposits."),
}


def samples_of(served: sk.patterns.Served | None, reconciled: Reconciliation | None) -> dict[str, float]:
    samples: dict[str, float] = {}
    if served is not None:
        samples["sortkey_goals_persons"] = served.rows
        samples["sortkey_goals_served_timestamp_seconds"] = served.published.timestamp()
        if served.as_of != DEMO_COMPETES_AS:
            samples["sortkey_goals_as_of_timestamp_seconds"] = served.as_of.timestamp()
    if reconciled is not None:
        for outcome in OUTCOMES:
            samples[f'sortkey_goals_reconciled{{outcome="{outcome}"}}'] = getattr(reconciled, outcome)
    return samples
