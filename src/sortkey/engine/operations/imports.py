"""Imports: ImportTable, DescribeImport, ListImports.

An import creates a table, which is CREATING until the janitor has filled it from the objects of a bucket
(`janitor/imports.py`). If the table is deleted before, the import is cancelled.
"""

from __future__ import annotations

import re
import secrets
import sys
import uuid
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import msgspec

from sortkey.engine.operations.exports import buckets_of
from sortkey.engine.operations.tables import new_entry, vector_indexes_of, with_spaces
from sortkey.engine.operations.tags import resource_of_arn
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import CreateTable
from sortkey.engine.requests.transfers import DescribeImport, ImportTable, ListImports, TableCreationParameters, shown
from sortkey.engine.rows.catalog_entries import ImportEntry
from sortkey.engine.rows.job_records import IMPORTS
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.definition import define_table
from sortkey.engine.tables.settings import table_settings
from sortkey.errors import (
    ImportConflictException,
    ImportNotFoundException,
    ResourceInUseException,
    ValidationException,
)
from sortkey.extras import MissingExtra, installed_by
from sortkey.storage import Transaction
from sortkey.values import ion

DEFAULT_PAGE: Final = 25
TOKEN_SECONDS: Final = 8 * 3600
_TOKEN_DIGITS: Final = 112
_IMPORT: Final = re.compile(r"table/([^/:]+)/import/([0-9]{14}-[0-9a-f]{8})")


def import_table(core: Core, request: ImportTable) -> Work:
    parameters = request.table_creation_parameters
    if request.input_format == "ION":
        _require_library("InputFormat ION", ion.library)
    if request.input_format_options is not None and request.input_format != "CSV":
        raise ValidationException(f"{INVALID}InputFormatOptions are for an InputFormat of CSV")
    if request.input_compression_type == "ZSTD":
        _require_library("InputCompressionType ZSTD", zstd)
    buckets_of(core)
    created = _as_created(parameters)
    definition = define_table(created)
    vector_indexes = vector_indexes_of(created, definition)
    settings = table_settings(core, created, definition.billing_mode, definition.throughput)
    name, asked, table_id = parameters.table_name, shown(request), str(uuid.uuid4())

    def work(batch: WriteBatch) -> Answer:
        earlier = _same_token(batch, asked)
        if earlier is not None:
            return {"ImportTableDescription": _describe(core, earlier)}
        if core.catalog.find(batch.transaction, name) is not None:
            raise ResourceInUseException(f"Table already exists: {name}")
        entry = msgspec.structs.replace(
            new_entry(batch, name, table_id, definition),
            vector_indexes=[with_spaces(batch, index) for index in vector_indexes],
            settings=settings,
            is_filled=False,
        )
        core.catalog.save(batch, entry)
        begun = ImportEntry(
            id=f"{int(batch.now * 1000):014}-{secrets.token_hex(4)}",
            asked=asked,
            name=name,
            table_id=table_id,
            started=round(batch.now, 3),
        )
        IMPORTS.save(batch, begun.id, begun)
        return {"ImportTableDescription": _describe(core, begun)}

    return work


def zstd() -> Any:
    """The module that Python has from 3.14 on, or its backport. Raises MissingExtra."""
    if sys.version_info >= (3, 14):
        return import_module("compression.zstd")
    with installed_by("zstd"):
        return import_module("backports.zstd")


def _require_library(what: str, library: Callable[[], object]) -> None:
    try:
        library()
    except MissingExtra as error:
        raise ValidationException(f"{INVALID}{what}: {error}") from error


def _as_created(parameters: TableCreationParameters) -> CreateTable:
    return CreateTable(
        table_name=parameters.table_name,
        attribute_definitions=parameters.attribute_definitions,
        key_schema=parameters.key_schema,
        global_secondary_indexes=parameters.global_secondary_indexes,
        billing_mode=parameters.billing_mode,
        provisioned_throughput=parameters.provisioned_throughput,
        on_demand_throughput=parameters.on_demand_throughput,
        sse_specification=parameters.sse_specification,
        vector_indexes=parameters.vector_indexes,
    )


def _same_token(batch: WriteBatch, asked: dict[str, object]) -> ImportEntry | None:
    token = asked.get("ClientToken")
    if token is None:
        return None
    for each in IMPORTS.all(batch.transaction):
        if each.asked.get("ClientToken") == token and each.started > batch.now - TOKEN_SECONDS:
            if each.asked != asked:
                raise ImportConflictException(f"Import with the client token {token} has other parameters")
            return each
    return None


def describe_import(core: Core, request: DescribeImport) -> Answer:
    with core.read() as transaction:
        return {"ImportTableDescription": _describe(core, _require(transaction, request.import_arn))}


def _require(transaction: Transaction, arn: str) -> ImportEntry:
    named = _IMPORT.fullmatch(resource_of_arn(arn, "DescribeImport"))
    found = None if named is None else IMPORTS.find(transaction, named[2])
    if named is None or found is None or found.name != named[1]:
        raise ImportNotFoundException(f"Import not found: {arn}")
    return found


def list_imports(core: Core, request: ListImports) -> Answer:
    """A page of imports, newest first."""
    name = None if request.table_arn is None else table_name_of(request.table_arn)
    with core.read() as transaction:
        found = [each for each in IMPORTS.all(transaction) if name in (None, each.name)][::-1]
    if request.next_token is not None:
        found = [each for each in found if _token(each) < request.next_token]
    page = found[: request.page_size or DEFAULT_PAGE]
    answer: Answer = {"ImportSummaryList": [_summary(core, each) for each in page]}
    return answer | {"NextToken": _token(page[-1])} if len(found) > len(page) else answer


def _token(each: ImportEntry) -> str:
    """As AWS's: hexadecimal digits, and many of them."""
    return each.id.encode().hex().ljust(_TOKEN_DIGITS, "0")


def _summary(core: Core, each: ImportEntry) -> Answer:
    summary: Answer = {
        "ImportArn": f"{core.table_arn(each.name)}/import/{each.id}",
        "ImportStatus": each.status,
        "TableArn": core.table_arn(each.name),
        "S3BucketSource": each.asked["S3BucketSource"],
        "InputFormat": each.asked["InputFormat"],
        "StartTime": each.started,
    }
    return summary if each.ended is None else summary | {"EndTime": each.ended}


def _describe(core: Core, each: ImportEntry) -> Answer:
    answer: Answer = {"InputCompressionType": "NONE"} | each.asked
    answer |= _summary(core, each)
    answer |= {
        "TableId": each.table_id,
        "ErrorCount": each.errors,
        "ProcessedSizeBytes": each.bytes,
        "ProcessedItemCount": each.processed,
        "ImportedItemCount": each.imported,
    }
    if each.failure is not None:
        answer["FailureCode"], answer["FailureMessage"] = each.failure
    return answer
