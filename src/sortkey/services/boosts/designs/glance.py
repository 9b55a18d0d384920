"""What a lookup has to see of a row, read in C: which campaigns run, and how they rank.

Making items of fifty rows took longer than fetching them. The structures here name what matters and skip the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sortkey.services.boosts.designs.design import Rank
from sortkey.services.boosts.event import ACTIVE, EVERYWHERE
from sortkey.services.boosts.model import PartnerRow
from sortkey.services.boosts.schedule import Opening

_NAME: Final = len(PartnerRow.campaigns.prefix)


class _Text(msgspec.Struct, frozen=True, gc=False, rename={"content": "S"}):
    content: str


class _Number(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: str


class _Texts(msgspec.Struct, frozen=True, gc=False, rename={"content": "SS"}):
    content: tuple[str, ...]


class _List(msgspec.Struct, frozen=True, gc=False, rename={"content": "L"}):
    content: tuple[_Text, ...]


_NOTHING: Final = _Text("")


class _Campaign(msgspec.Struct, frozen=True, gc=False):
    """As in `boosts.model`. All of it has defaults: a map that is no campaign must not stop a lookup."""

    status: _Text = _NOTHING
    score: _Number = _Number("0")
    days: _Texts = _Texts(())
    slots: _Texts = _Texts(())
    areas: _List | None = None


class _Attribute(msgspec.Struct, frozen=True, gc=False, rename={"text": "S", "campaign": "M"}):
    text: str = ""
    campaign: _Campaign | None = None


Glance = dict[str, _Attribute]
"""A row's attributes."""

read: Final = msgspec.json.Decoder(list[Glance]).decode


def best_of(rows: Iterable[Glance], openings: Sequence[Opening]) -> dict[str, Rank]:
    """Of each partner the campaign that wins."""
    best: dict[str, Rank] = {}
    for row in rows:
        for name, attribute in row.items():
            campaign = attribute.campaign
            if campaign is None or campaign.status.content != ACTIVE:
                continue
            areas = campaign.areas
            # A home that names areas only keeps the books; where it names `*`, it names nothing else.
            if areas is not None and areas.content[0].content != EVERYWHERE:
                continue
            days, slots = campaign.days.content, campaign.slots.content
            for day, slot in openings:
                if slot in slots and day in days:
                    found = Rank(areas is not None, -float(campaign.score.content), name[_NAME:])
                    partner = row["partner"].text
                    if partner not in best or found < best[partner]:
                        best[partner] = found
                    break
    return best
