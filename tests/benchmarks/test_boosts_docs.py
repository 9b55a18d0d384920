"""The boosts' numbers in their page and picture."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from benchmarks._boosts_docs import BEGIN, END, LONGEST, PAGE, Measured, main, page, picture
from benchmarks._results import Machine

SVG = "{http://www.w3.org/2000/svg}"
COSTS = {
    "operations": 1,
    "partners_fetched": 50,
    "bytes": 22_000,
    "rcu": 25.0,
    "writes_per_event": 1,
    "writes_per_event_4_slots": 1,
    "p50_ms": 0.4,
    "p99_ms": 0.6,
}
HEAVY = {name: value * 200 for name, value in COSTS.items()}
DESIGNS = {"v1": HEAVY, "v2": COSTS, "manifest": COSTS}
HTTP = {"rate": 2000.0, "bare_rate": 4000.0, "share": 0.5, "p99_ms": 6.0}


@pytest.fixture
def measured() -> Measured:
    growth = {"partners": 100_000, "p50_ms": 0.42, "p99_ms": 0.66}
    boosts = DESIGNS | {"endpoint": DESIGNS, "growth": growth}
    return Measured(Machine(python="3.11.7", system="Linux", processors=2), boosts, HTTP)


def test_the_numbers_are_replaced_and_nothing_else(measured: Measured) -> None:
    before = f"story\n\n{BEGIN}\nold\n{END}\n\nmore\n"
    after = page(before, measured)
    assert after.startswith("story\n\n")
    assert after.endswith(f"{END}\n\nmore\n")
    assert "old" not in after
    assert "| partners fetched | 10,000 | 50 | 50 | 200× |" in after
    assert "| p99, in the process | 120 ms | 0.60 ms | 0.60 ms | 200× |" in after
    assert "1.05× that of 11,000" in after
    assert "50% of its rate" in after
    assert page(after, measured) == after


def test_a_page_without_a_section_for_them_is_not_changed(measured: Measured) -> None:
    with pytest.raises(ValueError, match="has no section"):
        page("story", measured)


def test_the_page_has_a_place_for_them(measured: Measured) -> None:
    assert page(PAGE.read_text(encoding="utf-8"), measured)


def test_bars_are_as_long_as_their_numbers(measured: Measured) -> None:
    bars = [
        each for each in ElementTree.fromstring(picture(measured)).iter(f"{SVG}rect") if "bar" in each.attrib["class"]
    ]
    assert [float(bar.attrib["width"]) for bar in bars[:3]] == pytest.approx([LONGEST, LONGEST / 200, LONGEST / 200])
    words = {each.text for each in ElementTree.fromstring(picture(measured)).iter(f"{SVG}text")}
    assert {"10,000", "50", "120 ms", "0.60 ms"} <= words


def test_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: ")
