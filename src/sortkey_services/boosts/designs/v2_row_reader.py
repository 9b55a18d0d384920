"""Reads from a row's JSON, in C, what a lookup needs: which campaigns run, and how they rank.

Decoding fifty rows to items took longer than fetching them. The structs here name the needed attributes and skip the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from typing import Final

import msgspec

from sortkey_services.boosts.designs.design import Rank
from sortkey_services.boosts.model import PartnerRow

_PREFIX_LENGTH: Final = len(PartnerRow.campaigns.prefix)


class _Integer(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: int


class _Float(msgspec.Struct, frozen=True, gc=False, rename={"content": "N"}):
    content: float


class _Skipped(msgspec.Struct, frozen=True, gc=False):
    """A value that only has to be present."""


class _Campaign(msgspec.Struct, frozen=True, gc=False):
    """As in `boosts.model`. Every field has a default: a map that is not a campaign must not stop a lookup."""

    when: _Integer = _Integer(0)
    score: _Float = _Float(0.0)
    areas: _Skipped | None = None


class _Attribute(msgspec.Struct, frozen=True, gc=False, rename={"campaign": "M"}):
    campaign: _Campaign | None = None


Row = dict[str, _Attribute]

# Not strict: DynamoDB's numbers are strings.
read_rows: Final = msgspec.json.Decoder(list[Row | None], strict=False).decode


def best_campaigns(partners: Sequence[str], rows: Iterable[Row | None], bits: int) -> dict[str, Rank]:
    """The winning campaign of each partner, in the day slots of these bits. The rows are in the order of the
    partners, once for each area."""
    best: dict[str, Rank] = {}
    for partner, row in zip(cycle(partners), rows, strict=False):
        if row is None:
            continue
        for name, attribute in row.items():
            campaign = attribute.campaign
            if campaign is not None and campaign.when.content & bits:
                found = (campaign.areas is not None, -campaign.score.content, name[_PREFIX_LENGTH:])
                if partner not in best or found < best[partner]:
                    best[partner] = found
    return best
