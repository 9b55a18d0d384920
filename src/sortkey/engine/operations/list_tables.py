"""ListTables."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.tables import ListTables

DEFAULT_LIMIT = 100


def list_tables(core: Core, request: ListTables) -> Answer:
    with core.read() as transaction:
        names = sorted(core.catalog.tables(transaction))
    if request.exclusive_start_table_name is not None:
        start = request.exclusive_start_table_name
        names = [name for name in names if name > start]
    limit = request.limit or DEFAULT_LIMIT
    answer: Answer = {"TableNames": names[:limit]}
    if len(names) > limit:
        answer["LastEvaluatedTableName"] = names[limit - 1]
    return answer
