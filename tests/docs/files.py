"""The files that a page shows: each code block begins with the name of its file, `# shop.py`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

PAGES: Final = Path(__file__).parents[2] / "docs"

_BLOCK: Final = re.compile(r"^```python\n# (\w+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def write_files(page: str, folder: Path) -> None:
    """Writes the files of a page into a folder; blocks with the same name are one file."""
    text = (PAGES / page).read_text(encoding="utf-8")
    blocks = _BLOCK.findall(text)
    assert len(blocks) == text.count("```python"), f"{page}: a code block does not begin with the name of its file"
    for name, code in blocks:
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write(code)


@contextmanager
def imported(folder: Path, *names: str) -> Iterator[list[ModuleType]]:
    """The modules in a folder, as a program that runs there imports them."""
    sys.path.insert(0, str(folder))
    try:
        yield [import_module(name) for name in names]
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)
