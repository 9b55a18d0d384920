"""The benchmark of GraphQL's execution compares two that answer the same."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.graphql_execution import DOCUMENTS, Executions, measured


@pytest.mark.parametrize("name", ["one price", "64 edges"])
def test_both_executions_answer_the_same(name: str) -> None:
    size, text = DOCUMENTS[name]
    with asyncio.Runner() as runner:
        result = measured(runner, name, Executions(size, text), answers=1, rounds=1)
    assert (result.name, result.unit) == (name, "µs")
    assert result.value > 0
    assert result.peers.keys() == {"graphql-core"}
