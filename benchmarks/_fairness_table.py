"""What the benchmark of fairness has found: rows of results, and the table of the documentation.

python -m benchmarks._fairness_table RESULTS.json
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from benchmarks._attacks import ATTACKS
from benchmarks._latencies import Latency, Summary
from benchmarks._results import Result

CALM: Final = "calm"
SHOWN: Final = ("GetItem", "PutItem")
WORST_MS: Final = 50
P99_TIMES_CALM: Final = 3
MEMORY_MB: Final = 256


class Run(msgspec.Struct, frozen=True):
    """One attack on one server, or none on a calm one."""

    attack: str
    server: str
    latencies: dict[str, Summary]
    memory: float
    """Megabytes at its peak, above those of the calm server."""
    answers: dict[str, int]
    """To the attacker, by status."""

    @property
    def title(self) -> str:
        return ATTACKS[self.attack].title if self.attack in ATTACKS else self.attack

    @property
    def rejected(self) -> int:
        return sum(each.rejected for each in self.latencies.values())


class Findings(msgspec.Struct, frozen=True):
    """The part of `--json` that is read here."""

    runs: list[Run]


class Report(msgspec.Struct, frozen=True):
    fairness: Findings


def calm_of(runs: Sequence[Run], server: str) -> Run:
    return next(run for run in runs if run.attack == CALM and run.server == server)


def results(runs: Sequence[Run], attack: str, server: str) -> Iterator[Result]:
    """Of one attack on one server, beside the calm server."""
    calm = calm_of(runs, server)
    run = next(run for run in runs if run.attack == attack and run.server == server)
    for operation in SHOWN:
        found, usual = run.latencies[operation], calm.latencies[operation]
        for name in ("p50", "p99", "worst"):
            value, beside = getattr(found, name).milliseconds, getattr(usual, name).milliseconds
            yield Result(f"{run.title}: {operation} {name}", value, "ms", peers={} if run is calm else {CALM: beside})
    yield Result(f"{run.title}: rejected", run.rejected, "")
    yield Result(f"{run.title}: memory", run.memory, "MB")


def table(runs: Sequence[Run]) -> str:
    """In Markdown. A number that misses its aim is bold."""
    servers = list(dict.fromkeys(run.server for run in runs))
    named = len(servers) > 1
    head = ["", *([""] if named else []), *(f"{each} p50" for each in SHOWN[:1]), "p99", "worst", "PutItem p50"]
    head += ["p99", "worst", "rejected", "memory"]
    lines = [row(head), row(["---"] * len(head))]
    for run in runs:
        calm = calm_of(runs, run.server)
        title = run.title if run.server == servers[0] else ""
        cells = [cell for each in SHOWN for cell in cells_of(run.latencies[each], calm.latencies[each])]
        memory = marked(f"+{max(run.memory, 0):,.0f} MB", run.memory > MEMORY_MB)
        lines.append(row([title, *([run.server] if named else []), *cells, f"{run.rejected:,}", memory]))
    return "\n".join(lines)


def row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def cells_of(found: Summary, calm: Summary) -> list[str]:
    return [
        shown(found.p50),
        marked(shown(found.p99), found.p99.milliseconds > P99_TIMES_CALM * calm.p99.milliseconds),
        marked(shown(found.worst), found.worst.milliseconds > WORST_MS),
    ]


def shown(latency: Latency) -> str:
    """In the unit that fits, with two digits."""
    ms = latency.milliseconds
    text = f"{ms / 1000:.2g} s" if ms >= 995 else f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.2g} ms"
    return text if latency.answered else f"> {text}"


def marked(text: str, misses: bool) -> str:
    return f"**{text}**" if misses else text


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1:
        sys.stderr.write(f"{(__doc__ or '').strip()}\n")
        return 2
    print(table(msgspec.json.decode(Path(arguments[0]).read_bytes(), type=Report).fairness.runs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
