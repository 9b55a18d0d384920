"""DescribeLimits: AWS's default quotas, which are not enforced here."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.features import DescribeLimits


def describe_limits(_core: Core, _request: DescribeLimits) -> Answer:
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }
