"""`make flips N=1000 SEED=1`: flip N bits of a folder, one at a time, and print what becomes of them."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from time import monotonic

from tests.faults.flips.outcomes import OPENINGS, Flips, is_failure


def main() -> int:
    parser = argparse.ArgumentParser(prog="make flips", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    began = monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        flips = Flips(Path(scratch))
        outcomes: Counter[tuple[str, str, str]] = Counter()
        failures = 0
        for number, bit in enumerate(flips.bits(Random(given.seed), given.count)):
            # Each page is flipped for each opening in turn.
            opening = OPENINGS[(number + number // flips.pages) % len(OPENINGS)]
            read, checked = flips.flip(bit, opening)
            outcomes[opening.name, read.what, checked.what] += 1
            if is_failure(read, checked):
                failures += 1
                sys.stdout.write(f"bit {bit}, {opening.name}: {': '.join(read)}; the check: {': '.join(checked)}\n")
                sys.stdout.flush()
    seconds = monotonic() - began
    sys.stdout.write(f"{given.count:,} flips over {flips.pages} pages in {seconds:.0f} s, {failures} failures\n")
    for (name, read_outcome, checked_outcome), number in sorted(outcomes.items()):
        sys.stdout.write(f"{number:7,}  {name}: {read_outcome}; the check {checked_outcome}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
