"""The changelog keeps step with the version."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
HEADINGS = re.findall(r"^## \[(.+?)\]", CHANGELOG, re.MULTILINE)


# A change that users notice is written down with the change, not at release time from memory.
def test_unreleased_comes_first() -> None:
    assert HEADINGS[0] == "Unreleased"


def test_newest_release_is_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert HEADINGS[1:2] in ([], [project["version"]])


# Before the first release there is nothing that could have changed, or that users have seen broken.
def test_before_the_first_release_everything_is_added() -> None:
    if len(HEADINGS) == 1:
        assert set(re.findall(r"^### (.+)", CHANGELOG, re.MULTILINE)) == {"Added"}
