"""The console when the server goes away and comes back, and when it asks who is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import sortkey as sk
from sortkey.server import tokens
from tests.browser.chromium import needs_chromium
from tests.browser.console import AXE, Console
from tests.server.serving import Process
from tests.wire.serving import ServerProcess

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def test_a_server_that_goes_away_and_comes_back(console: Console, tmp_path: Path) -> None:
    first = ServerProcess("--data", tmp_path)
    with closing(sk.client(first.url)) as client:
        client.create_table(
            TableName="kept",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        client.put_item(TableName="kept", Item={"pk": {"S": "still here"}})
    console.open(first.url, "data")
    console.click("kept")
    console.wait_for_text("Rows read a page")
    console.run("document.querySelector('.ask button[type=submit]').click()")
    console.wait_for_text("still here")
    first.kill()
    console.wait_for_text("The server does not answer.")
    assert "still here" in console.text()
    # What is asked for meanwhile is an error, and not the end of the page.
    console.run("document.querySelector('.ask button[type=submit]').click()")
    console.wait_for("document.querySelector('main [role=alert]') !== null")
    second = ServerProcess("--data", tmp_path, "--port", str(urlsplit(first.url).port))
    try:
        console.click("Ask now")
        console.wait_for("!document.body.innerText.includes('The server does not answer. What')")
        assert "still here" in console.text()
        with closing(sk.client(second.url)) as client:
            client.put_item(TableName="kept", Item={"pk": {"S": "new"}})
        console.run("document.querySelector('.ask button[type=submit]').click()")
        console.wait_for_text("2 rows")
    finally:
        second.kill()


def test_one_of_several_processes_says_so(console: Console, tmp_path: Path) -> None:
    server = ServerProcess("--data", tmp_path, "--workers", "2")
    try:
        console.open(server.url, "heat")
        console.wait_for_text("2 processes serve this address", "No requests lately.")
        console.open(server.url, "overview")
        console.wait_for_text("Services")
        assert "2 processes" not in console.text()
    finally:
        server.kill()


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[tuple[Process, dict[str, str]]]:
    """A server with tokens: the console's, and one without its scope."""
    reader, read_entry = tokens.create("reader", ["console:read"])
    other, other_entry = tokens.create("other", ["notes:read"])
    file = tmp_path / "tokens.toml"
    file.touch(mode=0o600)
    file.write_text(f"{read_entry}\n{other_entry}\n")
    process = Process("serve", "notes", "--store", "memory:", "--demo", "--tokens", file)
    yield process, {"reader": reader, "other": other}
    process.end()


def test_a_token_is_asked_for(console: Console, guarded: tuple[Process, dict[str, str]]) -> None:
    server, given = guarded
    console.open(server.url, "data")
    console.wait_for_text("This server asks for a token")
    if AXE.exists():
        assert console.violations() == []
    console.fill("input[type=password]", "wrong")
    console.press("Enter")
    console.wait_for_text("does not accept this token")
    console.fill("input[type=password]", given["other"])
    console.press("Enter")
    console.wait_for("document.querySelector('.login [role=alert]') !== null")
    assert console.count("nav") == 0
    console.fill("input[type=password]", given["reader"])
    console.press("Enter")
    console.wait_for_text("notes", "Query, scan, PartiQL")
    # It reads: there is nothing to write with.
    console.click("Query, scan")
    console.wait_for_text("Rows read a page")
    console.run("document.querySelector('.ask button[type=submit]').click()")
    console.wait_for("document.querySelector('[role=grid]') !== null")
    assert "New row" not in console.text()
    # It is in the page's memory and nowhere else: a reload asks again.
    kept = console.run("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])")
    assert given["reader"] not in kept
    console.open(server.url, "data")
    console.wait_for_text("This server asks for a token")
