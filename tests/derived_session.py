"""Derives the sync session from the async one: `python -m tests.derived_session`, or `make format`.

The two differ in words only, such as `async def` and `await`; what differs otherwise is in modules that both import.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

SESSIONS: Final = Path(__file__).parents[1] / "src/sortkey/model/sessions"
SOURCE: Final = SESSIONS / "async_session.py"
DERIVED: Final = SESSIONS / "session.py"

DOCSTRING: Final = '''"""The sync session: every call of the model.

Derived from `async_session.py` by `make format`: edit that file, not this one.
"""'''

PHRASES: Final = (
    ("Iterable[Item] | AsyncIterable[Item]", "Iterable[Item]"),
    ("async def ", "def "),
    ("async for ", "for "),
    ("await ", ""),
    ("Any number of tasks", "Any number of threads"),
)
WORDS: Final = {
    "AsyncClient": "Client",
    "AsyncIterator": "Iterator",
    "AsyncRunner": "Runner",
    "AsyncScan": "Scan",
    "AsyncSession": "Session",
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
}


def derived() -> str:
    text = re.sub(r'\A""".*?"""', DOCSTRING, SOURCE.read_text(), flags=re.DOTALL)
    for ours, theirs in PHRASES:
        text = text.replace(ours, theirs)
    text = re.sub(r"\w+", lambda word: WORDS.get(word[0], word[0]), text)
    return ruff("format", ruff("check", text, "--fix", "--select=F401,I,UP028", "--unsafe-fixes"))


def ruff(command: str, text: str, *options: str) -> str:
    """The text as ruff leaves it: shorter lines are joined, and imports that only the async session needs go."""
    arguments = [sys.executable, "-m", "ruff", command, "--quiet", *options, "--stdin-filename", str(DERIVED), "-"]
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    DERIVED.write_text(derived())
