"""The requests that create declared tables, and how existing tables differ from their declarations.

An index that is declared by fields has a multi-attribute key on a store that supports it (`native`). On other stores
its partition key and its sort key are one string each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sortkey.client.stores import Capabilities
from sortkey.model.errors import Unsupported
from sortkey.model.items.item import Item
from sortkey.model.items.table import Table
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
        for index in table.indexes():
            partial = table.projection(index) != "ALL"
            needs[f"a partial projection of index {index}"] = store.index_projections or not partial
        for what, given in needs.items():
            if not given:
                raise Unsupported(f"table {table.name}: {store.store} does not support {what}")


def create_request(table: Table, *, native: bool = True) -> Members:
    """The CreateTable request; `ttl_request` sets the TTL afterwards."""
    primary = table.schemas[0].primary
    layouts = {name: layouts[0] for name, layouts in table.indexes(native=native).items()}
    types = {part.name: part.tag for layout in (primary, *layouts.values()) for part in layout.attributes}
    members: Members = {
        "TableName": table.name,
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": tag} for name, tag in types.items()],
        "KeySchema": _key_schema(primary),
        **_billing(table),
    }
    for member, local in (("GlobalSecondaryIndexes", False), ("LocalSecondaryIndexes", True)):
        indexes = [_index(table, name, layout) for name, layout in layouts.items() if layout.local is local]
        if indexes:
            members[member] = indexes
    if table.settings.stream is not None:
        members["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": table.settings.stream}
    return members


def add_index_request(table: Table, index: str, *, native: bool = True) -> Members:
    """The UpdateTable request that adds one of the declared global indexes to an existing table."""
    declared = create_request(table, native=native)
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


def _key_schema(layout: KeyLayout) -> list[dict[str, str]]:
    halves = (("HASH", layout.partitions), ("RANGE", layout.sorts))
    return [{"AttributeName": part.name, "KeyType": key_type} for key_type, parts in halves for part in parts]


def _billing(table: Table) -> Members:
    if table.settings.provisioned is None:
        return {"BillingMode": "PAY_PER_REQUEST"}
    return {"BillingMode": "PROVISIONED", "ProvisionedThroughput": _throughput(table.settings.provisioned)}


def _throughput(units: tuple[int, int]) -> Members:
    return {"ReadCapacityUnits": units[0], "WriteCapacityUnits": units[1]}


def _index(table: Table, name: str, layout: KeyLayout) -> Members:
    projection = table.projection(name)
    described: Members = {"ProjectionType": projection}
    if isinstance(projection, tuple):
        described = {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(projection)}
    members: Members = {"IndexName": name, "KeySchema": _key_schema(layout), "Projection": described}
    if table.settings.provisioned is not None and not layout.local:
        members["ProvisionedThroughput"] = _throughput(table.settings.provisioned)
    return members


def differences(
    table: Table, description: Mapping[str, Any] | None, ttl: Mapping[str, Any] | None, *, native: bool = True
) -> list[str]:
    """How a table differs from its declaration, in words; `description` is None if it does not exist."""
    if description is None:
        return [f"table {table.name} does not exist"]
    declared = create_request(table, native=native)
    other_form = _indexes(create_request(table, native=not native))
    ours, theirs = _indexes(declared), _indexes(description)
    found = [*_keys_differ(declared, description), *_indexes_differ(ours, theirs, other_form)]
    stream = description.get("StreamSpecification", {}).get("StreamViewType")
    if stream != table.settings.stream:
        found.append(f"its stream is {stream}, but {table.settings.stream} is declared")
    attribute = (ttl or {}).get("AttributeName") if _is_on(ttl) else None
    if attribute != table.ttl_attribute:
        found.append(_ttl_difference(table, attribute))
    billing = description.get("BillingModeSummary", {}).get("BillingMode", "PROVISIONED")
    if billing != declared["BillingMode"]:
        found.append(f"its billing mode is {billing}, but {declared['BillingMode']} is declared")
    return [_of_table(table, each) for each in found]


def lacks_only_ttl(table: Table, found: list[str]) -> bool:
    """Whether these differences are that a table has no TTL though one is declared, and nothing else."""
    return table.ttl_attribute is not None and found == [_of_table(table, _ttl_difference(table, None))]


def _ttl_difference(table: Table, attribute: str | None) -> str:
    return f"its TTL attribute is {attribute}, but {table.ttl_attribute} is declared"


def _of_table(table: Table, difference: str) -> str:
    return f"table {table.name}: {difference}"


def has_index(description: Mapping[str, Any], index: str) -> bool:
    return index in _indexes(description)


def is_active(description: Mapping[str, Any], index: str) -> bool:
    """Whether an index is built; a local one always is."""
    states: dict[str, str] = {
        each["IndexName"]: each["IndexStatus"] for each in description.get("GlobalSecondaryIndexes", [])
    }
    return states.get(index, "ACTIVE") == "ACTIVE"


def index_difference(table: Table, description: Mapping[str, Any], index: str, *, native: bool = True) -> str | None:
    """How an index differs from its declaration, in words; None if it does not."""
    ours = {index: _indexes(create_request(table, native=native))[index]}
    theirs = {index: _indexes(description)[index]}
    other_form = _indexes(create_request(table, native=not native))
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


def _key(described: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    return ", ".join(f"{each['AttributeName']} ({types[each['AttributeName']]})" for each in described["KeySchema"])


def _indexes(table: Mapping[str, Any]) -> dict[str, str]:
    found = {}
    for member in ("GlobalSecondaryIndexes", "LocalSecondaryIndexes"):
        for index in table.get(member, []):
            projection = index["Projection"]
            listed = sorted(projection.get("NonKeyAttributes", []))
            held = ", ".join([projection["ProjectionType"], *listed])
            local = ", local" if member.startswith("Local") else ""
            found[index["IndexName"]] = f"{_key(index, table)} with {held}{local}"
    return found
