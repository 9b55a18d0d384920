"""Write pricing's numbers into their page, and draw them: `python -m benchmarks._pricing_docs RESULTS.json`.

The results are those of `sortkey bench pricing --json RESULTS.json`. The page's tables stand between two comments, so
that everything else in it is left as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from benchmarks._picture import MARGIN, STYLE, WIDTH, text
from benchmarks._pricing_calls import BY_PRODUCT, BY_STORE, DEEP, DEEP_OFFSET
from benchmarks._pricing_http import GRAPHQL
from benchmarks._results import Machine

PAGE: Final = Path("docs/services/pricing.md")
PICTURE: Final = Path("docs/images/pricing.svg")
BEGIN: Final = "<!-- measured: python -m benchmarks._pricing_docs RESULTS.json -->"
END: Final = "<!-- measured -->"

LONGEST: Final = 460
BAR: Final = 16
STEP: Final = 21
GROUP: Final = 40
TOP: Final = 66
NAMES: Final = 230


class Measured(msgspec.Struct, frozen=True):
    """The parts of `sortkey bench`'s report that are used here."""

    machine: Machine
    pricing: dict[str, Any]


def milliseconds(number: float) -> str:
    return f"{number:,.0f} ms" if number >= 10 else f"{number:.2f} ms"


def seconds(number: float) -> str:
    return f"{number:,.0f} s" if number >= 10 else f"{number:.1f} s"


def rate(number: float) -> str:
    return f"{number:,.0f} /s"


def tables(measured: Measured) -> Iterator[str]:
    found = measured.pricing
    yield "![Pricing beside PostgreSQL](../images/pricing.svg)"
    yield ""
    yield from _loading(found)
    yield ""
    yield from _reads(found)
    yield ""
    yield from _connections(found)
    yield ""
    yield from _changes(found)
    yield ""
    yield _machine(measured.machine)


def _loading(found: dict[str, Any]) -> Iterator[str]:
    ours, theirs = found["load"]["ours"], found["load"]["theirs"]
    yield f"| {ours['rows']:,} prices | Sortkey | PostgreSQL |"
    yield "|---|---|---|"
    yield f"| loaded from CSV | {rate(ours['rate'])} | {rate(theirs['rate'])}, by COPY |"
    for name, again in found["reload"].items():
        yield f"| {name} again | {rate(again['ours']['rate'])} | {rate(again['theirs']['rate'])}, without a history |"
    yield f"| on disk, with indexes | {ours['bytes'] / 2**30:.1f} GiB | {theirs['bytes'] / 2**30:.1f} GiB |"


def _reads(found: dict[str, Any]) -> Iterator[str]:
    sizes, calls = found["sizes"], found["calls"]
    few = sizes["few_stores"] * sizes["products"]
    yield (
        f"| a call in the process; a statement over a connection | p50 | p99 | read units | growth from {few:,} prices "
        "| PostgreSQL p50 | p99 | growth |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    ours, theirs = calls["ours"], calls["theirs"]
    for name, timed in ours["many"].items():
        other = theirs["many"][name]
        cells = (
            milliseconds(timed["p50"]),
            milliseconds(timed["p99"]),
            f"{calls['units'][name]:g}",
            f"{timed['p50'] / ours['few'][name]['p50']:.2f}×",
            milliseconds(other["p50"]),
            milliseconds(other["p99"]),
            f"{other['p50'] / theirs['few'][name]['p50']:.2f}×",
        )
        yield f"| {name} | {' | '.join(cells)} |"
    offset, better = theirs["many"][DEEP_OFFSET], found["better"]
    few_offset = theirs["few"][DEEP_OFFSET]["p50"]
    yield (
        f"| the same by OFFSET | | | | | {milliseconds(offset['p50'])} | {milliseconds(offset['p99'])} "
        f"| {offset['p50'] / few_offset:.2f}× |"
    )
    for name in (BY_PRODUCT, DEEP):
        yield (
            f"| {name}, with an index that the seed does not have | | | | | {milliseconds(better[name]['p50'])} "
            f"| {milliseconds(better[name]['p99'])} | |"
        )


def _connections(found: dict[str, Any]) -> Iterator[str]:
    http = found["http"]
    yield "| 8 connections | a second | p50 | p95 | p99 | growth | PostgreSQL, rows alone | p95 |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, many in http["many"].items():
        timed, theirs = many["timed"], http["theirs"].get(name)
        cells = (
            rate(many["rate"]),
            milliseconds(timed["p50"]),
            milliseconds(timed["p95"]),
            milliseconds(timed["p99"]),
            f"{timed['p50'] / http['few'][name]['timed']['p50']:.2f}×",
            "" if theirs is None else rate(theirs["rate"]),
            "" if theirs is None else milliseconds(theirs["timed"]["p95"]),
        )
        yield f"| {name if name == GRAPHQL else f'{name}, REST'} | {' | '.join(cells)} |"


def _changes(found: dict[str, Any]) -> Iterator[str]:
    sizes, midnight = found["sizes"], found["midnight"]
    ours, theirs, cron = found["bulk"]["ours"], found["bulk"]["theirs"], midnight["cron"]
    yield "| changes | Sortkey | PostgreSQL |"
    yield "|---|---|---|"
    yield f"| lists of {sizes['bulk']:,}, changes a second | {rate(ours['rate'])} | {rate(theirs['rate'])} |"
    listed = found["list"]
    yield f"| such a list over HTTP, until it is accepted | {seconds(listed['accepted'])} | |"
    yield f"| from then until it is permanent, with three seconds of waiting | {seconds(listed['permanent'])} | |"
    yield f"| the longest that another request waited | {milliseconds(listed['stall'])} | |"
    for what in ("alone", "during"):
        shown = [f"{milliseconds(each[what]['p50'])}, {milliseconds(each[what]['p99'])}" for each in (ours, theirs)]
        title = "a page by store alone, p50, p99" if what == "alone" else "a page by store meanwhile"
        yield f"| {title} | {' | '.join(shown)} |"
    yield (
        f"| midnight with {sizes['midnight']:,} changes of {sizes['midnight_stores']:,} stores: wrong reads after it "
        f"| {midnight['wrong']:,} of {midnight['reads']:,} | {cron['stale']:,} of {cron['reads']:,} |"
    )
    yield f"| midnight: until every price is right | at once | {seconds(cron['seconds'])}, and the wait for the job |"
    yield f"| midnight: until everything is permanent | {seconds(midnight['permanent'])} | the same |"


def _machine(machine: Machine) -> str:
    return (
        f"Measured on {machine.processors} processors with Python {machine.python}, with wrk, pgbench and the clients "
        "beside the servers. Both sync every commit."
    )


def page(before: str, measured: Measured) -> str:
    """The page with its numbers replaced."""
    head, found, rest = before.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"{PAGE} has no section between {BEGIN} and {END} for the numbers")
    return "\n".join([f"{head}{BEGIN}", "", *tables(measured), "", f"{END}{tail}"])


class Bar(NamedTuple):
    name: str
    value: float
    ours: bool = False


class Group(NamedTuple):
    title: str
    written: Callable[[float], str]
    bars: list[Bar]


def groups(found: dict[str, Any]) -> Iterator[Group]:
    calls, http, better = found["calls"], found["http"], found["better"]
    many, theirs = calls["ours"]["many"], calls["theirs"]["many"]
    yield Group(
        "the last page of a product in all stores, p50: less is better",
        milliseconds,
        [
            Bar("Sortkey, by cursor", many[DEEP]["p50"], ours=True),
            Bar("PostgreSQL, a better index", better[DEEP]["p50"]),
            Bar("PostgreSQL, by cursor", theirs[DEEP]["p50"]),
            Bar("PostgreSQL, by OFFSET", theirs[DEEP_OFFSET]["p50"]),
        ],
    )
    growth = {
        side: calls[side]["many"][BY_PRODUCT]["p50"] / calls[side]["few"][BY_PRODUCT]["p50"]
        for side in ("ours", "theirs")
    }
    yield Group(
        "a page by product, growth from a hundredth of the prices: less is better",
        lambda number: f"{number:.2f}×",
        [Bar("Sortkey", growth["ours"], ours=True), Bar("PostgreSQL", growth["theirs"])],
    )
    yield Group(
        "a page by store, 8 connections: more is better",
        rate,
        [
            Bar("Sortkey, REST", http["many"][BY_STORE]["rate"], ours=True),
            Bar("Sortkey, GraphQL", http["many"][GRAPHQL]["rate"], ours=True),
            Bar("PostgreSQL, rows alone", http["theirs"][BY_STORE]["rate"]),
        ],
    )
    midnight = found["midnight"]
    yield Group(
        f"midnight with {found['sizes']['midnight']:,} changes: share of reads that show an old price",
        lambda number: f"{number:.0%}",
        [
            Bar("Sortkey", midnight["wrong"] / max(1, midnight["reads"]), ours=True),
            Bar("PostgreSQL, cron job", midnight["cron"]["stale"] / max(1, midnight["cron"]["reads"])),
        ],
    )


def picture(measured: Measured) -> str:
    drawn = list(groups(measured.pricing))
    height = TOP + sum(GROUP + STEP * len(group.bars) for group in drawn) + 40
    prices = measured.pricing["load"]["ours"]["rows"]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        text(MARGIN, 36, f"{prices:,} prices beside PostgreSQL", "title"),
    ]
    top = TOP
    for group in drawn:
        lines += _drawn(top, group)
        top += GROUP + STEP * len(group.bars)
    machine = measured.machine
    lines.append(text(MARGIN, height - 16, f"{machine.processors} processors, Python {machine.python}, one run."))
    return "\n".join([*lines, "</svg>"]) + "\n"


def _drawn(top: int, group: Group) -> Iterator[str]:
    most = max(bar.value for bar in group.bars) or 1.0
    yield text(MARGIN, top + GROUP - 12, group.title, "group")
    for index, (name, value, ours) in enumerate(group.bars):
        y = top + GROUP + index * STEP
        length = max(value / most * LONGEST, 1)
        style = "own" if ours else ""
        yield text(MARGIN, y + BAR - 4, name, style)
        yield (
            f'<rect class="bar{" ours" if ours else ""}" x="{MARGIN + NAMES}" y="{y}" width="{length:.1f}" '
            f'height="{BAR}" rx="2"/>'
        )
        yield text(round(MARGIN + NAMES + length + 8), y + BAR - 4, group.written(value), style)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m benchmarks._pricing_docs RESULTS.json\n")
        return 2
    measured = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=Measured)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), measured), encoding="utf-8")
    PICTURE.write_text(picture(measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
