"""Every view of the console, on the demonstration data that moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count

import pytest

from tests.browser.chromium import needs_chromium
from tests.browser.console import Console, demonstration, needs_axe

pytestmark = [needs_chromium, needs_axe]

# A view, what it shows, and what is there when it has its data.
VIEWS = {
    "overview": ("Requests a second", ".charts"),
    "data": ("BoostRow.key", ".ask .cost"),
    "paths": ("Read ÷ returned", "tbody tr:nth-child(5)"),
    "heat": ("Hottest partitions", "tbody tr:nth-child(5)"),
    "changes": ("Live tail", ".change"),
    "designer": ("Customer", ".designed .panel"),
    "stories/boosts": ("partners are boosted", ".chip.on"),
    "stories/social": ("Leaderboard", ".people .mutual"),
    "stories/favourites": ("Top list", "tbody tr:nth-child(5)"),
    "stories/goals": ("Ana Silva", ".goal"),
    "stories/pricing": ("P001 costs", ".price"),
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with demonstration() as url:
        yield url


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    with Console(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def shown(console: Console, view: str) -> None:
    text, data = VIEWS[view]
    console.wait_for_text(text)
    console.wait_for(f"document.querySelector('main {data}') !== null")


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_shows_its_data_on_any_screen(url: str, console: Console, view: str) -> None:
    console.open(url, view)
    shown(console, view)
    assert console.count(".problem") == 0
    assert console.run("document.title").endswith("· Sortkey")
    for dark in (False, True):
        console.show_as(dark=dark)
        background = console.run("getComputedStyle(document.documentElement).backgroundColor")
        assert (background == "rgb(18, 20, 22)") == dark
        assert console.violations() == []
    console.show_as(400)
    assert not console.is_too_wide()
    assert console.problems() == []


@pytest.mark.parametrize("tab", ["Feeds", "Dead letters", "Timers"])
def test_a_tab_of_changes_is_accessible(url: str, console: Console, tab: str) -> None:
    console.open(url, "changes")
    console.click(tab)
    console.wait_for("document.querySelector('main .panel, main .empty') !== null")
    assert console.violations() == []


def test_the_theme_can_be_chosen(url: str, console: Console) -> None:
    console.open(url)
    for theme in ("dark", "light", "system"):
        console.click("Theme")
        console.wait_for_text(f"Theme: {theme}")
    assert console.run("document.documentElement.dataset.theme") is None


# Tab, Enter and the arrows alone: to a table's rows, into one of them, and back.
def test_the_keyboard_reaches_a_row(url: str, console: Console) -> None:
    def tab_to(condition: str) -> None:
        for step in count():
            assert step < 60, f"not reached: {condition}"
            console.press("Tab")
            if console.run(f"((each) => {condition})(document.activeElement)"):
                return

    console.open(url)
    console.wait_for_text("Services")
    console.press("Tab")
    assert console.run("document.activeElement.textContent") == "Skip to the content"
    tab_to("each.textContent === 'Data'")
    console.press("Enter")
    shown(console, "data")
    console.wait_for_text("Query on the table")
    tab_to("each.textContent === 'Read'")
    assert console.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    console.press("Enter")
    console.wait_for("document.querySelector('[role=grid] .grid-body [role=row]') !== null")
    tab_to("each.getAttribute('role') === 'grid'")
    console.press("ArrowDown", 3)
    console.press("ArrowRight")
    current = console.wait_for("document.activeElement.getAttribute('aria-activedescendant')")
    assert console.run(f"document.getElementById({current!r}).parentElement.getAttribute('aria-rowindex')") == "5"
    console.press(" ")
    console.wait_for("document.querySelector('[role=row][aria-selected=true]') !== null")
    console.press("Enter")
    console.wait_for("document.querySelector('dialog[open] .item') !== null")
    console.press("Escape")
    console.wait_for("document.querySelector('dialog') === null")
    assert console.run("document.activeElement.getAttribute('role')") == "grid"


def test_an_access_path_is_browsed_page_by_page(url: str, console: Console) -> None:
    console.open(url, "data")
    console.click("prices")
    console.wait_for_text("STORE#{store}")
    console.wait_for("(document.querySelector('.ask input[list]')?.value ?? '') !== ''")
    console.fill(".ask input[list]", "12345")
    console.wait_for_text("Query on the table")
    console.click("Read")
    console.wait_for_text("50 rows, and more", "as it was just read")
    console.click("Next page")
    console.wait_for_text("100 rows, and more")
    console.click("Code")
    console.wait_for_text("Python, boto3")
    assert "12345" in console.text("dialog .code")
    console.click("AWS CLI")
    console.wait_for_text("aws dynamodb query")
    console.press("Escape")
    assert "12345" not in console.run("location.href")


# Four questions of somebody who has never seen the page.
def test_which_partition_is_hottest(url: str, console: Console) -> None:
    console.open(url, "heat")
    console.wait_for_text("The hottest partition is")
    console.run("""(async () => {
      const partnerIds = Array.from({ length: 50 }, (_, index) => String(20100000 + 3 * index));
      const asked = { method: "POST", headers: { "Content-Type": "application/json" } };
      for (let turn = 0; turn < 150; turn += 1) {
        await (await fetch("/boosts/tr/lookup", { ...asked, body: JSON.stringify({ partnerIds }) })).json();
      }
    })()""")
    console.wait_for_text("The hottest partition is boosts tr#*")
    assert "boosts tr#*" in console.text("tbody tr")


def test_what_a_lookup_costs_a_month(url: str, console: Console) -> None:
    console.open(url, "data")
    console.click("boosts")
    console.wait_for_text("a second: $")
    month = "/a second: \\$([\\d,.]+) a month/.exec(document.querySelector('.ask .cost')?.innerText)?.[1]"
    console.fill("[aria-label='Requests a second']", "10")
    ten = console.wait_for(month)
    console.fill("[aria-label='Requests a second']", "1000")
    console.wait_for(f"{month} !== {ten!r}")
    thousand = float(console.run(month).replace(",", ""))
    assert thousand == pytest.approx(100 * float(ten.replace(",", "")), rel=0.05)


def test_what_a_product_will_cost_on_the_first_of_january(url: str, console: Console) -> None:
    year = datetime.now(UTC).year + 1
    console.open(url, "stories/pricing")
    console.wait_for_text("P001 costs")
    change = {"store": "12345", "product": "P002", "amount": 432.1, "effectiveAt": f"{year - 1}-12-31T00:00:00Z"}
    answered = console.run(f"""fetch("/pricing/changes", {{ method: "POST",
      headers: {{ "Content-Type": "application/json" }}, body: {json.dumps(json.dumps(change))} }})
      .then((answer) => answer.status)""")
    assert answered == 202
    console.click("P002")
    console.wait_for_text("P002 costs")
    console.run(f"""((field) => {{
      field.value = "{year}-01-01";
      field.dispatchEvent(new Event("change", {{ bubbles: true }}));
    }})(document.querySelector("input[type=date]"))""")
    console.wait_for_text(f"P002 costs 432.10 EUR at {year}-01-01 00:00:00")
    assert console.violations() == []
    console.click("Back to now")
    console.wait_for("!document.querySelector('main .cost').innerText.includes('at ')")


# What each design reads is measured for the search that is on the page.
def test_three_designs_are_measured_for_the_same_search(url: str, console: Console) -> None:
    console.open(url, "stories/boosts")
    console.wait_for("document.querySelectorAll('.design .number').length === 9")
    console.wait_for_text("All three find the same boosts.", "on the 13,215 campaigns of 11,500 partners")
    read = console.run("JSON.stringify([...document.querySelectorAll('.design canvas')].map((each) => each.ariaLabel))")
    first, manifest, second = json.loads(read)
    listed = int(first.split()[0].replace(",", ""))
    assert listed > 1000
    assert [manifest, second] == ["50 partners read, 50 of them asked for"] * 2
    console.click("Next page")
    console.wait_for_text("The search runs in each design")
    console.wait_for("document.querySelectorAll('.design .number').length === 9")
    assert console.violations() == []


def test_a_scan_has_its_price_before_it_runs(url: str, console: Console) -> None:
    console.open(url, "data")
    console.click("prices")
    console.click("Query, scan")
    console.wait_for("/In all, \\d+ pages: .*units/.test(document.querySelector('.cost')?.innerText)")
    assert console.count("[role=grid]") == 0


# Answers that take longer than the pause between two requests are shown all the same.
def test_a_slow_server_is_heard(url: str, console: Console) -> None:
    console.open(url)
    console.run("""(() => {
      const real = fetch;
      window.fetch = async (path, options) => {
        if (!path.includes("/live")) await new Promise((resolve) => setTimeout(resolve, 1500));
        return real(path, options);
      };
    })()""")
    console.run("location.hash = '#/stories/favourites'")
    console.wait_for_text("Counts of r0007")
    console.wait_for("document.querySelectorAll('main tbody tr').length > 5")


def test_what_is_being_typed_outlives_a_refresh(url: str, console: Console) -> None:
    console.open(url, "stories/favourites")
    console.wait_for_text("Counts of r0007", "Top list")
    console.fill(".panels > div .panel input", "r0998")
    console.run("""(() => {
      const real = window.fetch;
      window.answers = 0;
      window.fetch = (...asked) => real(...asked).finally(() => (window.answers += 1));
    })()""")
    console.wait_for("window.answers >= 4")
    console.press("Enter")
    console.wait_for_text("Counts of r0998")


# A restaurant that the demonstration's visitors hardly ever mark.
def test_a_count_follows_its_mark(url: str, console: Console) -> None:
    # The marks of the demonstration are counted first.
    console.open(url, "changes")
    console.click("Feeds")
    console.wait_for("""[...document.querySelectorAll("main .panel")].map((each) => each.innerText)
      .some((each) => each.includes("favourite-counts") && each.includes("It has handled everything"))""")
    console.run("location.hash = '#/stories/favourites'")
    console.wait_for_text("Counts of r0007", "Top list")
    console.fill(".panels > div .panel input", "r0999")
    console.press("Enter")
    console.wait_for_text("Counts of r0999")
    before = console.run(
        "fetch('/restaurants/r0999/favourites').then((answer) => answer.json()).then((it) => it.count)"
    )
    shown = "document.querySelector('main .figures .number')?.innerText"
    console.click("Mark it for ada")
    console.wait_for(f"{shown} === '{before + 1}'")
    console.click("Unmark it for ada")
    console.wait_for(f"{shown} === '{before}'")


def test_a_change_of_a_price_takes_effect_while_one_watches(url: str, console: Console) -> None:
    console.open(url, "stories/pricing")
    console.wait_for_text("P001 costs")
    console.run("""fetch("/pricing/changes", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(
        { store: "12345", product: "P001", amount: 987.65, effectiveAt: new Date(Date.now() + 1000) }) })
      .then((answer) => answer.status)""")
    console.wait_for_text("P001 costs 987.65 EUR now")
