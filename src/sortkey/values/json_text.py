"""JSON as text, in the engine's answers: a client knows it without the engine, which remote stores do not need."""

from __future__ import annotations


class JsonText:
    """Spliced into an answer as text, or parsed by a caller that needs objects."""

    __slots__ = ("binary", "text")

    text: bytes
    binary: bool
    """Whether binary may occur in it."""
