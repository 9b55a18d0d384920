"""UntagResource: removes tags. Keys without a tag are ignored."""

from __future__ import annotations

import msgspec

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests.tables import UntagResource
from sortkey.engine.tables.key_schema import INVALID
from sortkey.engine.tables.tags import table_of_arn
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException


def untag_resource(core: Core, request: UntagResource) -> Work:
    if not request.tag_keys:
        raise ValidationException(f"{INVALID}At least one tag key is required")
    removed = set(request.tag_keys)

    def work(batch: WriteBatch) -> Answer:
        entry = table_of_arn(core, batch.transaction, request.resource_arn, "UntagResource").entry
        tags = {key: value for key, value in entry.tags.items() if key not in removed}
        core.catalog.save(batch, msgspec.structs.replace(entry, tags=tags))
        return {}

    return work
