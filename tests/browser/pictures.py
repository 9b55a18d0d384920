"""Makes the pictures of the console for the documentation: `python -m tests.browser.pictures`, on demonstration data.

The data moves, so the pictures differ a little each time; no test compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.browser.console import ROOT, Console, demonstration

FOLDER: Final = ROOT / "docs" / "images"


def overview(console: Console) -> None:
    for story in ("boosts", "social", "favourites", "goals", "pricing"):
        console.run(f"location.hash = '#/stories/{story}'")
        console.wait_for("document.querySelector('main .calls') !== null")
    console.run("location.hash = '#/overview'")
    console.wait_for("document.querySelectorAll('.u-over').length === 3")


def data(console: Console) -> None:
    console.click("prices")
    console.wait_for_text("Query on the table")
    console.click("Read")
    console.wait_for("document.querySelector('[role=grid]') !== null")


def ready(condition: str) -> Callable[[Console], None]:
    def wait(console: Console) -> None:
        console.wait_for(condition)

    return wait


def there(selector: str) -> Callable[[Console], None]:
    return ready(f"document.querySelector('main {selector}') !== null")


PICTURES: Final[dict[str, tuple[str, Callable[[Console], None]]]] = {
    "data": ("data", data),
    "paths": ("paths", there("tbody tr:nth-child(5)")),
    "changes": ("changes", ready("document.querySelectorAll('.change').length > 8")),
    "boosts": ("stories/boosts", there(".design canvas")),
    "social": ("stories/social", there(".people")),
    "favourites": ("stories/favourites", there(".calls")),
    "goals": ("stories/goals", there(".goal")),
    "pricing": ("stories/pricing", there(".price")),
    "designer": ("designer", there(".designed .panel")),
    # Last: by now they have something to show.
    "heat": ("heat", there("tbody tr:nth-child(5)")),
    "overview": ("overview", overview),
}


def main() -> None:
    with demonstration() as url, TemporaryDirectory() as profile, Console(Path(profile)) as console:
        for name, (view, prepare) in PICTURES.items():
            console.open(url, view)
            prepare(console)
            (FOLDER / f"console-{name}.webp").write_bytes(console.picture())


if __name__ == "__main__":
    main()
