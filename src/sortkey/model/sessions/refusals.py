"""What a session raises.

    ModelError
    ├── ConditionFailed        the stored item is not as the caller wanted it; it is at hand in `item`
    │   └── ItemMissing        there is no such item
    ├── TransactionFailed      nothing was done; why, action by action
    ├── CursorError            a cursor that was tampered with, or belongs to another question
    ├── Unsupported            the store lacks what a declaration or a call needs
    ├── TablesDiffer           a table exists, and not as declared
    └── DeadlineExceeded       not done in time; also a TimeoutError

Whatever else the store refuses is botocore's ClientError, as it comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sortkey.model.faults import ModelError


class ConditionFailed(ModelError):
    """Nothing was written."""

    def __init__(self, message: str, item: Any | None = None) -> None:
        super().__init__(message)
        self.item = item
        """The item as it is stored."""


class ItemMissing(ConditionFailed):
    """There is no such item, so nothing was written."""


class TransactionFailed(ModelError):
    """Nothing of the transaction was done."""

    def __init__(self, message: str, reasons: Sequence[str | None]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)
        """Why, action by action, in DynamoDB's codes; None for those that were well."""


class CursorError(ModelError, ValueError):
    """A cursor that this session cannot go on from."""


class Unsupported(ModelError):
    """The store lacks something that is needed."""


class TablesDiffer(ModelError):
    """Tables exist that are not as declared."""


class DeadlineExceeded(ModelError, TimeoutError):
    """The call was not done in time. A write under way may or may not have happened."""
