"""Draw the endpoint's benchmark: `python -m benchmarks._picture RESULTS.json PICTURE.svg`.

Requests a second as bars, a group for each workload, which has its own scale: a BatchGetItem of fifty is not a GetItem.
The picture brings its own background, since a page's colours and the reader's preference need not agree.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import msgspec

from benchmarks._peers import PEERS, SORTKEY
from benchmarks._results import Machine, Report, Result
from benchmarks._workload import WORKLOADS
from benchmarks.endpoint import CONNECTIONS, SIZES, name_of

WIDTH: Final = 900
MARGIN: Final = 24
NAMES: Final = 116
"""Where the bars start, right of the servers' names."""
LONGEST: Final = 290
BAR: Final = 13
STEP: Final = 17
GROUP: Final = 36
"""From the end of a group to the first bar of the next, its title between them."""
TOP: Final = 92
BOTTOM: Final = 44

SERVERS: Final = (SORTKEY.name, *(definition.name for definition in PEERS))
STYLE: Final = """
  .paper { fill: #ffffff; stroke: #d1d9e0 } .bar { fill: #afb8c1 } .ours { fill: #0969da }
  text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #59636e }
  .title, .group, .own { fill: #1f2328; font-weight: 600 } .title { font-size: 17px } .group { font-size: 13px }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #0d1117; stroke: #3d444d } .bar { fill: #57606a } .ours { fill: #4493f8 }
    text { fill: #9198a1 } .title, .group, .own { fill: #f0f6fc }
  }
"""


def picture(report: Report) -> str:
    results = {result.name: result for result in report.results["endpoint"]}
    # All peers load the small table; not all of them can load the large one.
    size = min(SIZES)
    groups = [
        group(workload, [results[name_of(workload, each, size)] for each in CONNECTIONS]) for workload in WORKLOADS
    ]
    height = TOP + len(groups) * (GROUP + STEP * len(SERVERS)) + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
        *heading(size),
    ]
    for index, drawn in enumerate(groups):
        lines.append(f'<g transform="translate(0 {TOP + index * (GROUP + STEP * len(SERVERS))})">{"".join(drawn)}</g>')
    lines += [text(MARGIN, height - 18, footnote(report.machine)), "</svg>"]
    return "\n".join(lines) + "\n"


def heading(size: int) -> Iterator[str]:
    yield text(MARGIN, 36, "Requests a second, more is better", "title")
    yield text(
        MARGIN,
        58,
        f"A table of {size:,} items of 200 bytes. Sortkey syncs every write to disk; the others are in memory.",
    )
    for panel, connections in enumerate(CONNECTIONS):
        yield text(left(panel), 86, f"{connections} connections", "own")


def footnote(machine: Machine) -> str:
    where = f"{machine.processors} processors, Python {machine.python}"
    return f"One process each, all in one run on one machine ({where}), wrk beside them."


def left(panel: int) -> int:
    """Where a panel's bars start."""
    return MARGIN + NAMES + panel * (WIDTH - MARGIN - NAMES) // len(CONNECTIONS)


def group(workload: str, results: list[Result]) -> list[str]:
    """One workload: a row for each server, a panel for each number of connections, all on one scale."""
    rates = [{SORTKEY.name: result.value, **result.peers} for result in results]
    most = max(rate for panel in rates for rate in panel.values())
    drawn = [text(MARGIN, GROUP - 10, workload, "group")]
    for row, server in enumerate(SERVERS):
        top = GROUP + row * STEP
        drawn.append(text(MARGIN, top + BAR - 2, server, "own" if server == SORTKEY.name else ""))
        for panel, of_panel in enumerate(rates):
            drawn += bar(left(panel), top, of_panel.get(server), most, server == SORTKEY.name)
    return drawn


def bar(x: int, y: int, rate: float | None, most: float, ours: bool) -> Iterator[str]:
    if rate is None:
        yield text(x, y + BAR - 2, "no valid run")
        return
    length = max(rate / most * LONGEST, 1)
    yield f'<rect class="bar{" ours" if ours else ""}" x="{x}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>'
    yield text(round(x + length + 6), y + BAR - 2, f"{rate:,.0f}", "own" if ours else "")


def text(x: int, y: int, words: str, style: str = "") -> str:
    named = f' class="{style}"' if style else ""
    return f'<text{named} x="{x}" y="{y}">{escape(words)}</text>'


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m benchmarks._picture RESULTS.json PICTURE.svg\n")
        return 2
    results, drawn = (Path(argument) for argument in arguments)
    report = msgspec.json.decode(results.read_bytes(), type=Report)
    drawn.parent.mkdir(parents=True, exist_ok=True)
    drawn.write_text(picture(report), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
