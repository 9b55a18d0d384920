"""What a lookup has to see of a row, read in C: which campaigns run, and how they rank.

Making items of fifty rows took longer than fetching them. The structures here name what matters and skip the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Final

import msgspec

from sortkey.services.boosts.designs.design import Rank
from sortkey.services.boosts.model import PartnerRow
from sortkey.services.boosts.schedule import Opening, bits

_NAME: Final = len(PartnerRow.campaigns.prefix)


class _Whole(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: int


class _Real(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: float


class _Unread(msgspec.Struct, frozen=True, gc=False):
    """A value of which it is enough that it is there."""


class _Campaign(msgspec.Struct, frozen=True, gc=False):
    """As in `boosts.model`. All of it has defaults: a map that is no campaign must not stop a lookup."""

    when: _Whole = _Whole(0)
    score: _Real = _Real(0.0)
    areas: _Unread | None = None


class _Attribute(msgspec.Struct, frozen=True, gc=False, rename={"campaign": "M"}):
    campaign: _Campaign | None = None


RowSummary = dict[str, _Attribute]
"""A row's attributes."""

# Not strict, since DynamoDB's numbers are text.
read: Final = msgspec.json.Decoder(list[RowSummary | None], strict=False).decode


def best_of(partners: Sequence[str], rows: Iterable[RowSummary | None], openings: Sequence[Opening]) -> dict[str, Rank]:
    """Of each partner the campaign that wins. The rows are those of the partners, in one area after the other."""
    now = bits(openings)
    best: dict[str, Rank] = {}
    for partner, row in zip(cycle(partners), rows, strict=False):
        if row is None:
            continue
        for name, attribute in row.items():
            campaign = attribute.campaign
            if campaign is not None and campaign.when.content & now:
                found = (campaign.areas is not None, -campaign.score.content, name[_NAME:])
                if partner not in best or found < best[partner]:
                    best[partner] = found
    return best
