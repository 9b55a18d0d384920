"""`make beside N=10000`: PynamoDB and ElectroDB write the same table as Sortkey, by turns and at random."""

from __future__ import annotations

import argparse
import sys

from tests.maven import Unavailable
from tests.takeover.beside.campaign import Campaign, Failure, Result
from tests.takeover.beside.libraries import LIBRARIES, library
from tests.wire.serving import ServerProcess


def main() -> int:
    parser = argparse.ArgumentParser(prog="make beside", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library", choices=LIBRARIES, required=True)
    given = parser.parse_args()
    server = ServerProcess("--memory")
    try:
        with library(given.library, server.url) as programs:
            result = Campaign(programs, given.seed).run(given.count)
    except Failure as failure:
        sys.stdout.write(f"{given.library}, seed {given.seed}: {failure}\n")
        return 1
    except Unavailable as reason:
        sys.stdout.write(f"{given.library} cannot be run: {reason}\n")
        return 2
    finally:
        server.stop()
    sys.stdout.write(summary(given.library, result))
    return 0


def summary(name: str, result: Result) -> str:
    counted = ", ".join(f"{who} {operation} {n:,}" for (who, operation), n in sorted(result.operations.items()))
    return (
        f"{name}: {sum(result.operations.values()):,} operations ({counted}); {result.compared:,} attributes that were "
        f"not to change are the same bytes; {result.swept:,} rows read whole\n"
    )


if __name__ == "__main__":
    sys.exit(main())
