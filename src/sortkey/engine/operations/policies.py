"""Resource-based policies of tables and streams: PutResourcePolicy, GetResourcePolicy, DeleteResourcePolicy.

They are stored with the table or stream. The endpoint enforces them for callers that have keys; see
`wire/authentication.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from sortkey.engine.operations.tags import resource_of_arn, table_of_arn
from sortkey.engine.requests.features import DeleteResourcePolicy, GetResourcePolicy, PutResourcePolicy
from sortkey.engine.rows.catalog_entries import PolicyEntry, TableEntry
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.resource_policy import Policy, parse_policy
from sortkey.engine.tables.table import Table
from sortkey.errors import PolicyNotFoundException, ResourceNotFoundException
from sortkey.storage import Transaction

NO_POLICY: Final = "NO_POLICY"
"""The expected revision of a resource that must not have a policy yet."""
STREAM: Final = "/stream/"


class _Resource(NamedTuple):
    """A table, or one of its streams, whose policies are independent of each other."""

    entry: TableEntry
    stream: int | None
    """The place of the stream among the table's; None for the table itself."""

    @property
    def policy(self) -> PolicyEntry | None:
        return self.entry.policy if self.stream is None else self.entry.streams[self.stream].policy

    def with_policy(self, policy: PolicyEntry | None) -> TableEntry:
        if self.stream is None:
            return msgspec.structs.replace(self.entry, policy=policy)
        streams = list(self.entry.streams)
        streams[self.stream] = msgspec.structs.replace(streams[self.stream], policy=policy)
        return msgspec.structs.replace(self.entry, streams=streams)


def put_resource_policy(core: Core, request: PutResourcePolicy) -> Work:
    """Attach a policy, or replace the one that the resource has."""
    parse_policy(request.policy, request.resource_arn)

    def work(batch: WriteBatch) -> Answer:
        resource = _resource(core, batch.transaction, request.resource_arn, "PutResourcePolicy")
        _check_revision(resource.policy, request.expected_revision_id, request.resource_arn)
        policy = new_policy(request.policy, batch.now, resource.policy)
        core.catalog.save(batch, resource.with_policy(policy))
        return _revision(policy)

    return work


def get_resource_policy(core: Core, request: GetResourcePolicy) -> Answer:
    with core.read() as transaction:
        policy = _resource(core, transaction, request.resource_arn, "GetResourcePolicy").policy
    if policy is None:
        raise _no_policy(request.resource_arn)
    return {"Policy": policy.text} | _revision(policy)


def delete_resource_policy(core: Core, request: DeleteResourcePolicy) -> Work:
    """Detach the policy. A resource without one is left as it is, unless a revision was expected."""

    def work(batch: WriteBatch) -> Answer:
        resource = _resource(core, batch.transaction, request.resource_arn, "DeleteResourcePolicy")
        _check_revision(resource.policy, request.expected_revision_id, request.resource_arn)
        if resource.policy is not None:
            core.catalog.save(batch, resource.with_policy(None))
        return _revision(resource.policy)

    return work


def new_policy(text: str | None, now: float, before: PolicyEntry | None = None) -> PolicyEntry | None:
    """The entry of a policy that replaces another; its revision is greater, whatever the clock says."""
    if text is None:
        return None
    return PolicyEntry(text, max(int(now * 1000), 0 if before is None else before.revision + 1))


def _resource(core: Core, transaction: Transaction, arn: str, operation: str) -> _Resource:
    table_arn, is_stream, label = arn.partition(STREAM)
    if not is_stream:
        return _Resource(table_of_arn(core, transaction, arn, operation).entry, None)
    resource_of_arn(arn, operation)
    entry = table_of_arn(core, transaction, table_arn, operation).entry
    for place, stream in enumerate(entry.streams):
        if stream.label == label:
            return _Resource(entry, place)
    raise ResourceNotFoundException(f"Requested resource not found: ResourceArn: {arn} not found")


def _check_revision(policy: PolicyEntry | None, expected: str | None, arn: str) -> None:
    present = NO_POLICY if policy is None else str(policy.revision)
    if expected is not None and expected != present:
        raise _no_policy(arn)


def _revision(policy: PolicyEntry | None) -> Answer:
    return {} if policy is None else {"RevisionId": str(policy.revision)}


def _no_policy(arn: str) -> PolicyNotFoundException:
    return PolicyNotFoundException(f"Resource-based policy not found for the provided ResourceArn: {arn}")


class PolicyBook:
    """The policies of all tables and streams by ARN, parsed once for each version of the catalog."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._tables: Mapping[str, Table] = {}
        self._policies: dict[str, Policy] = {}

    def current(self) -> Mapping[str, Policy]:
        snapshot, tables = self._core.read_tables()
        snapshot.abort()
        # The catalog makes a new mapping for each of its versions.
        if tables is not self._tables:
            self._policies = {arn: parse_policy(entry.text, arn) for arn, entry in self._entries(tables)}
            self._tables = tables
        return self._policies

    def _entries(self, tables: Mapping[str, Table]) -> list[tuple[str, PolicyEntry]]:
        found: list[tuple[str, PolicyEntry | None]] = []
        for table in tables.values():
            arn = self._core.table_arn(table.name)
            found.append((arn, table.entry.policy))
            found += ((f"{arn}{STREAM}{stream.label}", stream.policy) for stream in table.entry.streams)
        return [(arn, entry) for arn, entry in found if entry is not None]
