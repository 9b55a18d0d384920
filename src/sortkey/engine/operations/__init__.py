"""The operations by name. A read answers at once; a write makes work for the group commit, which then answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.operations.batch_get_item import batch_get_item
from sortkey.engine.operations.batch_write_item import batch_write_item
from sortkey.engine.operations.create_table import create_table
from sortkey.engine.operations.delete_item import delete_item
from sortkey.engine.operations.delete_table import delete_table
from sortkey.engine.operations.describe_table import describe_table
from sortkey.engine.operations.get_item import get_item
from sortkey.engine.operations.list_tables import list_tables
from sortkey.engine.operations.put_item import put_item
from sortkey.engine.operations.query import query
from sortkey.engine.operations.scan import scan
from sortkey.engine.operations.transact_get_items import transact_get_items
from sortkey.engine.operations.transact_write_items import transact_write_items
from sortkey.engine.operations.update_item import update_item

Read = Callable[[Core, Any], Answer]
Write = Callable[[Core, Any], Work]

READS: Final[dict[str, Read]] = {
    "BatchGetItem": batch_get_item,
    "DescribeTable": describe_table,
    "GetItem": get_item,
    "ListTables": list_tables,
    "Query": query,
    "Scan": scan,
    "TransactGetItems": transact_get_items,
}

WRITES: Final[dict[str, Write]] = {
    "BatchWriteItem": batch_write_item,
    "CreateTable": create_table,
    "DeleteItem": delete_item,
    "DeleteTable": delete_table,
    "PutItem": put_item,
    "TransactWriteItems": transact_write_items,
    "UpdateItem": update_item,
}
