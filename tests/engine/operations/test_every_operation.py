"""Every operation of AWS's service model has its line in the documentation, and takes every parameter of the model."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from sortkey.engine.database import Database
from sortkey.engine.requests import OPERATIONS
from sortkey.engine.tables.core import Settings
from sortkey.errors import DynamoDBError, SerializationException, UnknownOperationException
from tests.engine.operations.every_operation import LINES, REJECTED
from tests.engine.requests.test_service_model import INPUTS, MODELS, NOT_SUPPORTED, SHAPES
from tests.faults.fuzz import corpus

PAGE: Final = Path(__file__).parents[3] / "docs" / "compatibility.md"
BEGIN, END = "<!-- made: operations -->\n", "<!-- made -->"
MADE: Final = re.compile(f"(?<={BEGIN}).*?(?={END})", re.DOTALL)


def table() -> str:
    """What the page says of the operations."""
    by_service = [sorted(model["operations"]) for model in MODELS]
    lines = [f"| {name} | {LINES.get(name, REJECTED)} |" for names in by_service for name in names]
    return "\n".join(["", "| operation | what it does here |", "|---|---|", *lines, "", ""])


# `python -m tests.engine.operations.test_every_operation` writes the table again.
def test_documentation_lists_exactly_these() -> None:
    assert MADE.findall(PAGE.read_text(encoding="utf-8")) == [table()]


def test_every_operation_of_the_service_model_has_a_line() -> None:
    assert INPUTS.keys() - NOT_SUPPORTED == LINES.keys() == OPERATIONS.keys()


NOT_SUPPORTED_MEMBERS: Final = {
    "CreateTable.GlobalTableSettingsReplicationMode",
    "CreateTable.GlobalTableSourceArn",
    "UpdateTable.DisassociationProtectionEnabled",
    "UpdateTable.GlobalTableSettingsReplicationMode",
    "UpdateTable.GlobalTableWitnessUpdates",
    "UpdateTable.ReplicaUpdates.Disassociate",
}
"""Members that need a feature that the engine does not have; each request with one is rejected as a whole."""

Steps = tuple[str | None, ...]
"""The way from a request to one of its members: names, and None for an element of a list or a map."""

KNOWN: Final[dict[str, Any]] = {
    "TableName": "orders",
    "TableArn": "orders",
    "IndexName": "by_city",
    "AttributeValue": {"S": "x"},
    "BackupArn": "arn:aws:dynamodb:local:000000000000:table/orders/backup/01489602797149-73d8d5bc",
    "StreamArn": "arn:aws:kinesis:local:000000000000:stream/orders",
    "ResourceArnString": "arn:aws:dynamodb:local:000000000000:table/orders",
    "ResourcePolicy": '{"Statement": []}',
    "ExportArn": "arn:aws:dynamodb:local:000000000000:table/orders/export/01489602797149-73d8d5bc",
    "ImportArn": "arn:aws:dynamodb:local:000000000000:table/orders/import/01489602797149-73d8d5bc",
    "S3BucketOwner": "000000000000",
    "ImportNextToken": "0" * 112,
}
"""Valid values, by the name of their shape, where the model's bounds do not make one."""


def paths(name: str, path: Steps = (), seen: tuple[str, ...] = ()) -> Iterator[Steps]:
    """The ways to all members below a shape. Attribute values have their own tests."""
    shape = SHAPES[name]
    if name == "AttributeValue" or name in seen:
        return
    if shape["type"] == "structure":
        for member, declared in shape["members"].items():
            yield (*path, member)
            yield from paths(declared["shape"], (*path, member), (*seen, name))
    elif shape["type"] in ("list", "map"):
        inner = shape["member" if shape["type"] == "list" else "value"]["shape"]
        yield from paths(inner, (*path, None), seen)


def with_member(name: str, present: Any, path: Steps) -> Any:
    """A value of the shape, made from the present one, that has the member at the end of the path."""
    shape = SHAPES[name]
    if not path:
        return value(name) if present is None else present
    if shape["type"] == "structure":
        made = value(name) if present is None else present
        inner = shape["members"][path[0]]["shape"]
        return {**made, path[0]: with_member(inner, made.get(path[0]), path[1:])}
    if shape["type"] == "list":
        return [with_member(shape["member"]["shape"], present[0] if present else None, path[1:])]
    key = next(iter(present)) if present else value(shape["key"]["shape"])
    return {key: with_member(shape["value"]["shape"], (present or {}).get(key), path[1:])}


def value(name: str) -> Any:
    """A valid value of a shape: a structure has what it requires, a list or map has one element."""
    shape = SHAPES[name]
    if name in KNOWN:
        return copy.deepcopy(KNOWN[name])
    if "enum" in shape:
        return shape["enum"][0]
    match shape["type"]:
        case "structure":
            return {member: value(shape["members"][member]["shape"]) for member in shape.get("required", ())}
        case "list":
            return [value(shape["member"]["shape"])]
        case "map":
            return {value(shape["key"]["shape"]): value(shape["value"]["shape"])}
        case "boolean":
            return True
        case "string" | "blob":
            return "a" * max(shape.get("min", 3), 3)
        case _:
            return max(shape.get("min", 1), 1)


@pytest.fixture
def database() -> Iterator[Database]:
    database = Database(None, settings=Settings(delivers_to_kinesis=True))
    yield database
    database.close()


# A value within the model's bounds is never the wrong type, never "not supported", and never breaks anything.
@pytest.mark.parametrize("operation", sorted(OPERATIONS))
def test_every_parameter_is_understood(database: Database, operation: str) -> None:
    corpus.lay_out(database.call, set())
    requests = [members for name, members in corpus.requests(database.call) if name == operation]
    assert requests
    for path in paths(INPUTS[operation]):
        for request in requests:
            outcome = outcome_of(database, operation, with_member(INPUTS[operation], request, path))
            is_rejected = outcome is not None and "is not supported here" in outcome.message
            assert is_rejected is needs_what_is_not_supported(operation, path), (path, outcome)


def needs_what_is_not_supported(operation: str, path: Steps) -> bool:
    names = [operation, *(step for step in path if step is not None)]
    return any(".".join(names[:end]) in NOT_SUPPORTED_MEMBERS for end in range(2, len(names) + 1))


def outcome_of(database: Database, operation: str, members: dict[str, Any]) -> DynamoDBError | None:
    """The error of the request, if it has one, which is about its meaning; the tables are as before."""
    outcome = None
    try:
        database.call(operation, members)
    except DynamoDBError as error:
        outcome = error
    if outcome is not None:
        assert outcome.status < 500, (members, outcome)
        assert not isinstance(outcome, SerializationException | UnknownOperationException), (members, outcome)
        assert not BOUNDS.search(outcome.message), (members, outcome)
    elif operation not in READ_ONLY:
        corpus.lay_out(database.call, set())
    return outcome


BOUNDS: Final = re.compile("validation errors? detected: Value ")
READ_ONLY: Final = {name for name in OPERATIONS if name.startswith(("Describe", "Get", "List"))} | {
    "Query",
    "Scan",
    "SearchVectors",
}


if __name__ == "__main__":
    PAGE.write_text(MADE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
