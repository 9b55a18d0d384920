"""DescribeEndpoints. A client that was given an endpoint, as every client of this store is, does not ask."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.features import DescribeEndpoints


def describe_endpoints(core: Core, _request: DescribeEndpoints) -> Answer:
    address = f"dynamodb.{core.settings.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}
