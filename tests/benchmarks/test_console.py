"""The pages that the benchmark opens are consoles to the server."""

from __future__ import annotations

import pytest

from benchmarks.console import Costs, open_pages, process_of, summary
from tests.server.serving import Process


@pytest.mark.slow
def test_pages_are_open_as_long_as_they_are_counted() -> None:
    process = Process("serve", "notes", "--store", "memory:")
    try:
        assert process_of(process.url) == process.process.pid
        with open_pages(process.url, 3):
            assert process.call("POST", "/console/api/overview", {}).json()["consoles"] == 3
        with open_pages(process.url, 0):
            pass
    finally:
        process.end()


def test_a_round_is_compared_with_its_own_round_without_pages() -> None:
    none = [Costs(100, 10.0, 1), Costs(50, 20.0, 1), Costs(100, 10.0, 1)]
    some = [Costs(99, 10.1, 3), Costs(49, 20.2, 5), Costs(80, 15.0, 4)]
    found = summary(some, none)
    assert (found["rate"], found["per_request_us"], found["idle_ms"]) == (80, 15.0, 4)
    assert found["more_percent"] == pytest.approx(1)
