"""The subsection of a service's settings."""

from __future__ import annotations

from typing import Any

import pytest

import sortkey as sk
from sortkey.graphql.settings import GraphQLSettings, Limits, read_graphql_settings


def test_the_subsection_is_read_and_left_out_of_the_section() -> None:
    given = {"currency": "EUR", "graphql": {"introspection": "never", "limits": {"cost": 7}}}
    assert read_graphql_settings("pricing", given) == (GraphQLSettings("never", Limits(cost=7)), {"currency": "EUR"})
    assert read_graphql_settings("pricing", {}) == (GraphQLSettings("loopback", Limits()), {})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"introspection": "sometimes"}, "pricing.graphql: Invalid enum value 'sometimes' - at `$.introspection`"),
        ({"limits": {"deepness": 3}}, "pricing.graphql: Object contains unknown field `deepness` - at `$.limits`"),
        ({"limits": {"depth": "3"}}, "pricing.graphql: Expected `int`, got `str` - at `$.limits.depth`"),
        (3, "pricing.graphql: Expected `object`, got `int`"),
    ],
)
def test_what_cannot_be_used_is_named(given: Any, message: str) -> None:
    with pytest.raises(sk.services.BadSettings) as error:
        read_graphql_settings("pricing", {"graphql": given})
    assert str(error.value) == message
