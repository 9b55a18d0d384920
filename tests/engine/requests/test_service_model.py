"""The structures against AWS's service model: nothing missing, looser or stricter, except what is listed here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from botocore.loaders import Loader

from sortkey.engine import requests
from sortkey.engine.requests.shapes import INTEGER_RANGE, LONG_RANGE, MemberType, members_of, shown_pattern

LOADER: Final = Loader()
MODELS: Final = [LOADER.load_service_model(service, "service-2") for service in ("dynamodb", "dynamodbstreams")]
SHAPES: Final[dict[str, Any]] = {**MODELS[1]["shapes"], **MODELS[0]["shapes"]}
INPUTS: Final = {
    name: operation["input"]["shape"] for model in MODELS for name, operation in model["operations"].items()
}
TYPES: Final = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "timestamp": float,
    "list": list,
    "map": dict,
}

UNSUPPORTED_SHAPES: Final = {
    # The engine rejects these features as a whole, so their content is not declared.
    "GlobalTableWitnessGroupUpdate",
    "AutoScalingSettingsUpdate",
    "GlobalSecondaryIndexAutoScalingUpdate",
    "GlobalTableGlobalSecondaryIndexSettingsUpdate",
    "ReplicaAutoScalingUpdate",
    "ReplicaSettingsUpdate",
}
CHECKED_ELSEWHERE: Final = {
    # values.attribute checks attribute values and the length of their names.
    "AttributeValue",
}
DIFFERENT_BOUNDS: Final = {
    # The documentation has an upper limit that the model leaves out.
    "ListStreams.Limit": (1, 100, None),
    "DescribeStream.Limit": (1, 100, None),
    "GetRecords.Limit": (1, 1000, None),
}


def bounds(declared: MemberType) -> tuple[float | None, float | None, str | None]:
    meta = declared.meta
    low = meta.min_length if declared.base in (str, list, dict) else meta.ge
    high = meta.max_length if declared.base in (str, list, dict) else meta.le
    # The model leaves out what the types imply.
    least, most = java_range(declared)
    low, high = (None if low == least else low), (None if high == most else high)
    return low, high, shown_pattern(meta)


def java_range(declared: MemberType) -> tuple[int | None, int | None]:
    if declared.base is not int:
        return None, None
    return LONG_RANGE if declared.meta.title == "Long" else INTEGER_RANGE


def modelled_bounds(shape: dict[str, Any]) -> tuple[int | None, int | None, str | None]:
    return shape.get("min"), shape.get("max"), shape.get("pattern")


def differences(declared: MemberType, name: str, path: str) -> Iterator[str]:
    """Where a declared type differs from the modelled shape of this name."""
    shape = SHAPES[name]
    if name in UNSUPPORTED_SHAPES | CHECKED_ELSEWHERE:
        return
    if shape["type"] == "structure":
        yield from structure_differences(declared, name, path)
        return
    if shape["type"] in ("integer", "long") and (declared.meta.title == "Long") is not (shape["type"] == "long"):
        yield f"{path}: not {shape['type']}"
    if declared.base is not TYPES[shape["type"]]:
        yield f"{path}: {declared.base} is not {shape['type']}"
    if bounds(declared) != DIFFERENT_BOUNDS.get(path, modelled_bounds(shape)):
        yield f"{path}: {bounds(declared)} is not {modelled_bounds(shape)}"
    if set(declared.words) != set(shape.get("enum", ())):
        yield f"{path}: {declared.words} is not {shape['enum']}"
    if shape["type"] == "list":
        yield from differences(declared.inner[0], shape["member"]["shape"], f"{path}[]")
    if shape["type"] == "map":
        of_key, of_value = declared.inner
        # Names of attributes: see CHECKED_ELSEWHERE.
        if shape["key"]["shape"] != "AttributeName":
            yield from differences(of_key, shape["key"]["shape"], f"{path}<key>")
        yield from differences(of_value, shape["value"]["shape"], f"{path}<value>")


def structure_differences(declared: MemberType, name: str, path: str) -> Iterator[str]:
    shape = SHAPES[name]
    members = members_of(declared.base)
    if list(members) != list(shape["members"]):
        yield f"{path}: {list(members)} is not {list(shape['members'])}"
    required = [member.name for member in members.values() if member.required]
    if set(required) != set(shape.get("required", ())):
        yield f"{path}: {required} required, not {shape.get('required')}"
    for member in members.values():
        modelled = shape["members"][member.name]["shape"]
        yield from differences(member.type, modelled, f"{path}.{member.name}")


@pytest.mark.parametrize("operation", requests.OPERATIONS)
def test_request_has_the_members_and_bounds_of_the_service_model(operation: str) -> None:
    assert list(differences(MemberType(requests.OPERATIONS[operation]), INPUTS[operation], operation)) == []


def nested_types() -> Iterator[MemberType]:
    """The types of all members of all requests, at every level."""
    pending = [MemberType(shape) for shape in requests.OPERATIONS.values()]
    while pending:
        declared = pending.pop()
        inner = (
            [member.type for member in members_of(declared.base).values()] if declared.is_structure else declared.inner
        )
        pending.extend(inner)
        yield from inner


# AWS's messages have Java names, so a structure must have AWS's name.
def test_nested_structures_bear_the_names_of_the_service_model() -> None:
    nested = {declared.base.__name__ for declared in nested_types() if declared.is_structure}
    assert nested <= set(SHAPES)


# A number beyond 64 bits could be stored, but neither encoded nor described.
def test_every_number_is_bounded_by_its_java_type() -> None:
    for declared in nested_types():
        if declared.base is int:
            least, most = LONG_RANGE if declared.meta.title == "Long" else INTEGER_RANGE
            assert declared.meta.ge is not None
            assert declared.meta.le is not None
            assert least <= declared.meta.ge <= declared.meta.le <= most


NOT_SUPPORTED: Final = {
    # Each would need a feature that the engine does not have.
    "CancelBulkOperation",
    "DescribeBulkOperation",
    "ListBulkOperations",
    "StartBulkPutItems",
}


# A new operation of AWS must be supported or listed.
def test_every_operation_of_the_service_model_is_known_or_left_out_on_purpose() -> None:
    assert set(INPUTS) - set(requests.OPERATIONS) <= NOT_SUPPORTED
    assert not NOT_SUPPORTED & set(requests.OPERATIONS)
