"""What the console hands out: files of rows, and code that does what was done on the page."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import sortkey as sk
from tests.browser.chromium import needs_chromium
from tests.browser.console import ROOT, Console
from tests.browser.printing import Order
from tests.browser.test_console_feeds import PORTS, printing

pytestmark = needs_chromium

FORMULA: Final = '=1+1,"quoted"'
LINES: Final = "two\nlines"
SAVED: Final = """((text) => new Promise((resolve) => {
  const make = URL.createObjectURL, click = HTMLAnchorElement.prototype.click;
  URL.createObjectURL = (blob) => {
    URL.createObjectURL = make;
    HTMLAnchorElement.prototype.click = function () {
      HTMLAnchorElement.prototype.click = click;
      const name = this.download;
      blob.text().then((content) => resolve(JSON.stringify([name, blob.type, content])));
    };
    return make(blob);
  };
  [...document.querySelectorAll("main button")].find((each) => each.textContent.trim() === text).click();
}))"""
"""What a button would save: the name, the type and the content of the file."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with printing("up", "--store", folder, *PORTS) as url:
        with sk.connect(folder, tables=[Order]) as db:
            db.put(Order(customer="ada", number=1, text=FORMULA))
            db.put(Order(customer="ada", number=2, text=LINES))
        yield url


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory, url: str) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("profile")) as opened:
        opened.allow_clipboard(url)
        yield opened


def read(console: Console, url: str) -> None:
    console.open(url, "data")
    console.click("orders")
    console.wait_for_text("CUSTOMER#{customer}")
    console.wait_for("document.querySelector('.ask input[list]')?.value === 'ada'")
    console.wait_for_text("Query on the table")
    console.click("Read")
    console.wait_for_text("2 rows", "as it was just read")


def saved(console: Console, button: str) -> list[str]:
    return list(json.loads(console.run(f"{SAVED}({json.dumps(button)})")))


def test_rows_are_saved_as_csv_and_as_json_lines(console: Console, url: str) -> None:
    read(console, url)
    name, kind, content = saved(console, "CSV")
    assert (name, kind) == ("orders.csv", "text/csv")
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    # A spreadsheet would run the first text, so it has an apostrophe before it.
    assert [each["text"] for each in rows] == [f"'{FORMULA}", LINES]
    assert [each["sk"] for each in rows] == ["ORDER#000001", "ORDER#000002"]
    name, kind, content = saved(console, "JSON lines")
    assert (name, kind) == ("orders.jsonl", "application/jsonl")
    items = [json.loads(line) for line in content.splitlines()]
    assert [each["text"]["S"] for each in items] == [FORMULA, LINES]
    # With a selection, it alone.
    console.focus("[role=grid]")
    console.press("ArrowDown")
    console.press(" ")
    console.wait_for("document.querySelectorAll('[role=row][aria-selected=true]').length === 1")
    assert [json.loads(each)["text"]["S"] for each in saved(console, "JSON lines")[2].splitlines()] == [LINES]


# A page over plain HTTP from another machine has no clipboard.
def test_a_browser_without_a_clipboard_says_so(console: Console, url: str) -> None:
    read(console, url)
    console.run("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    console.click("Code")
    console.wait_for_text("Python, boto3")
    console.click("Copy")
    console.wait_for_text("select the text")
    assert console.problems() == []


# Each is run as it was copied, by somebody who has credentials.
def test_the_code_that_is_copied_reads_the_same_rows(console: Console, url: str) -> None:
    read(console, url)
    console.click("Code")
    console.wait_for_text("Python, boto3")
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "PYTHONPATH": str(ROOT)}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    runners = {
        "Python, Sortkey": [sys.executable, "-c"],
        "Python, boto3": [sys.executable, "-c"],
        "AWS CLI": ["sh", "-c"],
        "curl": ["sh", "-c"],
    }
    for title, runner in runners.items():
        console.click(title)
        console.wait_for(f"document.querySelector('dialog [aria-selected=true]')?.textContent === {json.dumps(title)}")
        console.click("Copy")
        console.wait_for("document.querySelector('dialog [role=status]')?.innerText === 'Copied'")
        code = console.run("navigator.clipboard.readText()")
        assert code == console.run("document.querySelector('dialog .code').textContent")
        if title == "curl" and shutil.which("curl") is None:
            continue
        done = subprocess.run([*runner, code], capture_output=True, text=True, timeout=120, env=environment)
        assert (done.returncode, done.stderr if title != "curl" else "") == (0, ""), code
        assert "two\\nlines" in done.stdout
        # The word goes away before the next one is copied.
        console.wait_for("document.querySelector('dialog [role=status]')?.innerText === ''")
