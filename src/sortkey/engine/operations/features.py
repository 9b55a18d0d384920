"""DescribeLimits and DescribeEndpoints: what holds for an account, and not for a table."""

from __future__ import annotations

from sortkey.engine.requests import features
from sortkey.engine.tables.core import Answer, Core


def describe_limits(_core: Core, _request: features.DescribeLimits) -> Answer:
    """AWS's default quotas, which are not enforced here."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def describe_endpoints(core: Core, _request: features.DescribeEndpoints) -> Answer:
    """Clients of this store are given an endpoint, and so do not call it by themselves."""
    address = f"dynamodb.{core.settings.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}
