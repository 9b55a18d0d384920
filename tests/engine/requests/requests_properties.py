"""Random requests: msgspec and the general path must read them alike."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sortkey.engine import requests
from sortkey.engine.requests import aws_deserialiser, constraints
from sortkey.engine.requests.shapes import MemberType, Shape, members_of
from sortkey.errors import DynamoDBError, SerializationException, ValidationException

OPERATIONS = sorted(requests.OPERATIONS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 200) | st.sampled_from([1.5, 2.0]) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def fitting(declared: MemberType) -> st.SearchStrategy[Any]:
    """Values of about the right type, now and then out of bounds."""
    if declared.is_structure:
        return structures(declared.base)
    if declared.base is list:
        return st.lists(mostly(declared.inner[0]), max_size=2)
    if declared.base is dict:
        return st.dictionaries(st.sampled_from(["abc", "", "a;"]), mostly(declared.inner[1]), max_size=2)
    if declared.words:
        return st.sampled_from([*declared.words, "x"])
    if declared.base is str:
        return st.sampled_from(["abc", "", "a;", "x" * 40, "x" * 300, "abc\n"])
    if declared.base in (int, float):
        return st.sampled_from([1, 0, -1, 101, 1_000_000])
    return st.booleans() if declared.base is bool else JSON


def mostly(declared: MemberType) -> st.SearchStrategy[Any]:
    return st.integers(0, 19).flatmap(lambda die: JSON if die == 0 else fitting(declared))


def structures(shape: type[Shape]) -> st.SearchStrategy[dict[str, Any]]:
    members = members_of(shape).values()
    required = {member.name: mostly(member.type) for member in members if member.required}
    optional = {member.name: mostly(member.type) for member in members if not member.required}
    return st.fixed_dictionaries(required, optional=optional)


@st.composite
def sent(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    operation = draw(st.sampled_from(OPERATIONS))
    return operation, draw(structures(requests.OPERATIONS[operation]))


def answer(read: Any, operation: str, raw: Any) -> tuple[str, object]:
    try:
        return "request", read(operation, raw)
    except DynamoDBError as error:
        return error.code, error.message


# The two entry points never disagree, and reject with DynamoDB's errors only.
@given(sent())
def test_bytes_and_dictionary_have_the_same_answer(request: tuple[str, dict[str, Any]]) -> None:
    operation, members = request
    body = json.dumps(members).encode()
    assert answer(requests.decode, operation, body) == answer(requests.convert, operation, members)


# One declaration, two readers: the general path accepts whatever msgspec accepts, and reads the same request.
@given(sent())
def test_the_general_path_accepts_what_the_fast_path_accepts(request: tuple[str, dict[str, Any]]) -> None:
    operation, members = request
    shape = requests.OPERATIONS[operation]
    try:
        fast = msgspec.convert(members, shape)
    except msgspec.ValidationError:
        return
    read = aws_deserialiser.read(shape, members)
    try:
        constraints.enforce(shape, read)
    except ValidationException as error:
        # The operation finds that the name of a table is invalid, in what msgspec accepts.
        if not re.search(r"ableName' failed|Map keys must", error.message):
            raise
        return
    assert msgspec.convert(read, shape) == fast


# Whatever JSON comes, the answer is a request or one of these two errors.
@given(st.sampled_from(OPERATIONS), JSON)
def test_any_json_is_answered(operation: str, value: Any) -> None:
    code, _ = answer(requests.decode, operation, json.dumps(value).encode())
    assert code in ("request", SerializationException.__name__, ValidationException.__name__)
