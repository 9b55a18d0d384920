"""Which errors pass by themselves: those of the store and of the network.

A change whose handling raised one of them is not poisoned, so it is tried until it succeeds. Errors of rights,
credentials and missing tables are among them: the operator mends those, and no change may be lost meanwhile.
"""

from __future__ import annotations

from typing import Final

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from sortkey.model.errors import TransactionFailed

_OF_THE_REQUEST: Final = frozenset(
    {
        "ConditionalCheckFailedException",
        "IdempotentParameterMismatchException",
        "ItemCollectionSizeLimitExceededException",
        "SerializationException",
        "TransactionCanceledException",
        "ValidationException",
    }
)
"""Codes of errors that the same request would get again."""
_PASSING_REASONS: Final = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


def is_passing(error: BaseException) -> bool:
    if isinstance(error, ClientError):
        return error.response["Error"]["Code"] not in _OF_THE_REQUEST
    if isinstance(error, TransactionFailed):
        return {reason for reason in error.reasons if reason is not None} <= _PASSING_REASONS
    if isinstance(error, BotoCoreError):
        return not isinstance(error, ParamValidationError)
    return isinstance(error, ConnectionError | TimeoutError)
