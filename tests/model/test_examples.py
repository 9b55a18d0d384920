"""The examples of the model's pages run as they stand, page by page."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sortkey as sk

DOCS = Path(__file__).parents[2] / "docs"
PROGRAMS = [
    # The pages of a program go on where the last one ended.
    [
        "learn/first-item.md",
        "learn/access-paths.md",
        "learn/indexes.md",
        "learn/transactions.md",
        "learn/costs.md",
        "guides/older-rows.md",
    ],
    ["learn/from-f-strings.md"],
    ["learn/from-pynamodb.md"],
    ["learn/from-electrodb.md"],
    ["guides/aggregates.md"],
    ["guides/bounded-sets.md"],
    ["guides/change-feeds.md"],
    ["guides/entries.md"],
    ["guides/generations.md"],
    ["guides/hot-partitions.md"],
    ["guides/keys.md"],
    ["guides/maintenance.md"],
    ["guides/migrating.md"],
    ["guides/overlays.md"],
    ["guides/partial-items.md"],
    ["guides/rankings.md"],
    ["guides/schedules.md"],
    ["guides/sharded-keys.md"],
    ["guides/typed-names.md"],
    ["guides/types.md"],
    ["guides/vectors.md"],
]
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("pages", PROGRAMS, ids=lambda pages: pages[0])
def test_examples_run(pages: list[str]) -> None:
    # Classes look for the types of their fields in their module.
    module = ModuleType("example_" + re.sub(r"\W", "_", pages[0]))
    sys.modules[module.__name__] = module
    try:
        for page in pages:
            examples = EXAMPLE.findall((DOCS / page).read_text(encoding="utf-8"))
            assert examples
            for example in examples:
                exec(compile(example, page, "exec"), vars(module))
    finally:
        for value in vars(module).values():
            if isinstance(value, sk.Session):
                value.close()
        del sys.modules[module.__name__]
