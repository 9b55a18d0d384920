"""Feeds in the console: what they gave up, who follows them, and what is due."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from tests.browser.chromium import needs_chromium
from tests.browser.console import ROOT, Console, needs_axe
from tests.browser.printing import Order

PORTS = ("--port", "0", "--db-port", "0", "--access-log", "off")

pytestmark = [needs_chromium, needs_axe]


@contextmanager
def printing(*arguments: str | Path) -> Iterator[str]:
    """The first line of `sortkey` with the printer, without `ready`; it ends as an operator ends it."""
    command = [sys.executable, "-m", "tests.browser.printing", *map(str, arguments)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().removeprefix("ready ").strip()
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("store")
    with printing("up", "--store", folder, *PORTS) as url:
        yield url, folder


def put(folder: Path, *orders: Order) -> None:
    """As another program does that writes to the same folder."""
    with sk.connect(folder, tables=[Order]) as db:
        for order in orders:
            db.put(order)


def letters(console: Console) -> None:
    console.click("Dead letters")
    console.wait_for_text("Dead letters of printing")


def call(console: Console, path: str) -> Any:
    return console.run(f"fetch({json.dumps(path)}, {{ method: 'POST' }}).then((answer) => answer.status)")


# Look at it, send it again in vain, mend the cause, send it again; drop another one.
def test_what_a_feed_gave_up_is_looked_at_sent_again_and_dropped(console: Console, up: tuple[str, Path]) -> None:
    url, folder = up
    console.open(url, "changes")
    console.wait_for_text("Waiting for a change of orders")
    put(folder, Order(customer="ada", number=1, text="13 cards"))
    console.wait_for_text("CUSTOMER#ada")
    letters(console)
    console.wait_for("document.querySelector('tbody input[type=checkbox]') !== null")
    console.click("Look")
    console.wait_for("document.querySelector('dialog[open] .code')?.innerText.includes('13 cards')")
    assert "the paper has jammed" in console.text("dialog")
    assert console.violations() == []
    console.press("Escape")
    console.wait_for("document.querySelector('dialog') === null")
    console.run("document.querySelector('tbody input[type=checkbox]').click()")
    console.click("Send again")
    console.wait_for_text("0 done, 1 failed")
    assert "the paper has jammed" in console.text()
    assert call(console, "/printing/mend") == 204
    console.run("document.querySelector('tbody input[type=checkbox]').click()")
    console.click("Send again")
    console.wait_for_text("1 done", "No dead letters")


def test_a_dead_letter_is_dropped_once_somebody_has_agreed(console: Console, tmp_path: Path) -> None:
    with printing("up", "--store", tmp_path / "data", *PORTS) as url:
        # Where all fail, the feed waits, since that looks like an outage.
        texts = ("13", "fine", "13", "fine", "13")
        put(tmp_path / "data", *(Order(customer="ada", number=number, text=text) for number, text in enumerate(texts)))
        console.open(url, "changes")
        letters(console)
        console.wait_for("document.querySelectorAll('tbody input[type=checkbox]').length === 3")
        console.click("Select all 3")
        console.click("Drop 3")
        console.wait_for_text("Drop 3 dead letters?")
        console.press("Escape")
        console.wait_for("document.querySelector('dialog') === null")
        console.run("document.querySelector('tbody input[type=checkbox]:checked').click()")
        console.click("Drop 2")
        console.wait_for_text("Drop 2 dead letters?")
        # The dialog asks; Escape says no.
        console.press("Escape")
        console.wait_for("document.querySelector('dialog') === null")
        assert console.count("tbody input[type=checkbox]") == 3
        console.click("Drop 2")
        console.wait_for_text("Drop 2 dead letters?")
        console.run("document.querySelector('dialog .danger').click()")
        console.wait_for_text("2 done")
        console.wait_for("document.querySelectorAll('tbody input[type=checkbox]').length === 1")


# Why is this feed behind? Its follower has gone, and an order waits.
def test_a_feed_that_nobody_follows_says_so_and_how_far_behind_it_is(console: Console, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with printing("serve", "printing", "--store", folder, "--no-follow", *PORTS[:2], *PORTS[4:]) as url:
        with printing("follow", "printing", "--store", folder):
            put(folder, Order(customer="ada", number=1))
            console.open(url, "changes")
            console.click("Feeds")
            console.wait_for_text("It has handled everything.", "not followed by this process")
            console.click("Show 1 shard")
            shard = "document.querySelector('tbody tr')?.innerText"
            checkpoint = console.wait_for(f"/\\d{{6}}/.test({shard} ?? '') && {shard}")
            assert "nobody" not in checkpoint
        put(folder, Order(customer="ada", number=2))
        console.wait_for_text("Nobody follows its shard. Run 'sortkey follow printing'")
        console.wait_for("/[1-9][\\d.]* (s|min) behind/.test(document.querySelector('main .cost')?.innerText)")
        console.wait_for(f"{shard}?.includes('nobody')")
        assert console.count("main .panel .sign.warn") > 0
        assert console.violations() == []
        # The overview leads here.
        console.open(url)
        console.wait_for_text("feed printing", "Nobody follows its shard", "2 not followed")
        console.click("Shards and leases")
        console.wait_for_text("not followed by this process")


def test_timers_are_shown_until_they_are_due(console: Console, up: tuple[str, Path]) -> None:
    url, folder = up
    console.open(url, "changes")
    console.click("Timers")
    console.wait_for_text("Nothing is due.")
    put(folder, Order(customer="eve", number=7, due=datetime.now(UTC) + timedelta(hours=30)))
    console.wait_for_text("1 timer", "customer=eve", "in 30.0 h")
    assert console.violations() == []
    # What it will do: the rows that its handler would be given.
    console.click("What it is for")
    console.wait_for("document.querySelector('dialog tbody tr')?.innerText.includes('eve')")
    assert console.violations() == []
    console.press("Escape")
