"""`make takeover ROWS=200000`: take over a table that another program wrote and goes on writing."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.takeover.campaign import Result, Takeover
from tests.wire.serving import ServerProcess


def main() -> int:
    parser = argparse.ArgumentParser(prog="make takeover", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--endpoint", metavar="URL", help="an endpoint that is running already")
    given = parser.parse_args()
    server = None if given.endpoint else ServerProcess("--memory")
    try:
        url = given.endpoint or server.url  # type: ignore[union-attr]
        with TemporaryDirectory() as folder:
            result = Takeover(url, "takeover-", given.rows, Path(folder) / "state", given.seed).run(say)
    finally:
        if server is not None:
            server.stop()
    sys.stdout.write(summary(result))
    return 0


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def summary(result: Result) -> str:
    repaired = result.repaired.report
    lines = [
        f"{result.rows:,} rows, {result.flawed:,} of them flawed, loaded in {result.loading_seconds:.0f} s",
        f"audit: {_cost(result.found.report)}, {result.found.seconds:.0f} s; every count as planted:",
        *_counts(result.found.counts(), result.repaired.counts("repaired")),
        f"repair: {_cost(repaired)}, {result.repaired.seconds:.0f} s, kills on the way: {result.kills}",
        f"meanwhile {result.writes:,} writes of the old program, none lost; between their audit and their repair, "
        f"{repaired['changed']:,} rows changed and {repaired['deleted']:,} were deleted",
        f"after the rest was repaired by hand: clean, {result.clean.report['rows']:,} rows",
    ]
    return "\n".join(lines) + "\n"


def _cost(report: dict[str, Any]) -> str:
    return f"{report['read_units']:,g} read units, {report['write_units']:,g} write units"


def _counts(found: Counter[Any], repaired: Counter[Any]) -> list[str]:
    kinds = dict.fromkeys(each.kind for each in found)
    return [
        f"  {kind:22}{sum(n for each, n in found.items() if each.kind is kind):7,} found"
        f"{sum(n for each, n in repaired.items() if each.kind is kind):7,} repaired"
        for kind in kinds
    ]


if __name__ == "__main__":
    sys.exit(main())
