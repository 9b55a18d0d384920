"""`make docs` builds the site: its links lead somewhere, nothing comes from other hosts, the reference is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

import sortkey as sk
from tests.docs.site import build_site

pytestmark = pytest.mark.slow

OTHER_HOST = re.compile(r"^(https?:)?//")


class Document(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value for name, value in attrs if value is not None}
        self.places |= {attributes[name] for name in ("id", "name") if name in attributes}
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        if tag == "link" and attributes.get("rel") not in ("canonical", "next", "prev"):
            self.loaded.append(attributes.get("href", ""))
        if tag in ("script", "img", "iframe", "source") and "src" in attributes:
            self.loaded.append(attributes["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[Path, Document]:
    return {
        page: Document(page.read_text(encoding="utf-8")) for page in site.rglob("*.html") if page.name != "404.html"
    }


def broken(page: Path, documents: dict[Path, Document]) -> Iterator[str]:
    for link in documents[page].links:
        path, _, place = unquote(link).partition("#")
        if OTHER_HOST.match(link) or link.startswith("mailto:"):
            continue
        target = (page.parent / path.partition("?")[0]).resolve() if path else page
        if not target.is_file() or (place and target in documents and place not in documents[target].places):
            yield link


# Zensical checks the links of the pages, and not those that the docstrings have.
def test_links_lead_somewhere(documents: dict[Path, Document]) -> None:
    assert len(documents) > 50
    assert {page.name: found for page in documents if (found := list(broken(page, documents)))} == {}


def test_nothing_is_loaded_from_other_hosts(documents: dict[Path, Document]) -> None:
    loaded = {source for document in documents.values() for source in document.loaded}
    assert loaded
    assert [source for source in loaded if OTHER_HOST.match(source)] == []


# tests/browser/test_site.py searches.
def test_the_search_knows_the_pages_and_the_reference(site: Path) -> None:
    index = (site / "search.js").read_text(encoding="utf-8")
    assert "guides/overlays.html" in index
    assert "reference/patterns.html#sortkey.patterns.overlay" in index


# Files that tests write and check.
def test_files_are_included(site: Path) -> None:
    assert "scan-filter-projection" in (site / "internals" / "dynamodb-local.html").read_text(encoding="utf-8")
    assert "PriceRecordConnection" in (site / "guides" / "graphql.html").read_text(encoding="utf-8")


# Names, signatures and docstrings.
def test_the_reference_says_what_the_docstrings_say(site: Path) -> None:
    page = (site / "reference" / "sessions.html").read_text(encoding="utf-8")
    text = " ".join(re.sub(r"<[^>]+>", "", page).split())
    assert sk.Session.page.__doc__ is not None
    assert " ".join(sk.Session.page.__doc__.replace("`", "").split())[:60] in text
    for method in ("get", "page", "scan", "audit", "load"):
        assert f'id="sortkey.Session.{method}"' in page
