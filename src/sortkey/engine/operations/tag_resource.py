"""TagResource: adds tags to a table, and replaces the values of those it has."""

from __future__ import annotations

import msgspec

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests.tables import TagResource
from sortkey.engine.tables.key_schema import INVALID
from sortkey.engine.tables.tags import check_count, read_tags, table_of_arn
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException


def tag_resource(core: Core, request: TagResource) -> Work:
    if not request.tags:
        raise ValidationException(f"{INVALID}At least one tag is required")
    added = read_tags(request.tags)

    def work(batch: WriteBatch) -> Answer:
        entry = table_of_arn(core, batch.transaction, request.resource_arn, "TagResource").entry
        tags = entry.tags | added
        check_count(tags)
        core.catalog.save(batch, msgspec.structs.replace(entry, tags=tags))
        return {}

    return work
