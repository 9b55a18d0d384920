"""The documentation site in a real browser, opened as files: the search finds pages and public names."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.browser.chromium import needs_chromium
from tests.browser.devtools import tab
from tests.docs.site import build_site

pytestmark = [needs_chromium, pytest.mark.slow]

FIND = """(async () => {
  document.querySelector('.md-search__button').click();
  const shadow = () => [...document.querySelectorAll('*')].find((each) => each.shadowRoot)?.shadowRoot;
  const wait = async (look) => {
    for (;;) {
      const found = look();
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const input = await wait(() => shadow()?.querySelector('input'));
  input.value = 'overlay';
  input.dispatchEvent(new Event('input', { bubbles: true }));
  const links = () => [...shadow().querySelectorAll('a')].map((each) => each.href);
  return wait(() => links().length > 1 && links());
})()"""


def test_the_search_works_without_a_server(tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    site = build_site(tmp_path / "copy")

    async def search() -> list[str]:
        async with tab(tmp_path / "profile") as page:
            await page.open(f"{site.as_uri()}/index.html")
            return list(await page.run(FIND))

    found = asyncio.run(search())
    assert f"{site.as_uri()}/guides/overlays.html?h=overlay" in found
    assert f"{site.as_uri()}/reference/patterns.html?h=overlay#sortkey.patterns.overlay" in found
