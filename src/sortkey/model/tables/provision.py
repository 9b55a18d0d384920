"""The requests that create declared tables, and how existing tables differ from their declarations.

An index that is declared by fields has a multi-attribute key on a store that supports it (`native`). On other stores
its partition key and its sort key are one string each. A store without `projections` copies all attributes into every
index: reads are the same, and its indexes are larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from sortkey.client.stores import Capabilities
from sortkey.model.errors import Unsupported
from sortkey.model.items.item import Item
from sortkey.model.items.schema import VectorLayout
from sortkey.model.items.table import REPLICATED, Table
from sortkey.model.keys.key_layout import KeyLayout

Members = dict[str, Any]


def tables_of(declared: Iterable[type[Item] | Table]) -> tuple[Table, ...]:
    """The tables of these classes, each once; without arguments, all tables that were declared by name."""
    if isinstance(declared, (str, type, Table)):
        raise TypeError(f"expected a list of tables or classes, not {declared!r} alone")
    return tuple(dict.fromkeys(map(_table_of, declared))) or Table.all_named()


def _table_of(declared: type[Item] | Table) -> Table:
    table = declared if isinstance(declared, Table) else getattr(declared, "__table__", None)
    if not isinstance(table, Table):
        raise TypeError(f"expected sk.Table objects or classes with a table, not {declared!r}")
    return table


def require_support(tables: Iterable[Table], store: Capabilities) -> None:
    """Raises Unsupported for the first declaration that needs a feature which the store lacks."""
    for table in tables:
        needs = {
            f"TTL by {table.ttl_attribute}": table.ttl_attribute is None or store.ttl,
            "a stream": table.settings.stream is None or store.streams,
            "transactions": not table.settings.transactions or store.transactions,
        }
        needs["vector indexes"] = store.vectors or not table.vector_indexes()
        for what, given in needs.items():
            if not given:
                raise Unsupported(f"table {table.name} needs {what}, which {store.store} does not have")


def create_request(table: Table, *, native: bool = True, projections: bool = True) -> Members:
    """The CreateTable request; `ttl_request` sets the TTL afterwards."""
    primary = table.schemas[0].primary
    layouts = {name: layouts[0] for name, layouts in table.indexes(native=native).items()}
    types = {part.name: part.tag for layout in (primary, *layouts.values()) for part in layout.attributes}
    vectors = table.vector_indexes().values()
    types |= {part.name: part.tag for layout in vectors for part in layout.compared}
    members: Members = {
        "TableName": table.name,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": tag} for name, tag in types.items()],
        "KeySchema": _key_schema(primary),
        **_billing(table),
    }
    for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        indexes = [
            _index(table, name, layout, projections) for name, layout in layouts.items() if layout.local is local
        ]
        if indexes:
            members[member] = indexes
    if vectors:
        members["VectorIndexes"] = [_vector_index(layout) for layout in vectors]
    if table.settings.stream is not None:
        members |= stream_specification(table.settings.stream)
    return members


def stream_specification(images: str) -> Members:
    """The member of a request that gives a table a stream."""
    return {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": images}}


def add_index_request(table: Table, index: str, *, native: bool = True, projections: bool = True) -> Members:
    """The UpdateTable request that adds one of the declared global or vector indexes to an existing table."""
    declared = create_request(table, native=native, projections=projections)
    for vectors in declared.get("VectorIndexes", ()):
        if vectors["IndexName"] == index:
            names = {each["AttributeName"] for each in vectors.get("SearchSchema", ())}
            return {
                "TableName": table.name,
                "AttributeDefinitions": [
                    each for each in declared["AttributeDefinitions"] if each["AttributeName"] in names
                ],
                "VectorIndexUpdates": [{"Create": vectors}],
            }
    (wanted,) = (each for each in declared["GlobalSecondaryIndexes"] if each["IndexName"] == index)
    names = {each["AttributeName"] for each in wanted["KeySchema"]}
    return {
        "TableName": table.name,
        "AttributeDefinitions": [each for each in declared["AttributeDefinitions"] if each["AttributeName"] in names],
        "GlobalSecondaryIndexUpdates": [{"Create": wanted}],
    }


def ttl_request(table: Table) -> Members | None:
    if table.ttl_attribute is None:
        return None
    specification = {"Enabled": True, "AttributeName": table.ttl_attribute}
    return {"TableName": table.name, "TimeToLiveSpecification": specification}


def recovery_request(table: Table) -> Members | None:
    if not table.settings.point_in_time_recovery:
        return None
    specification = {"PointInTimeRecoveryEnabled": True}
    return {"TableName": table.name, "PointInTimeRecoverySpecification": specification}


def replica_requests(table: Table, region: str) -> list[Members]:
    """The UpdateTable requests that copy a table of one region to the others; DynamoDB takes one at a time."""
    return [
        {"TableName": table.name, "ReplicaUpdates": [{"Create": {"RegionName": each}}]}
        for each in table.settings.replicas
        if each != region
    ]


def region_of(description: Mapping[str, Any]) -> str:
    """The region that a table is in: arn:aws:dynamodb:REGION:ACCOUNT:table/NAME."""
    region: str = description["TableArn"].split(":")[3]
    return region


def _key_schema(layout: KeyLayout) -> list[dict[str, str]]:
    halves = (("HASH", layout.partitions), ("RANGE", layout.sorts))
    return [{"AttributeName": part.name, "KeyType": key_type} for key_type, parts in halves for part in parts]


def _billing(table: Table) -> Members:
    if table.settings.provisioned is None:
        return {"BillingMode": "PAY_PER_REQUEST"}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": _throughput(table.settings.provisioned)}


def _throughput(units: tuple[int, int]) -> Members:
    return {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}


def _index(table: Table, name: str, layout: KeyLayout, projections: bool) -> Members:
    projection = table.projection(name) if projections else "ALL"
    described: Members = {"ProjectionType": projection}
    if isinstance(projection, tuple):
        described = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
    members: Members = {"IndexName": name, "KeySchema": _key_schema(layout), "Projection": described}
    if table.settings.provisioned is not None and not layout.local:
        members["ProvisionedThroughput"] = _throughput(table.settings.provisioned)
    return members


def _vector_index(layout: VectorLayout) -> Members:
    projection = layout.projection
    described: Members = {"ProjectionType": projection}
    if isinstance(projection, tuple):
        described = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
    members: Members = {
        "IndexName": layout.index,
        "VectorAttribute": {"AttributeName": layout.attribute},
        "Projection": described,
        "Dimensions": layout.dimensions,
        "DistanceFunction": layout.distance,
    }
    if layout.compared:
        members["SearchSchema"] = [
            {
                "AttributeName": part.name,
                "SearchSchemaElementType": "HASH" if part is layout.partition else "INLINE_FILTER",
            }
            for part in layout.compared
        ]
    return members


def differences(
    table: Table,
    description: Mapping[str, Any] | None,
    ttl: Mapping[str, Any] | None,
    *,
    native: bool = True,
    projections: bool = True,
    backups: Mapping[str, Any] | None = None,
    regions: bool = False,
) -> list[str]:
    """How a table differs from its declaration, in words; `description` is None if it does not exist, and
    `backups` if the store has no point-in-time recovery or none is declared. A store with `regions` has replicas. More
    of both than declared is no difference."""
    if description is None:
        return [f"table {table.name} does not exist"]
    declared = create_request(table, native=native, projections=projections)
    other_form = _indexes(create_request(table, native=not native, projections=projections))
    ours, theirs = _indexes(declared), _indexes(description)
    found = [
        *_keys_differ(declared, description),
        *_indexes_differ(ours, theirs, other_form),
        *_lacking_tags(table, description),
    ]
    stream = description.get("StreamSpecification", {}).get("StreamViewType")
    # A table that somebody has given replicas has the stream that they need.
    needed_by_replicas = table.settings.stream is None and stream == REPLICATED and bool(_replicas(description))
    if stream != table.settings.stream and not needed_by_replicas:
        found.append(f"its stream is {stream}, but {table.settings.stream} is declared")
    attribute = (ttl or {}).get("AttributeName") if _is_on(ttl) else None
    if attribute != table.ttl_attribute:
        found.append(_ttl_difference(table, attribute))
    billing = description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    if billing != declared["BillingMode"]:
        found.append(f"its billing mode is {billing}, but {declared['BillingMode']} is declared")
    if backups is not None and not _is_recoverable(backups):
        found.append(_NO_RECOVERY)
    if regions:
        found += map(_no_replica, _missing_replicas(table, description))
    return [_of_table(table, each) for each in found]


def _is_recoverable(backups: Mapping[str, Any]) -> bool:
    recovery = backups.get("PointInTimeRecoveryDescription", {})
    return bool(recovery.get("PointInTimeRecoveryStatus") == "ENABLED")


_NO_RECOVERY: Final = "its point-in-time recovery is off, but declared; turn it on with update-continuous-backups"


def _no_replica(region: str) -> str:
    return f"it has no replica in {region}, which is declared; add it with update-table --replica-updates"


def _missing_replicas(table: Table, description: Mapping[str, Any]) -> list[str]:
    there = {region_of(description), *_replicas(description)}
    return [region for region in table.settings.replicas if region not in there]


def _replicas(description: Mapping[str, Any]) -> list[str]:
    return [each["RegionName"] for each in description.get("Replicas", ())]


def lacks_only_later_settings(table: Table, found: list[str]) -> bool:
    """Whether these differences are only what a program sets after it has created a table."""
    later = {_NO_RECOVERY, *map(_no_replica, table.settings.replicas)}
    if table.ttl_attribute is not None:
        later.add(_ttl_difference(table, None))
    return bool(found) and set(found) <= {_of_table(table, each) for each in later}


def _ttl_difference(table: Table, attribute: str | None) -> str:
    return f"its TTL attribute is {attribute}, but {table.ttl_attribute} is declared"


def _of_table(table: Table, difference: str) -> str:
    return f"table {table.name}: {difference}"


def has_index(description: Mapping[str, Any], index: str) -> bool:
    return index in _indexes(description)


def is_active(description: Mapping[str, Any], index: str) -> bool:
    """Whether an index is built; a local one always is."""
    states: dict[str, str] = {
        each["IndexName"]: each["IndexStatus"]
        for each in (*description.get("GlobalSecondaryIndexes", ()), *description.get("VectorIndexes", ()))
    }
    return states.get(index, "ACTIVE") == "ACTIVE"


def index_difference(
    table: Table, description: Mapping[str, Any], index: str, *, native: bool = True, projections: bool = True
) -> str | None:
    """How an index differs from its declaration, in words; None if it does not."""
    ours = {index: _indexes(create_request(table, native=native, projections=projections))[index]}
    theirs = {index: _indexes(description)[index]}
    other_form = _indexes(create_request(table, native=not native, projections=projections))
    return next(_indexes_differ(ours, theirs, other_form), None)


def _is_on(ttl: Mapping[str, Any] | None) -> bool:
    return ttl is not None and ttl.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")


def _keys_differ(declared: Members, description: Mapping[str, Any]) -> Iterator[str]:
    ours, theirs = _key(declared, declared), _key(description, description)
    if ours != theirs:
        yield f"its key is {theirs}, but {ours} is declared"


def _indexes_differ(ours: Mapping[str, str], theirs: Mapping[str, str], other_form: Mapping[str, str]) -> Iterator[str]:
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in theirs:
            yield f"index {name} does not exist"
        elif name not in ours:
            yield f"index {name} is not declared"
        elif ours[name] != theirs[name]:
            has_other_form = theirs[name] == other_form.get(name)
            reason = " (the form for another store; see docs/guides/keys.md)" if has_other_form else ""
            yield f"index {name} has {theirs[name]}, but {ours[name]} is declared{reason}"


def _lacking_tags(table: Table, description: Mapping[str, Any]) -> Iterator[str]:
    """The indexes of classes with a tag that do not project it: reads of them cannot tell what class a row is of."""
    for index in (*description.get("GlobalSecondaryIndexes", []), *description.get("LocalSecondaryIndexes", [])):
        name, projection = index["IndexName"], index["Projection"]
        if projection["ProjectionType"] == "ALL" or name not in table.indexes():
            continue
        tagged = [each for each in table.schemas if any(own.index == name for own in each.indexes.values())]
        tags = {each.tag.attribute: each.name for each in tagged if each.tag is not None}
        listed = projection.get("NonKeyAttributes", [])
        for attribute, cls in tags.items():
            if attribute not in listed:
                shown = ", ".join([projection["ProjectionType"], *listed])
                yield (
                    f"index {name} projects {shown} without {attribute}, the tag that says that a row is of {cls}, so "
                    f"its rows cannot be read; include {attribute} in its projection"
                )


def _key(described: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    names = [each["AttributeName"] for each in described["KeySchema"]]
    # DynamoDB Local no longer defines the attributes of an index that it is removing.
    return ", ".join(f"{name} ({types.get(name, 'removed')})" for name in names)


def _indexes(table: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in table.get(member, []):
            projection = index["Projection"]
            listed = sorted(projection.get("NonKeyAttributes", []))
            held = ", ".join([projection["ProjectionType"], *listed])
            local = ", local" if member.startswith("Local") else ""
            found[index["IndexName"]] = f"{_key(index, table)} with {held}{local}"
    for index in table.get("VectorIndexes", ()):
        found[index["IndexName"]] = _described_vectors(index)
    return found


def _described_vectors(index: Mapping[str, Any]) -> str:
    roles = [f"{each['AttributeName']} {each['SearchSchemaElementType']}" for each in index.get("SearchSchema", ())]
    projection = index["Projection"]
    held = ", ".join([projection["ProjectionType"], *sorted(projection.get("NonKeyAttributes", ()))])
    vector = f"{index['VectorAttribute']['AttributeName']} ({index['Dimensions']}, {index['DistanceFunction']})"
    return f"{', '.join([vector, *roles])} with {held}"
