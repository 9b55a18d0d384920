"""UpdateTable: the table stays ACTIVE; only a new index is filled in the background."""

from __future__ import annotations

import msgspec

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.tables import StreamSpecification, UpdateTable
from sortkey.engine.streams.stream_writer import close_stream, new_stream
from sortkey.engine.tables import description
from sortkey.engine.tables.catalog import new_space, release_space
from sortkey.engine.tables.catalog_entries import IndexEntry, StreamEntry
from sortkey.engine.tables.definition import check_stream
from sortkey.engine.tables.index_definition import NO_SPACE_YET
from sortkey.engine.tables.settings import reject_unsupported
from sortkey.engine.tables.update import check_changes_something, plan_update
from sortkey.engine.write_batch import WriteBatch


def update_table(core: Core, request: UpdateTable) -> Work:
    name = table_name_of(request.table_name)
    reject_unsupported(request)
    check_changes_something(request)
    check_stream(request.stream_specification)

    def work(batch: WriteBatch) -> Answer:
        before = core.catalog.require_named(batch.transaction, name).entry
        planned, dropped = plan_update(core, before, request, round(batch.now, 3))
        for index in dropped:
            release_space(batch, index.space)
        entry = msgspec.structs.replace(
            planned,
            indexes=[_with_space(batch, index) for index in planned.indexes],
            streams=_streams(core, batch, before.streams, request.stream_specification),
        )
        core.catalog.save(batch, entry)
        return {"TableDescription": description.describe_in_batch(core, batch, entry)}

    return work


def _with_space(batch: WriteBatch, index: IndexEntry) -> IndexEntry:
    return msgspec.structs.replace(index, space=new_space(batch)) if index.space == NO_SPACE_YET else index


def _streams(
    core: Core, batch: WriteBatch, streams: list[StreamEntry], requested: StreamSpecification | None
) -> list[StreamEntry]:
    if requested is None:
        return streams
    if requested.stream_view_type is None:
        return [*streams[:-1], close_stream(batch, streams[-1])]
    return [*streams, new_stream(batch, core.settings, requested.stream_view_type, streams)]
