"""DescribeEndpoints. Clients of this store are given an endpoint, and so do not call it by themselves."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.features import DescribeEndpoints


def describe_endpoints(core: Core, _request: DescribeEndpoints) -> Answer:
    address = f"dynamodb.{core.settings.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}
