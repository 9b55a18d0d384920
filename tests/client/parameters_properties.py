"""The client sends or rejects random requests as botocore does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError
from hypothesis import given
from hypothesis import strategies as st

import sortkey as sk
from sortkey.client import Client, service_model
from sortkey.client.typed_requests import typed_request
from sortkey.engine import requests
from tests.values.strategies import binaries, names, number_texts, texts

blobs = binaries | binaries.map(bytearray) | texts
scalars = st.one_of(
    texts.map(lambda text: {"S": text}),
    number_texts.map(lambda text: {"N": text}),
    blobs.map(lambda blob: {"B": blob}),
    st.lists(blobs, min_size=1, max_size=3).map(lambda content: {"BS": content}),
    st.lists(texts, min_size=1, max_size=3).map(lambda content: {"SS": tuple(content)}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda content: {"L": content})
        | st.dictionaries(names | st.sampled_from(["B", "BS", "S"]), inner, max_size=3).map(
            lambda content: {"M": content}
        )
    ),
    max_leaves=6,
)
mistakes: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        1,
        1.5,
        "x",
        b"x",
        [],
        {"S": 1},
        {"N": 1},
        {"B": 1},
        {"BS": b"x"},
        {"BOOL": "x"},
        {"L": {}},
        {"M": []},
        {"SS": [1]},
    ]
)


@given(st.dictionaries(names, values, max_size=4))
def test_requests_are_what_boto3_would_send(item: dict[str, Any]) -> None:
    members = {"TableName": "t", "Item": item, "ReturnValues": "NONE"}
    assert typed_request("PutItem", members) == requests.decode("PutItem", service_model.serialise("PutItem", members))


@pytest.fixture(scope="module")
def empty() -> Iterator[Client]:
    """A client of a store without tables: what boto3 would send, it rejects."""
    with sk.client("memory:") as client:
        yield client


@given(item=st.dictionaries(names, values | mistakes, min_size=1, max_size=4))
def test_mistakes_are_found_as_botocore_finds_them(empty: Client, item: dict[str, Any]) -> None:
    members = {"TableName": "missing", "Item": item}
    try:
        service_model.serialise("PutItem", members)
    except ParamValidationError as error:
        expected: str | None = str(error)
    else:
        expected = None
    assert parameter_mistakes(empty, members) == expected


def parameter_mistakes(client: Client, members: dict[str, Any]) -> str | None:
    with pytest.raises((ParamValidationError, ClientError)) as error:
        client.put_item(**members)
    return str(error.value) if isinstance(error.value, ParamValidationError) else None
