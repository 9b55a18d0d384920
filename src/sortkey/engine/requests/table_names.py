"""Table names in requests, which may also be ARNs."""

from __future__ import annotations

import functools
import re

from sortkey.engine.requests.shapes import NAME_PATTERN
from sortkey.errors import ValidationException

_NAME = re.compile(NAME_PATTERN)
_ARN = re.compile(r"arn:[^:]*:dynamodb:[^:]*:[^:]*:table/([^/:]+)")


@functools.lru_cache(maxsize=4096)
def table_name_of(text: str) -> str:
    """The table name in a name or an ARN; raises ValidationException for an invalid name."""
    arn = _ARN.fullmatch(text)
    name = arn[1] if arn else text
    if not 3 <= len(name) <= 255:
        raise ValidationException("TableName must be at least 3 characters long and at most 255 characters long")
    if not _NAME.fullmatch(name):
        raise ValidationException(
            f"1 validation error detected: Value '{text}' at 'tableName' failed to satisfy constraint: "
            f"Member must satisfy regular expression pattern: {NAME_PATTERN}"
        )
    return name
