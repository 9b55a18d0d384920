"""Answers without what two databases cannot have in common, and in a fixed order.

The rest must be equal. Regions, ids and times become placeholders; sets, and lists that DynamoDB returns in no
particular order, are sorted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

REGION_AND_ACCOUNT: Final = re.compile(r"arn:aws:dynamodb:[^:]+:[^:]+:")
STREAM_LABEL: Final = re.compile(r"/stream/[^/]+")

OWN_TO_EACH: Final = frozenset(
    {
        "ApproximateCreationDateTime",
        "CreationDateTime",
        "CreationRequestDateTime",
        "EndingSequenceNumber",
        "LastDecreaseDateTime",
        "LastIncreaseDateTime",
        "LastUpdateToPayPerRequestDateTime",
        "LastUpdateDateTime",
        "LatestStreamLabel",
        "NextShardIterator",
        "NextToken",
        "ParentShardId",
        "SequenceNumber",
        "ShardId",
        "ShardIterator",
        "StartingSequenceNumber",
        "StreamLabel",
        "TableId",
        "eventID",
    }
)
"""Members that both sides must have, or neither, but whose values may differ."""

UNORDERED: Final = frozenset(
    {"AttributeDefinitions", "GlobalSecondaryIndexes", "LocalSecondaryIndexes", "NonKeyAttributes", "Tags"}
)
SETS: Final = ({"SS"}, {"NS"}, {"BS"})


def canonical(operation: str, answer: dict[str, Any]) -> Any:
    plain = _walk(answer)
    reorder = _REORDERED.get(operation)
    if reorder is not None:
        reorder(plain)
    return plain


def _walk(value: Any, name: str = "") -> Any:
    if name in OWN_TO_EACH:
        return f"<{name}>"
    if isinstance(value, dict):
        walked = {member: _walk(content, member) for member, content in value.items()}
        return {tag: ordered(content) for tag, content in walked.items()} if set(value) in SETS else walked
    if isinstance(value, list):
        elements = [_walk(element) for element in value]
        return ordered(elements) if name in UNORDERED else elements
    if isinstance(value, str):
        return STREAM_LABEL.sub(
            "/stream/<label>", REGION_AND_ACCOUNT.sub("arn:aws:dynamodb:<region>:<account>:", value)
        )
    return value


def ordered(elements: list[Any]) -> list[Any]:
    return sorted(elements, key=lambda element: json.dumps(element, sort_keys=True))


def _order_batch(answer: dict[str, Any]) -> None:
    """A batch's items, and the units of its tables, come in any order."""
    for table, items in answer.get("Responses", {}).items():
        answer["Responses"][table] = ordered(items)
    _order_capacity(answer)


def _order_capacity(answer: dict[str, Any]) -> None:
    if "ConsumedCapacity" in answer:
        answer["ConsumedCapacity"] = ordered(answer["ConsumedCapacity"])


def _order_scan(answer: dict[str, Any]) -> None:
    """A scan is in the order of hashes, which differ between the sides. The order of other statements has its tests."""
    if "Items" in answer:
        answer["Items"] = ordered(answer["Items"])


_REORDERED: Final[dict[str, Callable[[dict[str, Any]], None]]] = {
    "BatchGetItem": _order_batch,
    "BatchWriteItem": _order_capacity,
    "TransactGetItems": _order_capacity,
    "TransactWriteItems": _order_capacity,
    "ExecuteStatement": _order_scan,
    "Scan": _order_scan,
}
