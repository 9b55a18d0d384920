"""DescribeContinuousBackups and UpdateContinuousBackups: point-in-time recovery is disabled and not supported."""

from __future__ import annotations

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests import table_name_of
from sortkey.engine.requests.features import DescribeContinuousBackups, UpdateContinuousBackups
from sortkey.errors import ContinuousBackupsUnavailableException, TableNotFoundException


def describe_continuous_backups(core: Core, request: DescribeContinuousBackups) -> Answer:
    return _answer(core, request.table_name)


def update_continuous_backups(core: Core, request: UpdateContinuousBackups) -> Answer:
    answer = _answer(core, request.table_name)
    if request.point_in_time_recovery_specification.point_in_time_recovery_enabled:
        raise ContinuousBackupsUnavailableException("Point-in-time recovery is not supported here")
    return answer


def _answer(core: Core, table: str) -> Answer:
    """In DynamoDB, continuous backups are enabled for every table; only point-in-time recovery can be switched."""
    name = table_name_of(table)
    with core.read() as transaction:
        if core.catalog.find(transaction, name) is None:
            raise TableNotFoundException(f"Table not found: {name}")
    return {
        "ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "ENABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"},
        }
    }
