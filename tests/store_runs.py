"""What a run of all tests of stores on one of them found: `pytest --store NAME --store-run FILE` notes it.

docs/stores.md is made from the file in the repository, which `make stores` writes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from sortkey.model.errors import Unsupported

RUNS: Final = Path(__file__).with_name("store_runs.json")


class Family(msgspec.Struct):
    """The tests of one part of the framework, or of one service."""

    passed: int = 0
    failed: int = 0
    left_out: dict[str, int] = {}
    """How many, by the reason."""


Runs = dict[str, dict[str, Family]]
"""By store and family."""


def read_runs(file: Path = RUNS) -> Runs:
    return msgspec.json.decode(file.read_bytes(), type=Runs) if file.is_file() else {}


def family_of(test: str) -> str:
    """The folder of a test, without that of all tests: model/sessions, patterns/aggregates, pricing. A test outside of
    the folders, tests/test_examples.py, is a family of its own: examples."""
    path = test.partition("::")[0]
    folders = [part for part in path.split("/")[1:-1] if part != "sortkey_services"]
    if not folders:
        return Path(path).stem.removeprefix("test_")
    return "/".join(folders[:2]) if folders[0] in ("model", "patterns") else folders[0]


def write_store_run(file: Path, store: str, stats: Mapping[str, Sequence[Any]]) -> None:
    """Replaces what the file has of the families that ran."""
    families: dict[str, Family] = {}
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in stats.get(outcome, ()):
            family = families.setdefault(family_of(report.nodeid), Family())
            if outcome == "passed":
                family.passed += 1
            elif outcome == "skipped":
                family.left_out[_reason(report)] = family.left_out.get(_reason(report), 0) + 1
            else:
                family.failed += 1
    runs = read_runs(file)
    runs[store] = runs.get(store, {}) | families
    text = msgspec.json.format(msgspec.json.encode(runs, order="sorted"), indent=2)
    file.write_bytes(text + b"\n")


def _reason(report: Any) -> str:
    """What a test has said by `pytest.skip`."""
    _, _, said = report.longrepr
    return re.sub(r"^Skipped: ", "", said)


def leave_out_unsupported(report: pytest.TestReport, call: pytest.CallInfo[None]) -> None:
    """A test of the framework that the store cannot pass, as the error says, is left out. The services have none."""
    error = None if call.excinfo is None else call.excinfo.value
    lacking = re.search(r" (needs [a-z ]+), which ", str(error)) if isinstance(error, Unsupported) else None
    if lacking is not None and "sortkey_services" not in report.nodeid:
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, line or 0, f"Skipped: {lacking[1]}")


def total(families: Mapping[str, Family]) -> Counter[str]:
    return Counter(
        passed=sum(each.passed for each in families.values()),
        failed=sum(each.failed for each in families.values()),
        left_out=sum(sum(each.left_out.values()) for each in families.values()),
    )
