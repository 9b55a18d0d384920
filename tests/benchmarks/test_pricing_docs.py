"""Pricing's numbers in their page and picture."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from benchmarks._pricing_calls import BY_PRODUCT, BY_STORE, DEEP, DEEP_OFFSET
from benchmarks._pricing_docs import BEGIN, END, LONGEST, PAGE, Measured, main, page, picture
from benchmarks._pricing_http import GRAPHQL
from benchmarks._pricing_market import Sizes
from benchmarks._results import Machine

SVG = "{http://www.w3.org/2000/svg}"


def timed(p50: float) -> dict[str, float]:
    return {"p50": p50, "p95": 2 * p50, "p99": 3 * p50}


def answered(rate: float) -> dict[str, Any]:
    return {"rate": rate, "timed": timed(8000 / rate)}


@pytest.fixture
def measured() -> Measured:
    ours = {BY_STORE: timed(0.5), BY_PRODUCT: timed(0.5), DEEP: timed(0.6)}
    theirs = {BY_STORE: timed(0.2), BY_PRODUCT: timed(8.0), DEEP: timed(8.0), DEEP_OFFSET: timed(16.0)}
    few = {name: timed(0.4) for name in theirs}
    bulk = {"alone": timed(0.5), "during": timed(0.7), "rate": 3000.0}
    found = {
        "sizes": Sizes()._asdict(),
        "load": {
            "ours": {"rows": 4_000_000, "bytes": 3 << 30, "rate": 50_000.0},
            "theirs": {"rows": 4_000_000, "bytes": 1 << 30, "rate": 100_000.0},
        },
        "calls": {
            "ours": {"few": few, "many": ours},
            "theirs": {"few": few, "many": theirs},
            "units": dict.fromkeys(ours, 2.0),
        },
        "better": {BY_PRODUCT: timed(0.2), DEEP: timed(0.2)},
        "http": {
            "few": {BY_STORE: answered(2000), GRAPHQL: answered(1000)},
            "many": {BY_STORE: answered(2000), GRAPHQL: answered(1000)},
            "theirs": {BY_STORE: answered(16_000)},
        },
        "reload": {"the same file": {"ours": {"rate": 120_000.0}, "theirs": {"rate": 300_000.0}}},
        "list": {"changes": 10_000, "accepted": 1.4, "permanent": 4.2, "stall": 12.0},
        "bulk": {"ours": bulk, "theirs": bulk},
        "midnight": {
            "permanent": 90.0,
            "reads": 5000,
            "wrong": 0,
            "cron": {"seconds": 4.0, "reads": 800, "stale": 400},
        },
    }
    return Measured(Machine(python="3.11.7", system="Linux", processors=2), found)


def test_the_numbers_are_replaced_and_nothing_else(measured: Measured) -> None:
    before = f"story\n\n{BEGIN}\nold\n{END}\n\nmore\n"
    after = page(before, measured)
    assert after.startswith("story\n\n")
    assert after.endswith(f"{END}\n\nmore\n")
    assert "old" not in after
    assert "| loaded from CSV | 50,000 /s | 100,000 /s, by COPY |" in after
    assert "| the same file again | 120,000 /s | 300,000 /s, without a history |" in after
    assert "| the longest that another request waited | 12 ms | |" in after
    assert "| page by product | 0.50 ms | 1.50 ms | 2 | 1.25× | 8.00 ms | 24 ms | 20.00× |" in after
    assert "| the same by OFFSET | | | | | 16 ms | 48 ms | 40.00× |" in after
    assert "| GraphQL, 64 edges | 1,000 /s | 8.00 ms | 16 ms | 24 ms | 1.00× |  |  |" in after
    assert "| 0 of 5,000 | 400 of 800 |" in after
    assert page(after, measured) == after


def test_a_page_without_a_section_for_them_is_not_changed(measured: Measured) -> None:
    with pytest.raises(ValueError, match="has no section"):
        page("story", measured)


def test_the_page_has_a_place_for_them(measured: Measured) -> None:
    assert page(PAGE.read_text(encoding="utf-8"), measured)


def test_bars_are_as_long_as_their_numbers(measured: Measured) -> None:
    drawn = ElementTree.fromstring(picture(measured))
    bars = [each for each in drawn.iter(f"{SVG}rect") if "bar" in each.attrib["class"]]
    shares = [0.6 / 16, 0.2 / 16, 8.0 / 16, 1.0]
    assert [float(bar.attrib["width"]) for bar in bars[:4]] == pytest.approx(
        [LONGEST * each for each in shares], abs=0.1
    )
    assert {"16 ms", "0.60 ms", "20.00×", "2,000 /s", "50%", "0%"} <= {each.text for each in drawn.iter(f"{SVG}text")}


def test_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: ")
