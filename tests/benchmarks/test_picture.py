"""The picture of the endpoint's benchmark."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from benchmarks._picture import LONGEST, main, picture
from benchmarks._results import Machine, Report, Result
from benchmarks._workload import WORKLOADS
from benchmarks.endpoint import CONNECTIONS, name_of

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def report() -> Report:
    results = [
        Result(
            name_of(workload, connections, 1_000),
            40_000.0,
            "/s",
            peers={"DynamoDB Local": 2_000.0, "dynalite": 10_000.0} if connections == 8 else {"dynalite": 9_000.0},
        )
        for workload in WORKLOADS
        for connections in CONNECTIONS
    ]
    return Report(Machine(python="3.11.7", system="Linux", processors=2), {"endpoint": results})


def test_bars_are_as_long_as_their_rates(report: Report) -> None:
    bars = [bar for bar in ElementTree.fromstring(picture(report)).iter(f"{SVG}rect") if "bar" in bar.attrib["class"]]
    widths = [float(bar.attrib["width"]) for bar in bars[:3]]
    assert widths == pytest.approx([LONGEST, LONGEST, LONGEST / 20])
    assert len(bars) == len(WORKLOADS) * 5


def test_says_its_numbers_and_what_is_missing(report: Report) -> None:
    words = [text.text for text in ElementTree.fromstring(picture(report)).iter(f"{SVG}text")]
    assert {"40,000", "10,000", "9,000", "no valid run", "BatchGetItem 50", "64 connections"} <= set(words)


def test_draws_what_bench_writes(report: Report, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_bytes(msgspec.json.encode(report))
    assert main([str(tmp_path / "results.json"), str(tmp_path / "images" / "endpoint.svg")]) == 0
    assert (tmp_path / "images" / "endpoint.svg").read_text(encoding="utf-8") == picture(report)


def test_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().err.startswith("usage: ")
