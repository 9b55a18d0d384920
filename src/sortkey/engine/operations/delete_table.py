"""DeleteTable: the table is gone when the request is answered; the janitor deletes its rows later."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.tables import DeleteTable
from sortkey.engine.tables import description
from sortkey.engine.tables.catalog import release_space
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException


def delete_table(core: Core, request: DeleteTable) -> Work:
    name = table_name_of(request.table_name)

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_named(batch.transaction, name).entry
        if entry.deletion_protection:
            raise ValidationException(
                "Resource cannot be deleted as it is currently protected against deletion. "
                "Disable deletion protection first."
            )
        shown = description.describe_in_batch(core, batch, entry)
        core.catalog.remove(batch, name)
        for space in (
            entry.space,
            *(index.space for index in entry.indexes),
            *(stream.space for stream in entry.streams),
        ):
            release_space(batch, space)
        return {"TableDescription": shown | {"TableStatus": "DELETING"}}

    return work
