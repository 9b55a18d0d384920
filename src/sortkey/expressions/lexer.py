"""Splits an expression's text into tokens.

A token's type is "name", "#name", ":value", "index", "end" or "unknown" (a character that no expression may have).
For keywords and signs it is the word itself in upper case.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

KEYWORDS: Final = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})

_TOKEN: Final = re.compile(
    r"""
      (?P<space>[ \t\r\n\f]+)
    | (?P<name>[A-Za-z][A-Za-z0-9_]*)
    | (?P<alias>\#[A-Za-z0-9_]+)
    | (?P<value>:[A-Za-z0-9_]+)
    | (?P<index>0|[1-9][0-9]*)
    | (?P<sign><=|>=|<>|[=<>+\-.,()\[\]])
    | (?P<unknown>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    type: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The tokens of a text; the last has the type "end"."""
    found = [
        Token(_type(match.lastgroup, match.group()), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]
    found.append(Token("end", "<EOF>", len(text), len(text)))
    return found


def _type(group: str | None, word: str) -> str:
    match group:
        case "name":
            upper = word.upper()
            return upper if upper in KEYWORDS else "name"
        case "alias":
            return "#name"
        case "value":
            return ":value"
        case "index":
            return "index"
        case "sign":
            return word
        case _:
            return "unknown"


def vicinity(text: str, found: list[Token], position: int) -> str:
    """The text around a token as error messages quote it: from the token before to the token after."""
    start = found[position - 1].start if position else 0
    last = min(position + 1, len(found) - 1)
    return text[start : found[last].end]
