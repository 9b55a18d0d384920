"""DynamoDB Local's answers as AWS would have given them, one function for each known difference in answers.

Each takes the request, our answer and DynamoDB Local's, and returns the latter, corrected.
"""

from __future__ import annotations

from decimal import Context
from typing import Any, Final

from tests.oracle.difference import Answer, Request

EXACT: Final = Context(prec=40)


def canonical_numbers(_request: Request, _ours: Answer, theirs: Answer) -> Answer:
    corrected: Answer = _with_canonical_numbers(theirs)
    return corrected


def _with_canonical_numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_canonical_numbers(element) for element in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"N": str(number)} if len(value) == 1:
            return {"N": _canonical(number)}
        case {"NS": [*numbers]} if len(value) == 1:
            return {"NS": [_canonical(number) for number in numbers]}
    return {name: _with_canonical_numbers(member) for name, member in value.items()}


def _canonical(number: str) -> str:
    plain = format(EXACT.create_decimal(number).normalize(EXACT), "f")
    return "0" if plain == "-0" else plain


def updated_parts(request: Request, ours: Answer, theirs: Answer) -> Answer:
    """The updated parts of documents instead of all of them; ours must be such parts."""
    if request[1].get("ReturnValues") not in ("UPDATED_OLD", "UPDATED_NEW"):
        return theirs
    parts = ours.get("Attributes")
    if parts is None and not _names_paths(request):
        return theirs
    if parts is None:
        return {name: member for name, member in theirs.items() if name != "Attributes"}
    return theirs | {"Attributes": parts} if _is_part({"M": parts}, {"M": theirs.get("Attributes", {})}) else theirs


def _names_paths(request: Request) -> bool:
    return any(sign in request[1].get("UpdateExpression", "") for sign in ".[")


def _is_part(part: dict[str, Any], whole: dict[str, Any]) -> bool:
    match part, whole:
        case {"M": members}, {"M": others}:
            return all(name in others and _is_part(member, others[name]) for name, member in members.items())
        case {"L": elements}, {"L": others}:
            rest = iter(others)
            return all(any(_is_part(element, other) for other in rest) for element in elements)
    return bool(_with_canonical_numbers(part) == _with_canonical_numbers(whole))


def unasked_capacity(request: Request, _ours: Answer, theirs: Answer) -> Answer:
    if request[1].get("ReturnConsumedCapacity", "NONE") != "NONE":
        return theirs
    return {name: member for name, member in theirs.items() if name != "ConsumedCapacity"}
