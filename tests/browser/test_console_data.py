"""The console's rows, on an endpoint alone: hostile ones, very many, changed by others, deleted together."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from typing import Any, Final

import pytest

import sortkey as sk
from tests.browser.chromium import needs_chromium
from tests.browser.console import Console
from tests.wire.serving import ServerProcess

pytestmark = needs_chromium

SCRIPT: Final = "<img src=x onerror=\"problems.push('ran')\"><script>problems.push('ran')</script>"
TURNED: Final = "a\u202eb\u0000c\u0007"
DEPTH: Final = 31


def nested(depth: int) -> dict[str, Any]:
    return {"M": {"deeper": nested(depth - 1)}} if depth else {"S": "bottom"}


HOSTILE: Final = {
    "pk": {"S": SCRIPT},
    "long": {"S": "x" * 390_000},
    "nested": nested(DEPTH),
    "turned": {"S": TURNED},
    SCRIPT: {"S": "a name"},
    "bytes": {"B": b"\x00\xff"},
    "texts": {"SS": [SCRIPT, "b"]},
}


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    process = ServerProcess("--memory")
    yield process
    process.kill()


@pytest.fixture(scope="module")
def client(server: ServerProcess) -> Iterator[Any]:
    with closing(sk.client(server.url)) as opened:
        yield opened


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def table(request: pytest.FixtureRequest, client: Any) -> str:
    name = f"t-{request.node.originalname[5:40]}"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def scan(console: Console, server: ServerProcess, table: str) -> None:
    console.open(server.url, "data")
    console.click(table)
    console.wait_for_text("Rows read a page")
    console.run("document.querySelector('.ask button[type=submit]').click()")
    console.wait_for("document.querySelector('[role=grid], main .empty') !== null")


def open_row(console: Console, down: int = 0) -> None:
    console.focus("[role=grid]")
    console.press("ArrowDown", down)
    console.press("Enter")
    console.wait_for("document.querySelector('dialog[open]') !== null")


def test_a_hostile_row_is_text(server: ServerProcess, console: Console, client: Any, table: str) -> None:
    client.put_item(TableName=table, Item=HOSTILE)
    scan(console, server, table)
    assert SCRIPT[:20] in console.text("[role=grid]")
    open_row(console)
    text = console.text("dialog")
    assert text.count(SCRIPT) == 3
    assert "a\\u202eb\\u0000c\\u0007" in text
    assert "00 ff" in text
    assert len(text) < 4_000
    console.click("All 390,000 characters")
    console.wait_for("document.querySelector('dialog')?.innerText.length > 390000")
    # Each level opens by itself.
    for _ in range(DEPTH):
        console.run("[...document.querySelectorAll('dialog .fold[aria-expanded=false]')].at(-1).click()")
    console.wait_for_text("bottom")
    for tab in ("DynamoDB JSON", "Edit"):
        console.click(tab)
        console.wait_for("document.querySelector('dialog .code, dialog .edit-row') !== null")
    console.press("Escape")
    for mode in ("json", "stored"):
        console.run(f"""(() => {{ const select = document.querySelector('[aria-label="Rows as"]');
          select.value = '{mode}'; select.dispatchEvent(new Event('change')); }})()""")
    assert console.problems() == []
    assert console.count("main img, main script, dialog img") == 0


def test_a_row_is_edited_with_the_difference_first(
    server: ServerProcess, console: Console, client: Any, table: str
) -> None:
    client.put_item(TableName=table, Item={"pk": {"S": "a"}, "count": {"N": "1"}, "kept": {"SS": ["x", "y"]}})
    scan(console, server, table)
    open_row(console)
    console.click("Edit")
    console.wait_for("document.querySelector('.edit-row') !== null")
    console.fill("[aria-label='Value of count']", "2")
    console.click("Review the change")
    console.wait_for("document.querySelector('.diff') !== null")
    assert [console.text(".diff .old"), console.text(".diff .new")] == ["1", "2"]
    assert console.count(".diff > div") == 1
    assert client.get_item(TableName=table, Key={"pk": {"S": "a"}})["Item"]["count"] == {"N": "1"}
    console.click("Write")
    console.wait_for("document.querySelector('dialog') === null")
    assert client.get_item(TableName=table, Key={"pk": {"S": "a"}})["Item"] == {
        "pk": {"S": "a"},
        "count": {"N": "2"},
        "kept": {"SS": ["x", "y"]},
    }


def test_a_row_that_somebody_else_has_changed_is_left_alone(
    server: ServerProcess, console: Console, client: Any, table: str
) -> None:
    client.put_item(TableName=table, Item={"pk": {"S": "a"}, "count": {"N": "1"}})
    scan(console, server, table)
    open_row(console)
    console.click("Edit")
    console.wait_for("document.querySelector('.edit-row') !== null")
    console.fill("[aria-label='Value of count']", "2")
    console.click("Review the change")
    console.wait_for("document.querySelector('.diff') !== null")
    client.put_item(TableName=table, Item={"pk": {"S": "a"}, "count": {"N": "7"}})
    console.click("Write")
    console.wait_for_text("has changed since it was shown")
    assert client.get_item(TableName=table, Key={"pk": {"S": "a"}})["Item"]["count"] == {"N": "7"}
    console.click("Edit the row as it is now")
    console.click("Edit")
    console.wait_for("document.querySelector(\"[aria-label='Value of count']\")?.value === '7'")


def test_a_selection_is_deleted_after_a_dry_run(
    server: ServerProcess, console: Console, client: Any, table: str
) -> None:
    for number in range(5):
        client.put_item(TableName=table, Item={"pk": {"S": f"row {number}"}})
    scan(console, server, table)
    console.focus("[role=grid]")
    for _ in range(3):
        console.press(" ")
        console.press("ArrowDown")
    console.click("Delete 3")
    console.wait_for_text("3 rows will be deleted")
    assert client.scan(TableName=table, Select="COUNT")["Count"] == 5
    console.click("Delete 3 rows")
    console.wait_for_text("3 rows were deleted")
    assert client.scan(TableName=table, Select="COUNT")["Count"] == 2
    console.press("Escape")
    console.wait_for("document.querySelectorAll('.grid-body [role=row]').length === 2")


# Rows are selected by their place: in other rows, the same places are other rows.
def test_a_selection_is_of_the_rows_that_were_shown(
    server: ServerProcess, console: Console, client: Any, table: str
) -> None:
    for number in range(5):
        client.put_item(TableName=table, Item={"pk": {"S": f"row {number}"}})
    scan(console, server, table)
    console.focus("[role=grid]")
    console.press(" ")
    console.click("Delete 1")
    named = console.wait_for("document.querySelector('dialog .chip')?.innerText")
    assert named == "{pk: " + console.text(".grid-body [role=row] [role=gridcell]:nth-child(2)") + "}"
    console.press("Escape")
    console.wait_for("document.querySelector('dialog') === null")
    console.run("document.querySelector('.ask button[type=submit]').click()")
    console.wait_for("document.querySelectorAll('[role=row][aria-selected=true]').length === 0")
    console.wait_for_text("Delete selected")


def test_a_map_a_set_and_a_binary_are_edited(server: ServerProcess, console: Console, client: Any, table: str) -> None:
    kept = {"pk": {"S": "a"}, "bin": {"B": b"\x00"}, "map": {"M": {"n": {"N": "1"}}}, "tags": {"SS": ["red"]}}
    client.put_item(TableName=table, Item=kept)
    scan(console, server, table)
    open_row(console)
    console.click("Edit")
    console.wait_for_text("one text a line", "base64")
    console.fill("[aria-label='Value of tags']", "blue\nred")
    console.fill("[aria-label='Value of bin']", "/w==")
    console.fill("[aria-label='Value of map']", '{"n": "1"}')
    console.click("Review the change")
    console.wait_for_text("A map is DynamoDB JSON")
    console.fill("[aria-label='Value of map']", '{"n": {"N": "2"}}')
    console.click("Review the change")
    console.wait_for("document.querySelectorAll('.diff > div').length === 3")
    assert console.violations() == []
    console.click("Write")
    console.wait_for("document.querySelector('dialog') === null")
    written = client.get_item(TableName=table, Key={"pk": {"S": "a"}})["Item"]
    assert (written["bin"], written["map"]) == ({"B": b"\xff"}, {"M": {"n": {"N": "2"}}})
    assert sorted(written["tags"]["SS"]) == ["blue", "red"]


def test_a_table_appears_once_a_program_has_created_it(server: ServerProcess, console: Console, client: Any) -> None:
    console.open(server.url, "data")
    console.wait_for_text("Data")
    client.create_table(
        TableName="created-meanwhile",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    console.wait_for_text("created-meanwhile")


# The server has ten rows; the other pages are made in the browser, so that the test is about the page alone.
def test_100_000_rows_are_scrolled(
    server: ServerProcess, console: Console, client: Any, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(10):
        client.put_item(TableName=table, Item={"pk": {"S": f"row {number}"}, "n": {"N": str(number)}})
    scan(console, server, table)
    console.run("""(() => {
      const real = fetch;
      let page = 0;
      window.fetch = async (path, options) => {
        if (path !== "/console/api/run") return real(path, options);
        page += 1;
        const rows = Array.from({ length: 1000 }, (_, index) => {
          const number = String(1000 * page + index);
          const item = { pk: { S: `row ${number}` }, n: { N: number }, map: { M: { deeper: { N: number } } } };
          const unknown = { class: null, fields: null, problem: null, partial: false };
          return { item, key: { pk: item.pk }, bytes: 40, seen: number, ...unknown };
        });
        const next = page < 101 ? { pk: { S: String(page) } } : null;
        const cost = { requests: 1, rowsRead: 1000, units: 5, dollars: 0, seconds: 0 };
        return Response.json({ rows, operation: "Scan", request: {}, ...cost, next });
      };
    })()""")
    console.run("document.querySelector('.ask button[type=submit]').click()")
    console.wait_for_text("1,000 rows, and more")
    console.click("All pages")
    console.wait_for_text("101,000 rows")
    console.wait_for("!(document.querySelector('main')?.innerText ?? 'Stop').includes('Stop')")
    measured = json.loads(
        console.run("""new Promise((resolve) => {
          const grid = document.querySelector("[role=grid]");
          const times = [];
          let most = 0;
          const step = (time) => {
            times.push(time);
            most = Math.max(most, document.querySelectorAll(".grid-body [role=row]").length);
            grid.scrollTop += grid.scrollHeight / 120;
            if (times.length <= 120) requestAnimationFrame(step);
            else {
              const pauses = times.slice(1).map((each, index) => each - times[index]);
              const dropped = pauses.filter((each) => each > 34).length;
              resolve(JSON.stringify({ most, dropped, frames: pauses.length }));
            }
          };
          requestAnimationFrame(step);
        })""")
    )
    with caplog.at_level(logging.INFO):
        logging.getLogger(__name__).info("scrolled through 101,000 rows: %s", measured)
    assert measured["most"] < 80
    console.focus("[role=grid]")
    console.press("End", control=True)
    console.wait_for("document.querySelector('[role=grid]')?.innerText.includes('row 101999')")
    assert console.run("document.querySelector('[role=grid]').getAttribute('aria-rowcount')") == "101001"
