"""Prepares docstrings for the site: the pages that they name become links, and examples become code blocks.

An extension of griffe, which reads the source for the reference; `zensical.toml` names it. Pages of the reference are
in `docs/reference/`, so a link to another page begins with `../`.
"""

from __future__ import annotations

import re
from typing import Any, Final

import griffe

_PAGE: Final = re.compile(r"\bdocs/([\w/-]+)\.md\b")
_PARAGRAPH: Final = re.compile(r"\n\s*\n")


class Docstrings(griffe.Extension):
    """Rewrites the docstring of each object that is loaded."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = rendered(obj.docstring.value)


def rendered(docstring: str) -> str:
    """The docstring as Markdown."""
    return "\n\n".join(map(_paragraph, _PARAGRAPH.split(docstring)))


def _paragraph(text: str) -> str:
    if text.startswith(">>>"):
        return f"```py\n{text}\n```"
    return text if text.startswith("    ") else _PAGE.sub(r"[\1](../\1.html)", text)
