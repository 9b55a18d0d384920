"""DescribeLimits, DescribeEndpoints, and operations on features that are not supported here.

Those have DynamoDB's answers for a table without the feature.
"""

from __future__ import annotations

from sortkey.engine.requests import features, table_name_of
from sortkey.engine.tables.core import Answer, Core
from sortkey.errors import (
    ContinuousBackupsUnavailableException,
    TableNotFoundException,
)


def describe_limits(_core: Core, _request: features.DescribeLimits) -> Answer:
    """AWS's default quotas, which are not enforced here."""
    return {
        "AccountMaxReadCapacityUnits": 80_000,
        "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000,
        "TableMaxWriteCapacityUnits": 40_000,
    }


def describe_endpoints(core: Core, _request: features.DescribeEndpoints) -> Answer:
    """Clients of this store are given an endpoint, and so do not call it by themselves."""
    address = f"dynamodb.{core.settings.region}.amazonaws.com"
    return {"Endpoints": [{"Address": address, "CachePeriodInMinutes": 1440}]}


def describe_continuous_backups(core: Core, request: features.DescribeContinuousBackups) -> Answer:
    return _backups(core, request.table_name)


def update_continuous_backups(core: Core, request: features.UpdateContinuousBackups) -> Answer:
    answer = _backups(core, request.table_name)
    if request.point_in_time_recovery_specification.point_in_time_recovery_enabled:
        raise ContinuousBackupsUnavailableException("Point-in-time recovery is not supported here")
    return answer


def _backups(core: Core, table: str) -> Answer:
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


def list_backups(_core: Core, _request: features.ListBackups) -> Answer:
    return {"BackupSummaries": []}


def list_exports(_core: Core, _request: features.ListExports) -> Answer:
    return {"ExportSummaries": []}


def list_imports(_core: Core, _request: features.ListImports) -> Answer:
    return {"ImportSummaryList": []}
