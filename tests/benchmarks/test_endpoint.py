"""The comparison: which runs count, and what a row says."""

from __future__ import annotations

import pytest

from benchmarks._wrk import Measured
from benchmarks.endpoint import Invalid, row, trusted

GOOD = Measured(requests=300, seconds=3.0, p50=1.0, p99=2.0, rejected=0, broken=0)
BAD = Measured(requests=300, seconds=3.0, p50=1.0, p99=2.0, rejected=7, broken=0)


def test_a_peer_with_errors_is_skipped_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert dict(trusted("GetItem", {"Sortkey": GOOD, "dynalite": BAD})) == {"Sortkey": GOOD}
    assert capsys.readouterr().out.startswith("dynalite: skipped in GetItem, 7 of 300 answers were errors")


# Without our own number there is no row to show, and an error of ours must not pass unseen.
def test_our_own_errors_end_the_run() -> None:
    with pytest.raises(Invalid, match="7 of 300"):
        dict(trusted("GetItem", {"Sortkey": BAD, "dynalite": GOOD}))


def test_rates_are_compared_with_the_highest_and_times_with_the_lowest() -> None:
    assert row("GetItem", {"Sortkey": 400.0, "a": 100.0, "b": 50.0}, "/s").ratio == 4
    assert row("GetItem, p50", {"Sortkey": 1.0, "a": 2.0, "b": 4.0}, "ms").ratio == 0.5
    assert row("GetItem", {"Sortkey": 400.0}, "/s").ratio is None
