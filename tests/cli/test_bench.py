from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from sortkey.cli.main import main

ROOT = Path(__file__).parents[2]

BENCHMARK = '''"""Counting.

Why it matters.
"""
from benchmarks._results import Result, Section

def run():
    yield Result("count to ten", 3.0, "µs", bare=2.0)
    yield Section({"fingers": {"needed": 10}})
    yield Result("count to twenty", 6.0, "µs")
'''


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one benchmark and what benchmarks share, as the current folder."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "_shared.py").touch()
    for name in ("__main__.py", "_results.py"):
        shutil.copy(ROOT / "benchmarks" / name, folder)
    (folder / "counting.py").write_text(BENCHMARK, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    return tmp_path


@pytest.mark.usefixtures("checkout")
def test_shows_each_result_beside_its_bare_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "counting"]) == 0
    shown = capsys.readouterr().out
    assert "Counting." in shown
    assert "1.50×" in shown
    assert "count to twenty" in shown


# Numbers are quoted from this file, so it also says what they were measured on.
def test_writes_json(checkout: Path) -> None:
    assert main(["bench", "--json", "out.json"]) == 0
    report = json.loads((checkout / "out.json").read_text(encoding="utf-8"))
    assert report["results"]["counting"][0] == {"name": "count to ten", "value": 3.0, "unit": "µs", "bare": 2.0}
    assert set(report["machine"]) == {"python", "system", "processors"}
    assert report["counting"] == {"fingers": {"needed": 10}}


@pytest.mark.usefixtures("checkout")
@pytest.mark.parametrize("name", ["unheard_of", "_shared"])
def test_unknown_benchmark(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", name]) == 2
    assert capsys.readouterr().err == f"sortkey bench: there is no {name} in ./benchmarks\n"


COMPARISON = '''"""Racing."""
from benchmarks._results import Result

def run():
    yield Result("alone", 1.0, "ms")

def run_beside(before):
    yield Result(f"beside {before.name}", 1.0, "ms")
'''


@pytest.fixture
def other_checkout(checkout: Path) -> Path:
    (checkout / "benchmarks" / "racing.py").write_text(COMPARISON, encoding="utf-8")
    other = checkout / "other"
    (other / "src" / "sortkey").mkdir(parents=True)
    return other


def test_measures_another_checkout_beside_this_one(other_checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "racing", "--before", str(other_checkout)]) == 0
    assert "beside other" in capsys.readouterr().out
    assert main(["bench", "racing"]) == 0
    assert "alone" in capsys.readouterr().out


def test_another_checkout_that_is_none(other_checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "racing", "--before", str(other_checkout / "src")]) == 2
    assert "there is no src/sortkey in it" in capsys.readouterr().err


# Silence would pass one checkout's numbers off as a comparison.
def test_a_benchmark_that_compares_no_checkouts(other_checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "counting", "--before", str(other_checkout)]) == 2
    assert capsys.readouterr().err.startswith("sortkey bench: --before: counting compares no checkouts")


def test_no_benchmark_in_the_folder(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "benchmarks" / "counting.py").unlink()
    assert main(["bench"]) == 2
    assert capsys.readouterr().err == "sortkey bench: there is no benchmark in ./benchmarks\n"


# An installed wheel has no benchmarks; they belong to a checkout.
def test_elsewhere_than_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "counting"]) == 2
    assert capsys.readouterr().err == (
        "sortkey bench: there is no folder benchmarks here; run this in a checkout of Sortkey\n"
    )
