"""The benchmark of pricing, on a scale that is small enough for a test."""

from __future__ import annotations

import msgspec
import pytest

from benchmarks import _wrk
from benchmarks._pricing_market import Sizes
from benchmarks._results import Result, Section
from benchmarks._wrk import Measured
from benchmarks.pricing import measure
from tests.maven import Unavailable
from tests.postgres.server import programs

SMALL = Sizes(
    stores=130, few_stores=70, products=66, calls=3, rounds=1, seconds=1, bulk=40, midnight=40, midnight_stores=2
)


@pytest.mark.slow
def test_everything_is_measured_beside_postgresql(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        programs()
    except Unavailable as error:
        pytest.skip(f"no PostgreSQL: {error}")
    # The server answers each kind of request once; wrk's seconds would make the test long.
    monkeypatch.setattr(_wrk, "require", lambda: None)
    monkeypatch.setattr(_wrk, "run", lambda *_: Measured(10, 1.0, 1.0, 2.0, rejected=0, broken=0, p95=1.5))
    found = list(measure(SMALL))
    results = {each.name: each for each in found if isinstance(each, Result)}
    assert results["load of 8,580 prices"].peers.keys() == {"PostgreSQL"}
    for name in ("the same file", "the file with 1 % changes"):
        assert results[f"load of {name} again"].peers["PostgreSQL"] > 0
    assert results["a list of 40 over HTTP, until it is accepted"].value > 0
    assert results["a list of 40 over HTTP, the longest stall meanwhile"].value > 0
    for name in ("page by store", "page by product", "last page by product", "one price", "upcoming changes"):
        assert 0 < results[f"{name}, p50, in the process"].value <= results[f"{name}, p99, in the process"].value
        assert results[f"{name}, growth of p50 from 4,620 prices"].value > 0
    # A page of 64 small rows: one query of a few kilobytes.
    assert results["page by store, read units"].value <= 3
    assert results["one price, read units"].value <= 1
    assert results["GraphQL, 64 edges, 8 connections, p95"].value == 1.5
    assert results["page by store, REST, 8 connections"].peers["PostgreSQL"] > 0
    assert results["midnight with 40 changes, wrong reads"].value == 0
    (section,) = [each for each in found if isinstance(each, Section)]
    assert msgspec.json.decode(msgspec.json.encode(section.found))["sizes"]["stores"] == 130


def test_sizes_of_the_environment() -> None:
    assert Sizes.from_environment({"SORTKEY_PRICING_STORES": "80", "OTHER": "x"}) == Sizes(stores=80)
