"""Nothing public is undocumented, no link leads nowhere, every page is in the site, and the pages are short."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import sortkey
from sortkey.cli.main import COMMANDS
from sortkey.engine import requests

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "sortkey"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
REFERENCE = sorted((DOCS / "reference").glob("*.md"))
MODULES = (sortkey, sortkey.patterns, sortkey.feeds, sortkey.services, sortkey.graphql, sortkey.testing)
COMPAT = (sortkey.compat.pynamodb, sortkey.compat.electrodb)
WORDS = 54_200
"""45,000 for the first five groups of pages, and about 700 for each family of operations that came after them."""
DECISION_WORDS = 250
DOCUMENTED = "\n".join(page.read_text(encoding="utf-8") for page in PAGES if page.name != "CHANGELOG.md")

CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MODULE = re.compile(r"`([a-z_]+(?:/[a-z0-9_]+)*/(?:[a-z0-9_]+\.py)?)`")


NAMED_PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")
LIST_ITEM = re.compile(r"([-*]|\d+\.) ")
MADE = re.compile(r"^<!-- (made|measured): .*?^<!-- \1 -->", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^::: (sortkey\.[\w.]+)$", re.MULTILINE)


def public_names(module: ModuleType) -> list[str]:
    """The names of a public module that are not modules themselves."""
    names = getattr(module, "__all__", None) or vars(module)
    return [name for name in names if not name.startswith("_") and not isinstance(getattr(module, name), ModuleType)]


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


@pytest.mark.parametrize("module", [*MODULES, *COMPAT], ids=lambda module: module.__name__)
def test_public_names_are_documented(module: ModuleType) -> None:
    prefix = module.__name__.replace("sortkey", "(sk|sortkey)", 1).replace(".", r"\.")
    assert [name for name in public_names(module) if not mentioned(rf"\b{prefix}\.{name}")] == []


# A new name is put into a page of docs/reference by hand, where readers look for it; its text is the docstring.
@pytest.mark.parametrize("module", [*MODULES, *COMPAT], ids=lambda module: module.__name__)
def test_public_names_have_an_entry_in_the_reference(module: ModuleType) -> None:
    entries = [entry for page in REFERENCE for entry in ENTRY.findall(page.read_text(encoding="utf-8"))]
    assert len(entries) == len(set(entries))
    by_hand = {"field", "client", "async_client"} if module is sortkey else set()
    assert [name for name in public_names(module) if f"{module.__name__}.{name}" not in {*entries}] == sorted(by_hand)


def test_commands_are_documented() -> None:
    assert [command for command in COMMANDS if not mentioned(f"sortkey {command}")] == []


def test_operations_are_documented() -> None:
    assert [operation for operation in requests.OPERATIONS if not mentioned(rf"\b{operation}")] == []


def navigation(entries: Any) -> Iterator[str]:
    """The pages that a navigation names, in its order."""
    if isinstance(entries, str):
        yield entries
    else:
        for entry in entries.values() if isinstance(entries, dict) else entries:
            yield from navigation(entry)


# A page that the navigation does not name is a page that nobody finds.
def test_the_navigation_names_every_page() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))
    named = list(navigation(site["project"]["nav"]))
    assert sorted(named) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_index_names_every_page() -> None:
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in relative_links(DOCS / "index.md")}
    pages = {page.resolve() for page in DOCS.rglob("*.md")} - {(DOCS / "index.md").resolve()}
    assert pages - linked == set()


# Code does not count, nor does what a test or a benchmark writes into a page.
def test_the_documentation_is_short_enough_to_be_read() -> None:
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *DOCS.rglob("*.md"))]
    assert sum(len(CODE_BLOCK.sub("", MADE.sub("", page)).split()) for page in pages) <= WORDS


@pytest.mark.parametrize("page", sorted((DOCS / "internals" / "decisions").glob("*.md")), ids=lambda page: page.stem)
def test_a_decision_is_short(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= DECISION_WORDS
    assert [part for part in ("**Question.**", "**Measured", "**Decided.**") if part not in text] == []


# A docstring or a message that names a page which has moved sends its readers astray.
def test_pages_that_the_code_names_exist() -> None:
    sources = [path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    named = {page for path in sources for page in NAMED_PAGE.findall(path.read_text(encoding="utf-8"))}
    assert named
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    assert [link for link in relative_links(page) if not resolves(page, link)] == []


def broken_blocks(text: str) -> list[str]:
    """Lines that begin a list within a paragraph, which the site shows as text, and rows of a table without a head."""
    lines = ["", *CODE_BLOCK.sub("", text).splitlines(), ""]
    found = []
    for before, line, after in zip(lines, lines[1:], lines[2:], strict=False):
        is_new_list = LIST_ITEM.match(line) and before and not before.startswith(" ") and not LIST_ITEM.match(before)
        is_lost_row = line.startswith("|") and not before.startswith("|") and not after.startswith("|-")
        if is_new_list or is_lost_row:
            found.append(line)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lists_and_tables_are_shown_as_such(page: Path) -> None:
    assert broken_blocks(page.read_text(encoding="utf-8")) == []


# A page that names a module which has moved sends its readers astray.
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_and_folders_exist(page: Path) -> None:
    named = MODULE.findall(page.read_text(encoding="utf-8"))
    places = (PACKAGE, PACKAGE.parent, ROOT)
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


# The tour is complete: a folder that it leaves out is a room that newcomers do not find.
def test_the_architecture_names_every_folder() -> None:
    text = (DOCS / "internals" / "architecture.md").read_text(encoding="utf-8")
    folders = {module.parent.relative_to(PACKAGE) for module in PACKAGE.glob("*/**/*.py")}
    assert [str(folder) for folder in folders if len(folder.parts) <= 2 and f"{folder}/" not in text] == []
