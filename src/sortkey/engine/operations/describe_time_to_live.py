"""DescribeTimeToLive."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.tables import DescribeTimeToLive


def describe_time_to_live(core: Core, request: DescribeTimeToLive) -> Answer:
    with core.read() as transaction:
        attribute = core.catalog.require_named(transaction, table_name_of(request.table_name)).ttl_attribute
    if attribute is None:
        return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
    return {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": attribute}}
