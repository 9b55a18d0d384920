"""CONTRIBUTING.md names files that exist, and the public checks run on every Python that is declared."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WORKFLOW = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")

# A file from the root of the checkout, in backquotes, with nothing else beside it.
FILE = re.compile(r"`((?:src|tests|docs|benchmarks|tools|\.ci|\.github)/[\w./-]+|[A-Z]+\.md|pyproject\.toml)`")
RECIPES = CONTRIBUTING.split("\n## Recipe: ")[1:]


def test_named_files_exist() -> None:
    named = set(FILE.findall(CONTRIBUTING))
    assert len(named) > 30
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_each_recipe_ends_in_tests_documentation_and_changelog() -> None:
    assert len(RECIPES) == 2
    for recipe in RECIPES:
        named = FILE.findall(recipe)
        for start in ("src/", "tests/", "docs/", "CHANGELOG.md"):
            assert any(name.startswith(start) for name in named)


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    used = {word for line in re.findall(r"`make ((?:[a-z]+ ?)+)`", CONTRIBUTING) for word in line.split()}
    assert used
    assert used <= targets


def test_the_workflow_checks_every_declared_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r":: 3\.\d+$", each)]
    (matrix,) = re.findall(r"python: \[(.*)\]", WORKFLOW)
    assert re.findall(r'"([\d.]+)"', matrix) == declared
    assert "run: .ci/run\n" in WORKFLOW
