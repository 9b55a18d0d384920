"""What a PartiQL statement becomes in a store, by the keys of its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sortkey.client.boto3_shapes import to_dynamodb_json
from sortkey.client.interface import Client
from sortkey.errors import ValidationException
from sortkey.expressions.partiql_parser import parse_statement
from sortkey.expressions.partiql_requests import KeyNames, StandsFor, stands_for
from sortkey.expressions.partiql_tree import Select, Statement
from sortkey.values.attribute import AttributeValue

UNKNOWN: Final = {"S": "?"}


def explain_statement(client: Client, text: str, parameters: Sequence[dict[str, Any]] = ()) -> StandsFor:
    """The request that the statement stands for. Raises ValidationException, or the ClientError of a missing table."""
    statement = parse_statement(text)
    table = client.describe_table(TableName=statement.table)["Table"]
    return meaning_in(table, statement, [to_dynamodb_json(each) for each in parameters])


def meaning_in(table: Mapping[str, Any], statement: Statement, parameters: Sequence[AttributeValue]) -> StandsFor:
    """The request that the statement stands for in a table, which DescribeTable has described. Parameters that are left
    out do not change what it becomes. Raises ValidationException."""
    name = statement.body.index if isinstance(statement.body, Select) else None
    index = None
    if name is not None:
        indexes = [*table.get("LocalSecondaryIndexes", ()), *table.get("GlobalSecondaryIndexes", ())]
        index = next((_names(each["KeySchema"]) for each in indexes if each["IndexName"] == name), None)
        if index is None:
            raise ValidationException(f"The table does not have the specified index: {name}")
    given = [*parameters, *[UNKNOWN] * (statement.text.count("?") - len(parameters))]
    return stands_for(statement, given, _names(table["KeySchema"]), index)


def _names(schema: list[dict[str, str]]) -> KeyNames:
    kinds = ("HASH", "RANGE")
    partitions, sorts = (tuple(each["AttributeName"] for each in schema if each["KeyType"] == kind) for kind in kinds)
    return KeyNames(partitions, sorts)
