"""Nothing public is undocumented, and no link leads nowhere."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

import sortkey
from sortkey.cli.main import parser
from sortkey.engine import requests

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
DOCUMENTED = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")

CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")


def commands() -> list[str]:
    subparsers = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return sorted(subparsers.choices)


def mentioned(pattern: str) -> bool:
    return re.search(rf"{pattern}\b", DOCUMENTED) is not None


def relative_links(page: Path) -> list[str]:
    prose = CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
    paths = (link.partition("#")[0] for link in LINK.findall(prose) if "://" not in link)
    return [path for path in paths if path and not path.startswith("mailto:")]


def test_public_names_are_documented() -> None:
    assert [name for name in sortkey.__all__ if not mentioned(rf"\b(sk|sortkey)\.{name}")] == []


def test_commands_are_documented() -> None:
    assert [command for command in commands() if not mentioned(f"sortkey {command}")] == []


def test_operations_are_documented() -> None:
    assert [operation for operation in requests.OPERATIONS if not mentioned(rf"\b{operation}")] == []


# A page that the index does not name is a page that nobody finds.
def test_index_names_every_page() -> None:
    linked = {(DOCS / link).resolve() for link in relative_links(DOCS / "README.md")}
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "README.md").resolve()}
    assert pages - linked == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert [link for link in relative_links(page) if not (page.parent / link).exists()] == []
