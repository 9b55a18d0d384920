"""The rate at which a store takes writes."""

from __future__ import annotations

from sortkey.model.maintenance.long_work import StoreRate


def test_a_store_that_throttles_nothing_has_no_limit() -> None:
    rate = StoreRate()
    rate.took(400, 0.1, throttled=False)
    assert (rate.rows_per_second, rate.pause(), rate.round_rows(400, 25)) == (None, 0.0, 400)


def test_throttling_lowers_the_rate_below_what_the_store_took() -> None:
    rate = StoreRate()
    rate.took(400, 4.0, throttled=True)
    assert rate.rows_per_second == 90
    assert rate.round_rows(400, 25) == 90
    assert 0 < rate.pause() < 1
    assert rate.pause() == 0  # once


def test_rounds_without_throttling_raise_it_until_the_store_is_the_limit() -> None:
    rate = StoreRate()
    rate.took(400, 4.0, throttled=True)
    seen = []
    while rate.rows_per_second is not None:
        rows = rate.round_rows(400, 25)
        rate.took(rows, rows / 500, throttled=False)  # the store takes 500 a second
        seen.append(rate.rows_per_second or 0.0)
    assert seen[:-1] == sorted(seen[:-1])
    assert max(seen) <= 500
    assert rate.pause() == 0


def test_a_round_has_a_whole_batch() -> None:
    rate = StoreRate()
    rate.took(25, 100.0, throttled=True)
    assert rate.rows_per_second == 1
    assert rate.round_rows(400, 25) == 25
