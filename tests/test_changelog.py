"""The changelog keeps step with the version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
HEADINGS = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


# Whoever changes something that users notice writes it there, not at release time from memory.
def test_unreleased_comes_first() -> None:
    assert HEADINGS[0] == "Unreleased"


def test_newest_release_is_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert HEADINGS[1] == project["version"]
