"""The examples of the model's pages run as they stand, page by page."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sortkey as sk

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "learn/model.md",
    "guides/types.md",
    "learn/from-f-strings.md",
    "guides/maintenance.md",
    "guides/migrating.md",
    "internals/reference.md",
    "guides/change-feeds.md",
    "guides/patterns.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert examples
    # Classes look for the types of their fields in their module.
    module = ModuleType("example_" + re.sub(r"\W", "_", page))
    sys.modules[module.__name__] = module
    try:
        for example in examples:
            exec(compile(example, page, "exec"), vars(module))
    finally:
        for value in vars(module).values():
            if isinstance(value, sk.Session):
                value.close()
        del sys.modules[module.__name__]
