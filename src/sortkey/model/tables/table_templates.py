"""Declared tables as text for the tools that create them: CloudFormation, Terraform, the CDK, or requests in JSON.

All of them are made from the requests that `create_tables` sends, so they create the same tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from sortkey.model.errors import Unsupported
from sortkey.model.items.table import Table
from sortkey.model.tables import provision

Members = Mapping[str, Any]

_KEEP: Final = "Retain"
"""A table with data must not disappear with its stack."""

_CDK_CLASSES: Final = {
    "AttributeDefinitions": "AttributeDefinitionProperty",
    "GlobalSecondaryIndexes": "GlobalSecondaryIndexProperty",
    "KeySchema": "KeySchemaProperty",
    "LocalSecondaryIndexes": "LocalSecondaryIndexProperty",
    "PointInTimeRecoverySpecification": "PointInTimeRecoverySpecificationProperty",
    "Projection": "ProjectionProperty",
    "ProvisionedThroughput": "ProvisionedThroughputProperty",
    "StreamSpecification": "StreamSpecificationProperty",
    "TimeToLiveSpecification": "TimeToLiveSpecificationProperty",
}


def requests(tables: Sequence[Table]) -> str:
    """The requests, in the order in which they are sent. A table with replicas is created in the first region."""
    sent = [{"CreateTable": provision.create_request(table)} for table in tables]
    sent += [{"UpdateTimeToLive": ttl} for table in tables if (ttl := provision.ttl_request(table)) is not None]
    sent += [
        {"UpdateContinuousBackups": recovery}
        for table in tables
        if (recovery := provision.recovery_request(table)) is not None
    ]
    for table in tables:
        home = next(iter(table.settings.replicas), "")
        sent += [{"UpdateTable": request} for request in provision.replica_requests(table, home)]
    return _json(sent)


def cloudformation(tables: Sequence[Table]) -> str:
    """A template in JSON."""
    template = {"AWSTemplateFormatVersion": "2010-09-09", **cloudformation_tables(logical_ids(tables))}
    return _json(template)


def cloudformation_tables(tables: Mapping[str, Table]) -> dict[str, dict[str, Any]]:
    """The `Resources` of tables by their logical ids, and the `Conditions` that they need, if any."""
    conditions = {}
    resources = {}
    for name, table in tables.items():
        if table.settings.replicas:
            conditions[_elsewhere(name)] = _is_elsewhere(table.settings.replicas)
        resources[name] = {
            "Type": "AWS::DynamoDB::GlobalTable" if table.settings.replicas else "AWS::DynamoDB::Table",
            "DeletionPolicy": _KEEP,
            "UpdateReplacePolicy": _KEEP,
            "Properties": _global_properties(name, table) if table.settings.replicas else _properties(table),
        }
    return {"Conditions": conditions, "Resources": resources} if conditions else {"Resources": resources}


def logical_ids(tables: Sequence[Table]) -> dict[str, Table]:
    """Tables by the names that they have in a template."""
    return _by_name(tables, _camel_case)


def _elsewhere(name: str) -> str:
    return f"{name}IsElsewhere"


def _is_elsewhere(regions: Sequence[str]) -> dict[str, Any]:
    """Whether the stack is in none of the regions; CloudFormation wants its own region among the replicas."""
    tests: list[Any] = [{"Fn::Equals": [{"Ref": "AWS::Region"}, region]} for region in regions]
    while len(tests) > 1:
        tests = [{"Fn::Or": tests[:10]}, *tests[10:]]
    return {"Fn::Not": tests}


def _global_properties(name: str, table: Table) -> dict[str, Any]:
    properties = _properties(table)
    recovery = properties.pop("PointInTimeRecoverySpecification", None)
    own: Members = {} if recovery is None else {"PointInTimeRecoverySpecification": recovery}
    here = {"Region": {"Ref": "AWS::Region"}, **own}
    properties["Replicas"] = [
        *({"Region": region, **own} for region in table.settings.replicas),
        {"Fn::If": [_elsewhere(name), here, {"Ref": "AWS::NoValue"}]},
    ]
    return properties


def terraform(tables: Sequence[Table]) -> str:
    """One resource for each table."""
    _reject_vectors(tables)
    resources = [_terraform_resource(name, table) for name, table in _by_name(tables, _snake_case).items()]
    region = [_TERRAFORM_REGION] if any(table.settings.replicas for table in tables) else []
    return "\n".join([*region, *("\n".join(resource) + "\n" for resource in resources)])


def _reject_vectors(tables: Sequence[Table]) -> None:
    """Raises Unsupported, rather than leave out what the tool may not have yet."""
    for table in tables:
        if table.vector_indexes():
            raise Unsupported(f"table {table.name}: only CloudFormation templates can have vector indexes")


def cdk(tables: Sequence[Table]) -> str:
    """A module with one stack."""
    _reject_vectors(tables)
    classes = sorted({_cdk_class(table) for table in tables})
    lines = [
        "from aws_cdk import RemovalPolicy, Stack",
        f"from aws_cdk.aws_dynamodb import {', '.join(classes)}",
        "from constructs import Construct",
        "",
        "",
        "class Tables(Stack):",
        "    def __init__(self, scope: Construct, id: str) -> None:",
        "        super().__init__(scope, id)",
    ]
    for name, table in _by_name(tables, _camel_case).items():
        variable = f"{_snake_case(name)}_table"
        made_by = _cdk_class(table)
        arguments = [f"{_snake_case(each)}={_cdk(made_by, each, value, 3)}" for each, value in _cdk_properties(table)]
        lines += [
            f"        {variable} = {made_by}(",
            "            self,",
            f"            {_quoted(name)},",
            *(f"            {argument}," for argument in arguments),
            "        )",
            f"        {variable}.apply_removal_policy(RemovalPolicy.RETAIN)",
        ]
    return "\n".join(lines) + "\n"


def _properties(table: Table) -> dict[str, Any]:
    """As CloudFormation has them, which knows the TTL and has no StreamEnabled."""
    properties: dict[str, Any] = dict(provision.create_request(table))
    if "StreamSpecification" in properties:
        properties["StreamSpecification"] = {"StreamViewType": table.settings.stream}
    ttl = provision.ttl_request(table)
    if ttl is not None:
        properties["TimeToLiveSpecification"] = ttl["TimeToLiveSpecification"]
    recovery = provision.recovery_request(table)
    if recovery is not None:
        properties["PointInTimeRecoverySpecification"] = recovery["PointInTimeRecoverySpecification"]
    return properties


def _terraform_resource(name: str, table: Table) -> Iterator[str]:
    request = provision.create_request(table)
    yield f'resource "aws_dynamodb_table" "{name}" {{'
    settings: dict[str, Any] = {"name": table.name, "billing_mode": request["BillingMode"]}
    settings |= _terraform_capacity(request) | _terraform_key(request["KeySchema"])
    if table.settings.stream is not None:
        settings |= {"stream_enabled": True, "stream_view_type": table.settings.stream}
    yield from _terraform_settings(settings, 1)
    for each in request["AttributeDefinitions"]:
        yield from _terraform_block("attribute", {"name": each["AttributeName"], "type": each["AttributeType"]})
    for index in request.get("GlobalSecondaryIndexes", ()):
        yield from _terraform_global_index(index)
    for index in request.get("LocalSecondaryIndexes", ()):
        key = {"range_key": index["KeySchema"][1]["AttributeName"]}
        yield from _terraform_block("local_secondary_index", {"name": index["IndexName"], **key, **_projection(index)})
    if table.settings.ttl is not None:
        yield from _terraform_block("ttl", {"attribute_name": table.settings.ttl, "enabled": True})
    if table.settings.point_in_time_recovery:
        yield from _terraform_block("point_in_time_recovery", {"enabled": True})
    if table.settings.replicas:
        yield from _terraform_replicas(table)
    yield from ("", "  lifecycle {", "    prevent_destroy = true", "  }", "}")


_TERRAFORM_REGION: Final = 'data "aws_region" "current" {}\n'


def _terraform_replicas(table: Table) -> Iterator[str]:
    """Of all regions but the provider's own, which has the table."""
    regions = json.dumps(list(table.settings.replicas))
    yield from ("", '  dynamic "replica" {')
    yield f"    for_each = setsubtract({regions}, [data.aws_region.current.name])"
    yield "    content {"
    yield "      region_name            = replica.value"
    yield f"      point_in_time_recovery = {json.dumps(table.settings.point_in_time_recovery)}"
    yield from ("    }", "  }")


def _terraform_global_index(index: Members) -> Iterator[str]:
    settings = {"name": index["IndexName"], **_terraform_capacity(index), **_projection(index)}
    key = index["KeySchema"]
    if len({each["KeyType"] for each in key}) == len(key):
        yield from _terraform_block("global_secondary_index", {**settings, **_terraform_key(key)})
        return
    # Several attributes of one type: only the newer block can say that.
    yield from _terraform_block("global_secondary_index", settings, [("key_schema", _snake_keys(each)) for each in key])


def _terraform_key(schema: Sequence[Members]) -> dict[str, str]:
    return {f"{each['KeyType'].lower()}_key": each["AttributeName"] for each in schema}


def _terraform_capacity(described: Members) -> dict[str, int]:
    units = described.get("ProvisionedThroughput")
    if units is None:
        return {}
    return {"read_capacity": units["ReadCapacityUnits"], "write_capacity": units["WriteCapacityUnits"]}


def _projection(index: Members) -> dict[str, Any]:
    return _snake_keys(index["Projection"])


def _terraform_block(
    name: str, settings: Members, inner: Sequence[tuple[str, Members]] = (), depth: int = 1
) -> Iterator[str]:
    yield from ("", f"{'  ' * depth}{name} {{")
    yield from _terraform_settings(settings, depth + 1)
    for inner_name, inner_settings in inner:
        yield from _terraform_block(inner_name, inner_settings, depth=depth + 1)
    yield f"{'  ' * depth}}}"


def _terraform_settings(settings: Members, depth: int) -> Iterator[str]:
    width = max(map(len, settings))
    for name, value in settings.items():
        # JSON's texts, numbers, lists and truth values are HCL's as well; a template sign in a text is not.
        yield f"{'  ' * depth}{name:{width}} = {json.dumps(value).replace('${', '$${').replace('%{', '%%{')}"


def _cdk_class(table: Table) -> str:
    return "CfnGlobalTable" if table.settings.replicas else "CfnTable"


def _cdk_properties(table: Table) -> Iterator[tuple[str, Any]]:
    properties = _properties(table)
    recovery = properties.pop("PointInTimeRecoverySpecification", None) if table.settings.replicas else None
    yield from properties.items()
    if table.settings.replicas:
        own = "" if recovery is None else f", {_cdk_recovery(recovery)}"
        regions = f"[self.region, {', '.join(map(_quoted, table.settings.replicas))}]"
        made = f"CfnGlobalTable.ReplicaSpecificationProperty(region=region{own})"
        yield "Replicas", _Code(f"[{made} for region in dict.fromkeys({regions})]")


def _cdk_recovery(recovery: Members) -> str:
    name = "PointInTimeRecoverySpecification"
    return f"{_snake_case(name)}={_cdk('CfnGlobalTable', name, recovery, 0)}"


class _Code(str):
    """An expression, not a text."""

    __slots__ = ()


def _cdk(made_by: str, name: str, value: Any, depth: int) -> str:
    indent, end = "    " * (depth + 1), "    " * depth
    match value:
        case _Code():
            return value
        case list() if name in _CDK_CLASSES:
            return "[\n" + "".join(f"{indent}{_cdk(made_by, name, each, depth + 1)},\n" for each in value) + f"{end}]"
        case dict():
            members = (f"{_snake_case(each)}={_cdk(made_by, each, inner, depth)}" for each, inner in value.items())
            return f"{made_by}.{_CDK_CLASSES[name]}({', '.join(members)})"
        case list():
            return f"[{', '.join(map(_quoted, value))}]"
        case str():
            return _quoted(value)
    return repr(value)


def _by_name(tables: Sequence[Table], convert: Callable[[str], str]) -> dict[str, Table]:
    """The tables by names of their own; `a-b` and `a.b` would have the same."""
    named: dict[str, Table] = {}
    for table in tables:
        name = convert(table.name)
        number = 2
        while name in named:
            name = f"{convert(table.name)}{number}"
            number += 1
        named[name] = table
    return named


def _snake_keys(members: Members) -> dict[str, Any]:
    return {_snake_case(name): value for name, value in members.items()}


def _snake_case(name: str) -> str:
    """A name as Python and Terraform write it; never one that starts with a digit."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name).strip("_").lower()
    return words if words[:1].isalpha() else f"table_{words}"


def _camel_case(name: str) -> str:
    """A logical id: letters and digits."""
    return "".join(word[0].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", name)) or "Table"


def _quoted(text: str) -> str:
    return json.dumps(text)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2) + "\n"
