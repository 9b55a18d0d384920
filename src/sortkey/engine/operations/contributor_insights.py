"""Contributor insights: UpdateContributorInsights, DescribeContributorInsights, ListContributorInsights.

A setting of a table or a global index. AWS shows the keys themselves in CloudWatch; here the hottest ones are measured
whether insights are enabled or not (`hot_partitions`), and are among the metrics.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, urlsafe_b64encode
from typing import Final

import msgspec

from sortkey.engine.requests import features, table_name_of
from sortkey.engine.rows.catalog_entries import InsightsEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.table import Table
from sortkey.errors import ResourceNotFoundException, ValidationException

ALL_KEYS: Final = "ACCESSED_AND_THROTTLED_KEYS"
TABLE: Final = ""
"""The name under which a table's own insights are kept."""
PAGE: Final = 100


def update_contributor_insights(core: Core, request: features.UpdateContributorInsights) -> Work:
    """Switch insights. They are in force when this is answered; the answer has AWS's words for the way there."""
    name = table_name_of(request.table_name)
    enabled = request.contributor_insights_action == "ENABLE"

    def work(batch: WriteBatch) -> Answer:
        table = core.catalog.require_named(batch.transaction, name)
        _check_index(table, request.index_name)
        index = request.index_name or TABLE
        before = table.entry.insights.get(index)
        mode = request.contributor_insights_mode or (ALL_KEYS if before is None else before.mode)
        insights = table.entry.insights | {index: InsightsEntry(enabled, mode, round(batch.now, 3))}
        core.catalog.save(batch, msgspec.structs.replace(table.entry, insights=insights))
        status = {"ContributorInsightsStatus": "ENABLING" if enabled else "DISABLING", "ContributorInsightsMode": mode}
        return _resource(name, index) | status

    return work


def describe_contributor_insights(core: Core, request: features.DescribeContributorInsights) -> Answer:
    with core.read() as transaction:
        table = core.catalog.require_named(transaction, table_name_of(request.table_name))
    _check_index(table, request.index_name)
    index = request.index_name or TABLE
    insights = table.entry.insights.get(index)
    if insights is None:
        return _resource(table.name, index) | {"ContributorInsightsStatus": "DISABLED"}
    return _resource(table.name, index) | _status(insights) | {"LastUpdateDateTime": insights.updated}


def list_contributor_insights(core: Core, request: features.ListContributorInsights) -> Answer:
    """The tables and indexes whose insights were ever switched, in the order of their names."""
    with core.read() as transaction:
        tables = core.catalog.tables(transaction)
        if request.table_name is not None:
            name = table_name_of(request.table_name)
            tables = {name: core.catalog.require_named(transaction, name)}
    found = sorted((name, index) for name, table in tables.items() for index in table.entry.insights)
    if request.next_token is not None:
        after = _place_of(request.next_token)
        found = [place for place in found if place > after]
    most = PAGE if request.max_results is None or request.max_results < 1 else request.max_results
    page = found[:most]
    answer: Answer = {
        "ContributorInsightsSummaries": [
            _resource(name, index) | _status(tables[name].entry.insights[index]) for name, index in page
        ]
    }
    if len(found) > most:
        answer["NextToken"] = urlsafe_b64encode("/".join(page[-1]).encode()).decode()
    return answer


def _place_of(token: str) -> tuple[str, str]:
    """The last place of the previous page. Neither name has a slash."""
    try:
        table, slash, index = b64decode(token.encode(), altchars=b"-_", validate=True).decode().partition("/")
    except (binascii.Error, UnicodeError) as error:
        raise ValidationException("Invalid NextToken") from error
    if not slash:
        raise ValidationException("Invalid NextToken")
    return table, index


def _check_index(table: Table, index: str | None) -> None:
    if index is not None and index not in table.indexes:
        raise ResourceNotFoundException(f"Requested resource not found: Index: {index} not found")


def _resource(table: str, index: str) -> Answer:
    return {"TableName": table} if index == TABLE else {"TableName": table, "IndexName": index}


def _status(insights: InsightsEntry) -> Answer:
    status = "ENABLED" if insights.enabled else "DISABLED"
    return {"ContributorInsightsStatus": status, "ContributorInsightsMode": insights.mode}
