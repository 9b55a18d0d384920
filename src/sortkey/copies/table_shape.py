"""What a table is besides its rows: keys, indexes, stream, TTL, tags, recovery; and the same table in another store.

What the other store cannot have is left out and told. A stream is made last, when all rows are there: a copy is no
change that consumers should see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import sleep
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from sortkey.client.interface import Client
from sortkey.client.stores import Capabilities
from sortkey.clock import monotonic
from sortkey.copies.errors import CopyFailed, CopyRefused
from sortkey.engine.tables.fence import FENCE_TAG
from sortkey.model.calls.steps import code_of

Members = dict[str, Any]

READY_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.05
_LONGEST_POLL_SECONDS: Final = 2.0
_NO_OPERATION: Final = frozenset({"UnknownOperationException", "ValidationException"})
"""How stores answer operations that they do not have, such as those of tags."""
_INDEXES: Final = ("GlobalSecondaryIndexes", "LocalSecondaryIndexes")
_VECTOR_MEMBERS: Final = (
    "IndexName",
    "VectorAttribute",
    "Projection",
    "Dimensions",
    "DistanceFunction",
    "SearchSchema",
)


class TableShape(NamedTuple):
    description: Mapping[str, Any]
    """As DescribeTable has it."""
    ttl_attribute: str | None
    tags: tuple[tuple[str, str], ...]
    has_recovery: bool

    @property
    def name(self) -> str:
        name: str = self.description["TableName"]
        return name

    @property
    def arn(self) -> str:
        arn: str = self.description["TableArn"]
        return arn

    @property
    def identity(self) -> str:
        """Which table it is: one that is deleted and made again has another."""
        return f"{self.arn} {self.description.get('TableId', self.description['CreationDateTime'])}"

    @property
    def key(self) -> tuple[str, ...]:
        """The attributes of its key."""
        return tuple(part["AttributeName"] for part in self.description["KeySchema"])

    @property
    def index_keys(self) -> dict[str, tuple[str, ...]]:
        """The key attributes of each index."""
        listed = (
            *self.description.get("GlobalSecondaryIndexes", ()),
            *self.description.get("LocalSecondaryIndexes", ()),
        )
        return {each["IndexName"]: tuple(part["AttributeName"] for part in each["KeySchema"]) for each in listed}

    @property
    def view_type(self) -> str | None:
        """What its stream records; None if it has no stream."""
        stream: Mapping[str, Any] = self.description.get("StreamSpecification", {})
        return stream.get("StreamViewType") if stream.get("StreamEnabled") else None

    @property
    def rows(self) -> int:
        rows: int = self.description.get("ItemCount", 0)
        return rows

    @property
    def bytes(self) -> int:
        size: int = self.description.get("TableSizeBytes", 0)
        return size


def names_of(client: Client) -> list[str]:
    names: list[str] = []
    last: Members = {}
    while True:
        answer = client.list_tables(**last)
        names += answer["TableNames"]
        if "LastEvaluatedTableName" not in answer:
            return names
        last = {"ExclusiveStartTableName": answer["LastEvaluatedTableName"]}


def description_of(client: Client, table: str) -> Mapping[str, Any] | None:
    """None if there is no such table."""
    try:
        found: Mapping[str, Any] = client.describe_table(TableName=table)["Table"]
    except ClientError as error:
        if code_of(error) != "ResourceNotFoundException":
            raise
        return None
    return found


def shape_of(client: Client, table: str) -> TableShape:
    store = client.capabilities()
    description = description_of(client, table)
    if description is None:
        raise CopyRefused(f"there is no table {table}")
    ttl = _asked(client.describe_time_to_live, TableName=table) if store.ttl else {}
    ttl = ttl.get("TimeToLiveDescription", {})
    is_on = ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    backups = _asked(client.describe_continuous_backups, TableName=table) if store.recovery else {}
    recovery = backups.get("ContinuousBackupsDescription", {}).get("PointInTimeRecoveryDescription", {})
    has_recovery = recovery.get("PointInTimeRecoveryStatus") == "ENABLED"
    tags = tuple(_tags(client, description["TableArn"]))
    return TableShape(description, ttl.get("AttributeName") if is_on else None, tags, has_recovery)


def _tags(client: Client, arn: str) -> Iterator[tuple[str, str]]:
    token: Members = {}
    while True:
        answer = _asked(client.list_tags_of_resource, ResourceArn=arn, **token)
        for tag in answer.get("Tags", ()):
            if tag["Key"] != FENCE_TAG and not tag["Key"].startswith("aws:"):
                yield tag["Key"], tag["Value"]
        if not answer.get("NextToken"):
            return
        token = {"NextToken": answer["NextToken"]}


def _asked(operation: Callable[..., Members], **members: Any) -> Members:
    """The answer; {} of a store that does not have the operation."""
    try:
        return operation(**members)
    except ClientError as error:
        if code_of(error) not in _NO_OPERATION:
            raise
        return {}


class Plan(NamedTuple):
    """How a table is made in another store."""

    create: Members
    left_out: list[str]
    """What the store cannot have, in words."""


def plan_of(shape: TableShape, store: Capabilities) -> Plan:
    described = shape.description
    left_out: list[str] = []
    billing = described.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    members: Members = {"TableName": shape.name, "KeySchema": described["KeySchema"], "BillingMode": billing}
    if billing == "PROVISIONED":
        members["ProvisionedThroughput"] = _throughput(described)
    if described.get("DeletionProtectionEnabled"):
        members["DeletionProtectionEnabled"] = True
    if "TableClassSummary" in described:
        members["TableClass"] = described["TableClassSummary"]["TableClass"]
    for member in _INDEXES:
        indexes = [_index(each, billing, store, left_out) for each in described.get(member, ())]
        kept = [each for each in indexes if each is not None]
        if kept:
            members[member] = kept
            if member.startswith("Local") or billing != "PROVISIONED":
                for each in kept:
                    each.pop("ProvisionedThroughput", None)
    vectors = described.get("VectorIndexes", ())
    if vectors and store.vectors:
        members["VectorIndexes"] = [{name: each[name] for name in _VECTOR_MEMBERS if name in each} for each in vectors]
    elif vectors:
        left_out.append(f"the vector indexes {', '.join(each['IndexName'] for each in vectors)}")
    used = _attributes(members)
    members["AttributeDefinitions"] = [
        each for each in described["AttributeDefinitions"] if each["AttributeName"] in used
    ]
    left_out += _lacking(shape, store)
    return Plan(members, left_out)


def _lacking(shape: TableShape, store: Capabilities) -> list[str]:
    found = []
    if shape.view_type is not None and not store.streams:
        found.append("its stream")
    if shape.ttl_attribute is not None and not store.ttl:
        found.append(f"TTL by {shape.ttl_attribute}")
    if shape.has_recovery and not store.recovery:
        found.append("point-in-time recovery")
    if shape.description.get("Replicas"):
        found.append("its replicas in other regions")
    if shape.description.get("SSEDescription", {}).get("SSEType") == "KMS":
        found.append("the KMS key that encrypts it")
    return found


def _index(described: Mapping[str, Any], billing: str, store: Capabilities, left_out: list[str]) -> Members | None:
    name = described["IndexName"]
    if len(described["KeySchema"]) > 2 and not store.multi_attribute_index_keys:
        left_out.append(f"index {name}, whose key has several attributes")
        return None
    projection = dict(described["Projection"])
    if projection["ProjectionType"] != "ALL" and not store.index_projections:
        left_out.append(f"the projection of index {name}, which has all attributes there")
        projection = {"ProjectionType": "ALL"}
    members: Members = {"IndexName": name, "KeySchema": described["KeySchema"], "Projection": projection}
    if billing == "PROVISIONED" and "ProvisionedThroughput" in described:
        members["ProvisionedThroughput"] = _throughput(described)
    return members


def _throughput(described: Mapping[str, Any]) -> Members:
    units = described["ProvisionedThroughput"]
    return {name: units[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}


def _attributes(members: Members) -> set[str]:
    schemas = [members["KeySchema"]]
    for member in _INDEXES:
        schemas += [each["KeySchema"] for each in members.get(member, ())]
    schemas += [each.get("SearchSchema", ()) for each in members.get("VectorIndexes", ())]
    return {part["AttributeName"] for schema in schemas for part in schema}


def make(client: Client, shape: TableShape) -> None:
    """Make the table, without its stream, and wait until it can be used."""
    client.create_table(**plan_of(shape, client.capabilities()).create)
    wait_until_ready(client, shape.name)


def complete(client: Client, shape: TableShape) -> list[str]:
    """Give a table its TTL, tags and recovery. Returns what was left out of it."""
    store = client.capabilities()
    left_out = list(plan_of(shape, store).left_out)
    made = shape_of(client, shape.name)
    if shape.ttl_attribute is not None and made.ttl_attribute is None and store.ttl:
        specification = {"Enabled": True, "AttributeName": shape.ttl_attribute}
        client.update_time_to_live(TableName=shape.name, TimeToLiveSpecification=specification)
    if shape.tags:
        try:
            tags = [{"Key": key, "Value": value} for key, value in shape.tags]
            client.tag_resource(ResourceArn=made.arn, Tags=tags)
        except ClientError as error:
            if code_of(error) not in _NO_OPERATION:
                raise
            left_out.append("its tags")
    if shape.has_recovery and not made.has_recovery and store.recovery:
        wanted = {"PointInTimeRecoveryEnabled": True}
        client.update_continuous_backups(TableName=shape.name, PointInTimeRecoverySpecification=wanted)
    return left_out


def enable_stream(client: Client, table: str, view_type: str) -> None:
    specification = {"StreamEnabled": True, "StreamViewType": view_type}
    client.update_table(TableName=table, StreamSpecification=specification)
    wait_until_ready(client, table)


def disable_stream(client: Client, table: str) -> None:
    client.update_table(TableName=table, StreamSpecification={"StreamEnabled": False})


def wait_until_ready(client: Client, table: str) -> None:
    until, pause = monotonic() + READY_SECONDS, _POLL_SECONDS
    while not _is_ready(client.describe_table(TableName=table)["Table"]):
        if monotonic() > until:
            raise CopyFailed(f"table {table} is not ready after {READY_SECONDS:.0f} s; run the command again later")
        sleep(pause)
        pause = min(2 * pause, _LONGEST_POLL_SECONDS)


def _is_ready(description: Mapping[str, Any]) -> bool:
    indexes = (*description.get("GlobalSecondaryIndexes", ()), *description.get("VectorIndexes", ()))
    states = [description["TableStatus"], *(each["IndexStatus"] for each in indexes)]
    return all(state == "ACTIVE" for state in states)


def require_same_keys(shape: TableShape, existing: Mapping[str, Any]) -> None:
    """Raises CopyRefused if rows of the one table do not fit into the other."""
    if _keys(shape.description) != _keys(existing):
        raise CopyRefused(
            f"table {shape.name} has the key {_keys(existing)} in the target, and {_keys(shape.description)} in the "
            "source; drop it there, or leave it out with --tables"
        )


def _keys(description: Mapping[str, Any]) -> str:
    types = {each["AttributeName"]: each["AttributeType"] for each in description["AttributeDefinitions"]}
    names = [part["AttributeName"] for part in description["KeySchema"]]
    return ", ".join(f"{name} ({types[name]})" for name in names)
