"""UpdateTimeToLive: in force at once; existing items are indexed in the background."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.tables import TimeToLiveSpecification, UpdateTimeToLive
from sortkey.engine.rows import expiry_index
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ValidationException


def update_time_to_live(core: Core, request: UpdateTimeToLive) -> Work:
    name = table_name_of(request.table_name)
    requested = request.time_to_live_specification

    def work(batch: WriteBatch) -> Answer:
        entry = core.catalog.require_named(batch.transaction, name).entry
        _check(entry.ttl_attribute, requested)
        if requested.enabled:
            entry = expiry_index.enable(batch, entry, requested.attribute_name)
        else:
            entry = expiry_index.disable(entry)
        core.catalog.save(batch, entry)
        return {
            "TimeToLiveSpecification": {"Enabled": requested.enabled, "AttributeName": requested.attribute_name},
        }

    return work


def _check(current: str | None, requested: TimeToLiveSpecification) -> None:
    if current is None:
        if not requested.enabled:
            raise ValidationException("TimeToLive is already disabled")
    elif current != requested.attribute_name:
        raise ValidationException("TimeToLive is active on a different AttributeName")
    elif requested.enabled:
        raise ValidationException("TimeToLive is already enabled")
