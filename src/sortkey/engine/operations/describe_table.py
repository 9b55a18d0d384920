"""DescribeTable."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.tables import DescribeTable
from sortkey.engine.tables import description


def describe_table(core: Core, request: DescribeTable) -> Answer:
    name = table_name_of(request.table_name)
    with core.read() as transaction:
        table = core.catalog.require_named(transaction, name)
        return {"Table": description.describe(core, transaction, table.entry)}
