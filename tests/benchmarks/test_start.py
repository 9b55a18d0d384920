"""The benchmark of starts, on a scale that is small enough for a test."""

from __future__ import annotations

import pytest

from benchmarks.start import STARTS, Sizes, measure


@pytest.mark.slow
def test_starts_openings_and_bytes_are_measured() -> None:
    found = {result.name: result for result in measure(Sizes(processes=1, folder_items=400, items=500))}
    for name in STARTS:
        assert found[name].value > 0
        assert found[f"{name}, processor time"].ratio is not None
    assert [name for name in found if name.startswith("open a folder of 0.00 GiB")] != []
    files = [result for name, result in found.items() if name.endswith(": file")]
    assert len(files) == 9
    assert all(result.value > result.peers["JSON"] > 200 for result in files)


def test_sizes_are_those_of_the_environment() -> None:
    assert Sizes.from_environment({"SORTKEY_START_ITEMS": "7"}) == Sizes(items=7)
