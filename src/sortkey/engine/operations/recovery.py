"""Point-in-time recovery: UpdateContinuousBackups, DescribeContinuousBackups.

While it is enabled, the table has a change log, from which any state of the last days can be restored, up to the
present: nothing has to be saved first, as on AWS.
"""

from __future__ import annotations

from typing import Final

import msgspec

from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.backups import DescribeContinuousBackups, UpdateContinuousBackups
from sortkey.engine.rows.catalog_entries import RecoveryEntry, Source, TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables import change_log
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.errors import TableInUseException, TableNotFoundException
from sortkey.storage import Transaction

DEFAULT_DAYS: Final = 35
DAY: Final = 24 * 3600 * change_log.SECOND


def update_continuous_backups(core: Core, request: UpdateContinuousBackups) -> Work:
    name = table_name_of(request.table_name)
    requested = request.point_in_time_recovery_specification

    def work(batch: WriteBatch) -> Answer:
        entry = require_entry(core, batch.transaction, name)
        if not entry.is_filled:
            raise TableInUseException(f"Table is being created: {name}")
        if requested.point_in_time_recovery_enabled:
            entry = _enabled(batch, entry, requested.recovery_period_in_days)
            core.catalog.save(batch, entry)
        elif entry.recovery is not None:
            entry = msgspec.structs.replace(entry, recovery=None)
            core.catalog.save(batch, entry)
            change_log.release(core, batch, Source(entry, 0))
        return _describe(entry, batch.moment())

    return work


def _enabled(batch: WriteBatch, entry: TableEntry, days: int | None) -> TableEntry:
    if entry.recovery is not None:
        kept = msgspec.structs.replace(entry.recovery, days=days or entry.recovery.days)
        return msgspec.structs.replace(entry, recovery=kept)
    since = batch.moment()
    batch.end_moment(since)
    return msgspec.structs.replace(
        change_log.begin(batch, entry), recovery=RecoveryEntry(since=since, days=days or DEFAULT_DAYS)
    )


def describe_continuous_backups(core: Core, request: DescribeContinuousBackups) -> Answer:
    with core.read() as transaction:
        entry = require_entry(core, transaction, table_name_of(request.table_name))
    return _describe(entry, int(core.clock.now() * change_log.SECOND))


def require_entry(core: Core, transaction: Transaction, name: str) -> TableEntry:
    table = core.catalog.find(transaction, name)
    if table is None:
        raise TableNotFoundException(f"Table not found: {name}")
    return table.entry


def earliest(recovery: RecoveryEntry, now: int) -> int:
    """The first moment whose state can be restored."""
    return max(recovery.since, now - recovery.days * DAY)


def seconds_of(moment: int) -> float:
    return moment // change_log.MICROSECOND / 1_000_000


def _describe(entry: TableEntry, now: int) -> Answer:
    """In DynamoDB, continuous backups are enabled for every table; only point-in-time recovery can be switched."""
    shown: Answer = {"PointInTimeRecoveryStatus": "DISABLED"}
    if entry.recovery is not None:
        first = earliest(entry.recovery, now)
        shown = {
            "PointInTimeRecoveryStatus": "ENABLED",
            "RecoveryPeriodInDays": entry.recovery.days,
            "EarliestRestorableDateTime": seconds_of(first),
            "LatestRestorableDateTime": seconds_of(max(first, now)),
        }
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": shown,
        }
    }
