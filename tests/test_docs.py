"""Nothing public is undocumented, and no link leads nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sortkey
from sortkey.cli.main import COMMANDS
from sortkey.engine import requests

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "sortkey"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
DOCUMENTED = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")

CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MODULE = re.compile(r"`([a-z_]+(?:/[a-z0-9_]+)*/(?:[a-z0-9_]+\.py)?)`")


def mentioned(pattern: str) -> bool:
    return re.search(rf"{pattern}\b", DOCUMENTED) is not None


def relative_links(page: Path) -> list[str]:
    prose = CODE_BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [link for link in LINK.findall(prose) if "://" not in link and not link.startswith("mailto:")]


def resolves(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def anchors(page: Path) -> set[str]:
    """The ids that a page's headings have on GitHub."""
    headings = HEADING.findall(CODE_BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_public_names_are_documented() -> None:
    assert [name for name in sortkey.__all__ if not mentioned(rf"\b(sk|sortkey)\.{name}")] == []


def test_commands_are_documented() -> None:
    assert [command for command in COMMANDS if not mentioned(f"sortkey {command}")] == []


def test_operations_are_documented() -> None:
    assert [operation for operation in requests.OPERATIONS if not mentioned(rf"\b{operation}")] == []


# A page that the index does not name is a page that nobody finds.
def test_index_names_every_page() -> None:
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in relative_links(DOCS / "index.md")}
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert pages - linked == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert [link for link in relative_links(page) if not resolves(page, link)] == []


# A page that names a module which has moved sends its readers astray.
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_folders_exist(page: Path) -> None:
    named = MODULE.findall(page.read_text(encoding="utf-8"))
    assert [name for name in named if not any((place / name).exists() for place in (PACKAGE, ROOT))] == []


# The tour is complete: a folder that it leaves out is a room that newcomers do not find.
def test_the_architecture_names_every_folder() -> None:
    text = (DOCS / "internals" / "architecture.md").read_text(encoding="utf-8")
    folders = {module.parent.relative_to(PACKAGE) for module in PACKAGE.glob("*/**/*.py")}
    assert [str(folder) for folder in folders if len(folder.parts) <= 2 and f"{folder}/" not in text] == []
