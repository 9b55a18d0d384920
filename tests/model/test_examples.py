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
    "model.md",
    "types.md",
    "from-f-strings.md",
    "maintenance.md",
    "migrating.md",
    "reference.md",
    "change-feeds.md",
    "patterns.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_run(page: str) -> None:
    examples = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert examples
    # Classes look for the types of their fields in their module.
    module = ModuleType(f"example_{page.partition('.')[0].replace('-', '_')}")
    sys.modules[module.__name__] = module
    try:
        for example in examples:
            exec(compile(example, page, "exec"), vars(module))
    finally:
        for value in vars(module).values():
            if isinstance(value, sk.Session):
                value.close()
        del sys.modules[module.__name__]
