"""Items of an answer that nobody has parsed yet, for a caller who does it better: who knows what they should be."""

from __future__ import annotations

from typing import Any, Final

from sortkey.client.shapes import described, native_value
from sortkey.engine.core import Answer

READS: Final = frozenset({"GetItem", "Query", "BatchGetItem"})
"""The operations whose answers a client leaves so when it is asked to."""


class Unparsed:
    """One item, or a list of them, as DynamoDB JSON text."""

    __slots__ = ("binary", "text")

    def __init__(self, text: bytes, binary: bool) -> None:
        self.text = text
        self.binary = binary
        """Whether there may be binaries in it, which are base64 there."""

    def parsed(self) -> Any:
        """As boto3 has it."""
        return native_value(self.text, self.binary)


def items_unparsed(answer: Answer) -> dict[str, Any]:
    """An answer of the engine to one of the reads, everything but its items as boto3 gives it; the same dictionary."""
    for name, member in answer.items():
        if name in ("Item", "Items"):
            answer[name] = Unparsed(member.text, member.binary)
        elif name == "Responses":
            answer[name] = {table: Unparsed(items.text, items.binary) for table, items in member.items()}
        elif name in ("LastEvaluatedKey", "UnprocessedKeys"):
            answer[name] = described(name, member)
    return answer


def items_parsed(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with its items parsed."""
    for name in ("Item", "Items", "Responses"):
        if name in answer:
            answer[name] = _parsed(answer[name])
    return answer


def _parsed(member: Any) -> Any:
    if isinstance(member, Unparsed):
        return member.parsed()
    return {table: items.parsed() for table, items in member.items()}
