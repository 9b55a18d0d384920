"""Write the boosts' numbers into their page, and draw them: `python -m benchmarks._boosts_docs RESULTS.json`.

The results are those of `sortkey bench boosts boosts_http --json RESULTS.json`. The page's table stands between two
comments, so that everything else in it is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from benchmarks._picture import MARGIN, STYLE, WIDTH, text
from benchmarks._results import Machine

PAGE: Final = Path("docs/services/boosts.md")
PICTURE: Final = Path("docs/images/boosts.svg")
BEGIN: Final = "<!-- measured: python -m benchmarks._boosts_docs RESULTS.json -->"
END: Final = "<!-- measured -->"

DESIGNS: Final = {"v1": "V1", "manifest": "manifest", "v2": "V2"}
LONGEST: Final = 560
BAR: Final = 16
STEP: Final = 21
GROUP: Final = 40
TOP: Final = 84
NAMES: Final = 90

Costs = Mapping[str, Any]


class Measured(msgspec.Struct, frozen=True):
    """The parts of `sortkey bench`'s report that are used here."""

    machine: Machine
    boosts: dict[str, Any]
    boosts_http: dict[str, float]


def whole(number: float) -> str:
    return f"{number:,.0f}"


def exact(number: float) -> str:
    return f"{number:,g}"


def milliseconds(number: float) -> str:
    return f"{number:,.0f} ms" if number >= 10 else f"{number:.2f} ms"


def kilobytes(number: float) -> str:
    return f"{number / 1000:,.0f} kB"


ROWS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("requests to the store", "operations", whole),
    ("partners fetched", "partners_fetched", whole),
    ("bytes fetched", "bytes", kilobytes),
    ("read units", "rcu", exact),
    ("writes of an event, all week and all day", "writes_per_event", whole),
    ("writes of an event, all week in four slots", "writes_per_event_4_slots", whole),
    ("p50, in the process", "p50_ms", milliseconds),
    ("p99, in the process", "p99_ms", milliseconds),
)
REMOTE: Final = (
    ("p50, over the endpoint", "p50_ms", milliseconds),
    ("p99, over the endpoint", "p99_ms", milliseconds),
)


def table(measured: Measured) -> Iterator[str]:
    boosts = measured.boosts
    yield "| a page of 50 partners, a market of 11,000 | V1 | manifest | V2 | V1 ÷ V2 |"
    yield "|---|---|---|---|---|"
    yield from (row(title, field, written, boosts) for title, field, written in ROWS)
    yield from (row(title, field, written, boosts["endpoint"]) for title, field, written in REMOTE)


def row(title: str, field: str, written: Callable[[float], str], costs: Costs) -> str:
    values = [costs[design][field] for design in DESIGNS]
    return f"| {title} | {' | '.join(map(written, values))} | {values[0] / values[-1]:,.3g}× |"


def prose(measured: Measured) -> str:
    growth, few, http = measured.boosts["growth"], measured.boosts["v2"], measured.boosts_http
    machine = measured.machine
    return (
        f"In a market of {growth['partners']:,} partners, V2's p50 is {milliseconds(growth['p50_ms'])} "
        f"({growth['p50_ms'] / few['p50_ms']:.2f}× that of 11,000), its p99 {milliseconds(growth['p99_ms'])}. Over "
        f"HTTP, with 8 connections, one process answers {http['rate']:,.0f} lookups of 50 partners a second with a p99 "
        f"of {milliseconds(http['p99_ms'])}; the bare framework, Litestar on uvicorn, answers {http['bare_rate']:,.0f} "
        f"requests of the same size with a constant, so a lookup has {http['share']:.0%} of its rate. Measured on "
        f"{machine.processors} processors with Python {machine.python}, the client and wrk beside the server."
    )


def page(before: str, measured: Measured) -> str:
    """The page with its numbers replaced."""
    head, found, rest = before.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"{PAGE} has no section between {BEGIN} and {END} for the numbers")
    return "\n".join([f"{head}{BEGIN}", "", *table(measured), "", prose(measured), "", f"{END}{tail}"])


def picture(measured: Measured) -> str:
    groups = [row for row in ROWS if row[1] in ("partners_fetched", "rcu", "writes_per_event_4_slots", "p99_ms")]
    height = TOP + len(groups) * (GROUP + STEP * len(DESIGNS)) + 40
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        text(MARGIN, 36, "One lookup, three designs: less is better", "title"),
        text(MARGIN, 58, "Are these 50 partners boosted, in a market in which 11,000 are, all of them everywhere?"),
    ]
    top = TOP
    for title, field, written in groups:
        lines += group(top, title, {name: measured.boosts[design][field] for design, name in DESIGNS.items()}, written)
        top += GROUP + STEP * len(DESIGNS)
    machine = measured.machine
    lines.append(
        text(MARGIN, height - 16, f"{machine.processors} processors, Python {machine.python}, in the process.")
    )
    return "\n".join([*lines, "</svg>"]) + "\n"


def group(top: int, title: str, values: Mapping[str, float], written: Callable[[float], str]) -> Iterator[str]:
    most = max(values.values())
    yield text(MARGIN, top + GROUP - 12, title, "group")
    for index, (name, value) in enumerate(values.items()):
        y = top + GROUP + index * STEP
        ours = name == "V2"
        length = max(value / most * LONGEST, 1)
        yield text(MARGIN, y + BAR - 4, name, "own" if ours else "")
        yield (
            f'<rect class="bar{" ours" if ours else ""}" x="{MARGIN + NAMES}" y="{y}" width="{length:.1f}" '
            f'height="{BAR}" rx="2"/>'
        )
        yield text(round(MARGIN + NAMES + length + 6), y + BAR - 4, written(value), "own" if ours else "")


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m benchmarks._boosts_docs RESULTS.json\n")
        return 2
    measured = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=Measured)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
    PICTURE.write_text(picture(measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
