"""What both transactional operations share: cancellation reasons, and the tokens that make retries idempotent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

import orjson

from sortkey.engine.rows import spaces
from sortkey.engine.rows.item_keys import EmptyKey
from sortkey.engine.write_batch import WriteBatch
from sortkey.errors import (
    ConditionalCheckFailedException,
    DynamoDBError,
    IdempotentParameterMismatchException,
    TransactionCanceledException,
    ValidationException,
)
from sortkey.limits import TRANSACTION_TOKEN_SECONDS

Result = TypeVar("Result")


def map_actions(step: Callable[..., Result], *columns: Sequence[Any]) -> list[Result]:
    """`map` over a transaction's actions. If any step raises, cancel with the reasons of all actions, in order."""
    results: list[Result] = []
    reasons: list[dict[str, Any]] = []
    for arguments in zip(*columns, strict=True):
        try:
            results.append(step(*arguments))
        except EmptyKey:
            raise
        except (ConditionalCheckFailedException, ValidationException) as error:
            reasons.append(_reason(error))
        else:
            reasons.append({"Code": "None"})
    if len(results) < len(reasons):
        codes = ", ".join(reason["Code"] for reason in reasons)
        raise TransactionCanceledException(
            f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]",
            CancellationReasons=reasons,
        )
    return results


def _reason(error: DynamoDBError) -> dict[str, Any]:
    code = "ConditionalCheckFailed" if isinstance(error, ConditionalCheckFailedException) else "ValidationError"
    return {"Code": code, "Message": error.message, **error.members}


def check_distinct(row_keys: Sequence[bytes]) -> None:
    if len(set(row_keys)) != len(row_keys):
        raise ValidationException("Transaction request cannot include multiple operations on one item")


class Token:
    """A ClientRequestToken. For ten minutes, the same request with it does nothing, and another request is rejected."""

    def __init__(self, token: str, actions: Sequence[Any]) -> None:
        """`actions` are what the request means, as JSON; what DynamoDB ignores in a request must not be in it."""
        self._key = spaces.TOKENS + blake2b(token.encode(), digest_size=16).digest()
        content = orjson.dumps(actions, option=orjson.OPT_SORT_KEYS)
        self._digest = blake2b(content, digest_size=16).digest()

    def used(self, batch: WriteBatch) -> bool:
        found = batch.get_record(self._key)
        if found is None or int.from_bytes(found[:8], "big") + TRANSACTION_TOKEN_SECONDS <= batch.now:
            return False
        if found[8:] != self._digest:
            raise IdempotentParameterMismatchException(
                "The request uses a client request token that was used before with other parameters"
            )
        return True

    def remember(self, batch: WriteBatch) -> None:
        batch.put_record(self._key, int(batch.now).to_bytes(8, "big") + self._digest)
