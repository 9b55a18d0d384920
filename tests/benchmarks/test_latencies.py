"""Latencies: what a stall does to a client that would have sent more requests meanwhile."""

from __future__ import annotations

import pytest

from benchmarks._latencies import Latency, summarize, with_omitted


def test_a_quick_answer_counts_once() -> None:
    assert with_omitted(sent=10.0, ended=10.004, interval=0.01, until=20.0) == pytest.approx([0.004])


# A client that waits sends nothing: without the requests that were due, one second's stall would be one slow request.
def test_a_stall_counts_for_each_request_that_was_due() -> None:
    assert with_omitted(sent=10.0, ended=10.35, interval=0.1, until=20.0) == pytest.approx([0.35, 0.25, 0.15, 0.05])


def test_nothing_is_due_after_the_end_of_the_record() -> None:
    assert with_omitted(sent=10.0, ended=13.0, interval=1.0, until=11.5) == pytest.approx([3.0, 2.0])


def test_summarizes_with_the_worst() -> None:
    found = summarize([Latency(float(number), True) for number in range(1, 101)], rejected=2)
    assert (found.requests, found.rejected) == (100, 2)
    assert [each.milliseconds for each in (found.p50, found.p99, found.worst)] == [51, 100, 100]


# What was not answered took longer than what was measured, so a summary must not pass it off as a latency.
def test_a_request_without_an_answer_is_marked() -> None:
    found = summarize([Latency(1.0, True), Latency(1.0, True), Latency(9000.0, False)], rejected=1)
    assert found.p50 == Latency(1.0, True)
    assert found.worst == Latency(9000.0, False)


def test_no_request_is_no_result() -> None:
    with pytest.raises(ValueError, match="no request was sent"):
        summarize([], rejected=0)
