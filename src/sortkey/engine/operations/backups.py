"""Backups: CreateBackup, DescribeBackup, ListBackups, DeleteBackup.

A backup is the state of a table at the moment of the request. The request only notes the moment and begins a change log
(`tables/change_log.py`). The janitor then copies the table into compressed blocks in small steps, and undoes what has
changed since (`janitor/backups.py`). So writers hardly notice, a killed process loses nothing, and the table may change
or be deleted meanwhile.

A table that is deleted while its point-in-time recovery is enabled leaves a system backup for 35 days.
"""

from __future__ import annotations

import re
import secrets
from typing import Any, Final

from sortkey.engine.operations.tags import resource_of_arn
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.backups import CreateBackup, DeleteBackup, DescribeBackup, ListBackups
from sortkey.engine.rows import records
from sortkey.engine.rows.catalog_entries import BackupEntry, IndexEntry, Source, TableEntry
from sortkey.engine.rows.job_records import BACKUPS, RESTORES
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log, description
from sortkey.engine.tables.core import Answer, Core, Work, new_space, release_space
from sortkey.engine.tables.definition import KeyNames
from sortkey.engine.tables.settings import ENCRYPTION, ON_DEMAND_MAXIMUM
from sortkey.errors import (
    BackupInUseException,
    BackupNotFoundException,
    TableInUseException,
    TableNotFoundException,
    ValidationException,
)
from sortkey.storage import Transaction

USER: Final = "USER"
SYSTEM: Final = "SYSTEM"
DEFAULT_LIMIT: Final = 100
DELETED_TABLE_SECONDS: Final = 35 * 24 * 3600
_BACKUP: Final = re.compile(r"table/([^/:]+)/backup/([0-9]{14}-[0-9a-f]{8})")


def create_backup(core: Core, request: CreateBackup) -> Work:
    name = table_name_of(request.table_name)

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.find(batch.transaction, name)
        if table is None:
            raise TableNotFoundException(f"Table not found: {name}")
        if not table.entry.is_filled:
            raise TableInUseException(f"Table is being created: {name}")
        for other in BACKUPS.all(batch.transaction):
            if other.position is not None and other.source.table.id == table.entry.id:
                raise BackupInUseException(
                    "There is another ongoing conflicting backup control plane operation on the table"
                )
        entry = change_log.begin(batch, table.entry)
        core.catalog.save(batch, entry)
        return {"BackupDetails": _details(core, _begin(batch, entry, request.backup_name, USER))}

    return work


def keep_deleted(batch: WriteBatch, entry: TableEntry) -> None:
    """Back up a table that is being deleted; its rows stay until they are copied."""
    # No change follows, so the rows are what they were at any later moment.
    _begin(batch, entry, f"{entry.name}$DeletedTableBackup", SYSTEM, batch.now + DELETED_TABLE_SECONDS)


def _begin(batch: WriteBatch, table: TableEntry, name: str, type_: str, expires: float | None = None) -> BackupEntry:
    moment = batch.moment()
    batch.end_moment(moment)
    items, size = batch.count_of(records.space_bytes(table.space))
    backup = BackupEntry(
        id=f"{moment // 1_000_000:014}-{secrets.token_hex(4)}",
        name=name,
        type=type_,
        source=Source(table, moment),
        space=new_space(batch),
        items=items,
        bytes=size,
        expires=expires,
    )
    BACKUPS.save(batch, backup.id, backup)
    return backup


def describe_backup(core: Core, request: DescribeBackup) -> Answer:
    with core.read() as transaction:
        return {"BackupDescription": _describe(core, require_backup(transaction, request.backup_arn))}


def list_backups(core: Core, request: ListBackups) -> Answer:
    """A page of backups, oldest first."""
    name = None if request.table_name is None else table_name_of(request.table_name)
    after = "" if request.exclusive_start_backup_arn is None else _id_of(request.exclusive_start_backup_arn)[1]
    low, high = request.time_range_lower_bound, request.time_range_upper_bound
    with core.read() as transaction:
        found = [
            backup
            for backup in BACKUPS.all(transaction)
            if backup.id > after
            and name in (None, backup.source.table.name)
            and (request.backup_type or "ALL") in ("ALL", backup.type)
            and (low is None or backup.created >= low)
            and (high is None or backup.created < high)
        ]
    page = found[: request.limit or DEFAULT_LIMIT]
    answer: Answer = {"BackupSummaries": [_summary(core, backup) for backup in page]}
    if len(found) > len(page):
        answer["LastEvaluatedBackupArn"] = arn_of(core, page[-1])
    return answer


def delete_backup(core: Core, request: DeleteBackup) -> Work:
    def work(batch: WriteBatch) -> Answer:
        backup = require_backup(batch.transaction, request.backup_arn)
        if backup.position is not None:
            raise BackupInUseException("The backup is being created")
        if is_read(batch, backup):
            raise BackupInUseException("A table is being restored from the backup")
        shown = _describe(core, backup)
        remove(batch, backup)
        return {"BackupDescription": shown | {"BackupDetails": shown["BackupDetails"] | {"BackupStatus": "DELETED"}}}

    return work


def is_read(batch: WriteBatch, backup: BackupEntry) -> bool:
    """Whether a table is being restored from the backup."""
    return any(restore.backup_id == backup.id for restore in RESTORES.all(batch.transaction))


def remove(batch: WriteBatch, backup: BackupEntry) -> None:
    BACKUPS.remove(batch, backup.id)
    release_space(batch, backup.space)


def require_backup(transaction: Transaction, arn: str) -> BackupEntry:
    table, backup_id = _id_of(arn)
    found = BACKUPS.find(transaction, backup_id)
    if found is None or found.source.table.name != table:
        raise BackupNotFoundException(f"Backup not found: {arn}")
    return found


def _id_of(arn: str) -> tuple[str, str]:
    resource = resource_of_arn(arn, "DescribeBackup")
    found = _BACKUP.fullmatch(resource)
    if found is None:
        raise ValidationException(f"Invalid Request: Provided Backup ARN is invalid: {arn}")
    return found[1], found[2]


def arn_of(core: Core, backup: BackupEntry) -> str:
    return f"{core.table_arn(backup.source.table.name)}/backup/{backup.id}"


def _status(backup: BackupEntry) -> str:
    return "AVAILABLE" if backup.position is None else "CREATING"


def _summary(core: Core, backup: BackupEntry) -> Answer:
    table = backup.source.table
    source = {"TableName": table.name, "TableId": table.id, "TableArn": core.table_arn(table.name)}
    return source | _details(core, backup)


def _details(core: Core, backup: BackupEntry) -> Answer:
    shown: Answer = {
        "BackupArn": arn_of(core, backup),
        "BackupName": backup.name,
        "BackupSizeBytes": backup.bytes,
        "BackupStatus": _status(backup),
        "BackupType": backup.type,
        "BackupCreationDateTime": round(backup.created, 3),
    }
    return shown if backup.expires is None else shown | {"BackupExpiryDateTime": round(backup.expires, 3)}


def _describe(core: Core, backup: BackupEntry) -> Answer:
    return {
        "BackupDetails": _details(core, backup),
        "SourceTableDetails": _source_details(core, backup),
        "SourceTableFeatureDetails": _features(backup.source.table),
    }


def _source_details(core: Core, backup: BackupEntry) -> Answer:
    table = backup.source.table
    shown: Answer = {
        "TableName": table.name,
        "TableId": table.id,
        "TableArn": core.table_arn(table.name),
        "TableSizeBytes": backup.bytes,
        "KeySchema": description.key_schema(KeyNames(table.partition, table.sort)),
        "TableCreationDateTime": table.created,
        "ProvisionedThroughput": _throughput(table),
        "ItemCount": backup.items,
        "BillingMode": table.billing_mode,
    }
    maximum = table.settings.get(ON_DEMAND_MAXIMUM)
    return shown if maximum is None else shown | {"OnDemandThroughput": maximum}


def _throughput(entry: TableEntry | IndexEntry) -> dict[str, int]:
    return {"ReadCapacityUnits": entry.throughput.read, "WriteCapacityUnits": entry.throughput.write}


def _features(table: TableEntry) -> Answer:
    lists = {
        "LocalSecondaryIndexes": [_index(index) for index in table.indexes if index.local],
        "GlobalSecondaryIndexes": [
            _index(index) | {"ProvisionedThroughput": _throughput(index)} for index in table.indexes if not index.local
        ],
        "VectorIndexes": [description.vector_index(index) for index in table.vector_indexes],
    }
    shown: Answer = {name: indexes for name, indexes in lists.items() if indexes}
    if table.streams and table.streams[-1].disabled is None:
        shown["StreamDescription"] = {"StreamEnabled": True, "StreamViewType": table.streams[-1].view_type}
    if table.ttl_attribute is not None:
        shown["TimeToLiveDescription"] = {"TimeToLiveStatus": "ENABLED", "AttributeName": table.ttl_attribute}
    if ENCRYPTION in table.settings:
        shown[ENCRYPTION] = table.settings[ENCRYPTION]
    return shown


def _index(index: IndexEntry) -> dict[str, Any]:
    return {
        "IndexName": index.name,
        "KeySchema": description.key_schema(KeyNames.of(index)),
        "Projection": description.projection(index),
    }
