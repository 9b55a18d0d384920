"""The benchmark of fairness: a small run from end to end, and what its table says."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from benchmarks._fairness_table import CALM, Run, main, table
from benchmarks._latencies import Latency, Summary
from benchmarks._results import Result, Section
from benchmarks.fairness import SOURCE, Extent, compare

SMALL = Extent(attacks=("scan-projection",), tiny_rows=1000, seconds=1.0, patience=30.0)


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it needs Linux's /proc")
def test_measures_two_servers_calm_and_attacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SORTKEY_CACHE", str(tmp_path))
    found = list(compare({"before": SOURCE, "after": SOURCE}, SMALL))
    (section,) = (each for each in found if isinstance(each, Section))
    runs = msgspec.convert(section.found["runs"], list[Run])
    assert [(run.attack, run.server) for run in runs] == [
        (attack, server) for attack in (CALM, *SMALL.attacks) for server in ("before", "after")
    ]
    for run in runs:
        assert all(summary.worst.answered and summary.requests > 1 for summary in run.latencies.values())
        assert run.latencies["GetItem"].rejected == 0
    attacked = {run.attack: run for run in runs}
    assert attacked["scan-projection"].answers["200"] > 0
    assert table(runs) in capsys.readouterr().out
    names = [each.name for each in found if isinstance(each, Result)]
    assert "Scan, projection: GetItem p99" in names


def summary(p50: float, p99: float, worst: float, answered: bool = True) -> Summary:
    return Summary(100, Latency(p50, True), Latency(p99, True), Latency(worst, answered), 0)


def run(attack: str, server: str, get: Summary, put: Summary, memory: float = 1.0) -> Run:
    return Run(attack, server, {"GetItem": get, "PutItem": put}, memory, {})


RUNS = [
    run(CALM, "before", summary(0.2, 1, 4), summary(0.5, 2, 5)),
    run(CALM, "after", summary(0.2, 1, 4), summary(0.5, 2, 5)),
    run("scan", "before", summary(0.2, 3.1, 470), summary(0.5, 2, 10_000, answered=False), 940.4),
    run("scan", "after", summary(0.2, 3, 50), summary(12, 5.9, 12), 256.0),
]


# The reader looks for what misses the aim: worst 50 ms, p99 three times calm, 256 MB.
def test_numbers_that_miss_their_aim_are_bold() -> None:
    before, after = table(RUNS).splitlines()[-2:]
    get, put = "0.2 ms | **3.1 ms** | **470 ms**", "0.5 ms | 2 ms | **> 10 s**"
    assert before == f"| Scan, nothing else | before | {get} | {put} | 0 | **+940 MB** |"
    assert after == "|  | after | 0.2 ms | 3 ms | 50 ms | 12 ms | 5.9 ms | 12 ms | 0 | +256 MB |"


def test_one_server_needs_no_name() -> None:
    first = table([each for each in RUNS if each.server == "after"]).splitlines()[2]
    assert first == "| calm | 0.2 ms | 1 ms | 4 ms | 0.5 ms | 2 ms | 5 ms | 0 | +1 MB |"


def test_shows_the_table_of_what_bench_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = {"fairness": {"runs": msgspec.to_builtins(RUNS)}, "machine": {}}
    (tmp_path / "results.json").write_bytes(msgspec.json.encode(report))
    assert main([str(tmp_path / "results.json")]) == 0
    assert capsys.readouterr().out == f"{table(RUNS)}\n"


def test_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "RESULTS.json" in capsys.readouterr().err
