"""The built page: its files, its headers, and that it is built from the sources that are there."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from sortkey.extras import EXTRAS, PACKAGES
from sortkey.server.console.assets import BUILT, Assets
from tests.server.console.consoles import Opened, run

SOURCES = Path(__file__).parents[3] / "console"
READ = (
    "index.html",
    "licenses.ts",
    "package.json",
    "package-lock.json",
    "source-hash.ts",
    "tsconfig.json",
    "vite.config.ts",
)
COMPRESSED = 150 * 1024


def test_the_page_may_load_nothing_but_its_own_files() -> None:
    async def use(shop: Opened) -> None:
        page = await shop.page.get("/")
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "style-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "no-referrer"
        text = page.body.decode()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=|https?://", text)

    run(use)


def test_files_are_kept_and_the_page_is_asked_for() -> None:
    async def use(shop: Opened) -> None:
        page = await shop.page.get("/")
        assert page.headers["cache-control"] == "no-cache"
        again = await shop.page.get("/", if_none_match=page.headers["etag"])
        assert (again.status, again.body) == (304, b"")
        names = re.findall(r'(?:src|href)="(/console/assets/[^"]+)"', page.body.decode())
        assert names
        for name in names:
            plain = await shop.page.get(name)
            assert (plain.status, "immutable" in plain.headers["cache-control"]) == (200, True)
            packed = await shop.page.get(name, accept_encoding="gzip, br")
            if "content-encoding" in packed.headers:
                assert gzip.decompress(packed.body) == plain.body

    run(use)


@pytest.mark.parametrize(
    "path",
    [
        "/console/",
        "/console/assets/",
        "/console/assets/../console.py",
        "/console/assets/..%2f..%2fconsole.py",
        "/console/index.html",
        "/console/assets/none.js",
    ],
)
def test_nothing_else_is_a_file(path: str) -> None:
    async def use(shop: Opened) -> None:
        assert (await shop.page.get(path)).status == 404

    run(use)


def test_unknown_calls_and_members_are_errors() -> None:
    async def use(shop: Opened) -> None:
        assert (await shop.page.post("none")).status == 404
        unknown = await shop.page.post("item", {"table": "shop", "key": {}, "consistent": True})
        assert (unknown.status, unknown.error["code"]) == (400, "invalid_request")
        for body in (b"", b"[", b"\xff", b"[" * 100_000):
            answer = await shop.page.post("item", body)
            assert answer.status == 400, body[:5]
        assert (await shop.page.post("item", b" " * (4 * 1024 * 1024 + 1))).status == 413

    run(use)


# A change of the sources without 'make console' would ship another page than the repository shows.
def test_the_page_is_built_from_these_sources() -> None:
    files = [*READ, *(str(path.relative_to(SOURCES)) for path in (SOURCES / "src").rglob("*") if path.is_file())]
    found = sha256()
    for name in sorted(files):
        found.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    recorded = Path(str(BUILT)).joinpath("build.json").read_text()
    assert found.hexdigest() in recorded, "run 'make console' and commit what it builds"


# Whoever installs 'sortkey[endpoint]' has the console of 'sortkey db', and its designer.
@pytest.mark.every_python
@pytest.mark.slow
def test_the_console_of_an_endpoint_needs_no_other_packages() -> None:
    others = [name for name in PACKAGES if name not in EXTRAS["endpoint"]]
    script = f"""
import sys
for name in {[*others, "boto3", "tzdata"]!r}:
    sys.modules[name] = None  # as if not installed
import sortkey.server.console.of_endpoint, sortkey.server.console.designer.child
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_the_page_is_small() -> None:
    assets = Assets()
    assert assets.page is not None
    files = [assets.page, *assets._files.values()]
    assert sum(len(gzip.compress(each.content)) for each in files) <= COMPRESSED
