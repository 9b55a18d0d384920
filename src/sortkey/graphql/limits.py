"""What a request may cost. Each limit is checked before the work that it bounds."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    document_bytes: int = 16_384
    tokens: int = 2_000
    nesting: int = 24
    """Of braces, brackets and parentheses: the parser calls itself for each."""
    depth: int = 16
    """Of fields; the introspection of common tools needs 13."""
    fields: int = 1_000
    """With the fields of fragments, wherever they are spread."""
    aliases: int = 32
    repeats: int = 32
    """Of one response name within a selection: validation compares each with each."""
    fragments: int = 32
    operations: int = 32
    cost: int = 50_000
    """Fields of an answer: those of a page count for each of its nodes, and each node counts as five more."""
    variable_values: int = 120_000
    """10,000 changes have 90,000."""
