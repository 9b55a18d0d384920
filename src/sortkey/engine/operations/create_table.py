"""CreateTable: the table is ACTIVE when the request is answered."""

from __future__ import annotations

import uuid

import msgspec

from sortkey.engine.core import Answer, Core, Work
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.tables import CreateTable, StreamSpecification
from sortkey.engine.streams.stream_writer import new_stream
from sortkey.engine.tables import description
from sortkey.engine.tables.catalog import new_space
from sortkey.engine.tables.catalog_entries import StreamEntry, TableEntry
from sortkey.engine.tables.definition import check_stream, define_table
from sortkey.engine.tables.settings import reject_unsupported, table_settings
from sortkey.engine.tables.tags import read_tags
from sortkey.engine.tables.throughput import ON_DEMAND
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import ResourceInUseException


def create_table(core: Core, request: CreateTable) -> Work:
    name = table_name_of(request.table_name)
    reject_unsupported(request)
    definition = define_table(request)
    check_stream(request.stream_specification)
    settings = table_settings(core, request, definition.billing_mode, definition.throughput)
    tags = read_tags(request.tags or [])
    table_id = str(uuid.uuid4())

    def work(batch: WriteBatch) -> Answer:
        if core.catalog.find(batch.transaction, name) is not None:
            raise ResourceInUseException(f"Table already exists: {name}")
        created = round(batch.now, 3)
        entry = TableEntry(
            name=name,
            space=new_space(batch),
            id=table_id,
            created=created,
            attributes=definition.attributes,
            partition=definition.keys.partition,
            sort=definition.keys.sort,
            indexes=[msgspec.structs.replace(index, space=new_space(batch)) for index in definition.indexes],
            billing_mode=definition.billing_mode,
            on_demand_since=created if definition.billing_mode == ON_DEMAND else None,
            throughput=definition.throughput,
            streams=_streams(core, batch, request.stream_specification),
            deletion_protection=bool(request.deletion_protection_enabled),
            table_class=request.table_class,
            tags=tags,
            settings=settings,
        )
        core.catalog.save(batch, entry)
        return {"TableDescription": description.describe_in_batch(core, batch, entry)}

    return work


def _streams(core: Core, batch: WriteBatch, requested: StreamSpecification | None) -> list[StreamEntry]:
    if requested is None or requested.stream_view_type is None:
        return []
    return [new_stream(batch, core.settings, requested.stream_view_type)]
