"""Tags of tables, and the ARNs that name the tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from sortkey import limits
from sortkey.engine.core import Core
from sortkey.engine.requests.tables import Tag
from sortkey.engine.tables.key_schema import INVALID
from sortkey.engine.tables.table import Table
from sortkey.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from sortkey.storage import Transaction

RESERVED_PREFIX: Final = "aws:"
_KEY: Final = re.compile(r"[\w\s.:/=+\-@]*")
_ARN: Final = re.compile(r"arn:[^:]*:([^:]*):([^:]*):([^:]*):(.*)")
_TABLE: Final = re.compile(r"table/([^/:]+)")


def read_tags(tags: Iterable[Tag]) -> dict[str, str]:
    read: dict[str, str] = {}
    for tag in tags:
        if tag.key.startswith(RESERVED_PREFIX):
            raise ValidationException(
                f"{INVALID}aws: prefixed tag key names are not allowed for external use. Key: {tag.key}"
            )
        if not _KEY.fullmatch(tag.key) or not _KEY.fullmatch(tag.value):
            raise ValidationException(
                f"{INVALID}A tag may only have letters, numbers, white space and + - = . _ : / @. Key: {tag.key}"
            )
        if tag.key in read:
            raise ValidationException(f"{INVALID}Duplicate tag key: {tag.key}")
        read[tag.key] = tag.value
    check_count(read)
    return read


def check_count(tags: dict[str, str]) -> None:
    if len(tags) > limits.TAGS:
        raise ValidationException(f"{INVALID}Number of tags exceeds the limit of {limits.TAGS} for a resource")


def table_of_arn(core: Core, transaction: Transaction, arn: str, operation: str) -> Table:
    """The table that an ARN names; raises AWS's errors, which check the account before the region."""
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    service, region, account, resource = parts.groups()
    if service != "dynamodb" or account != core.settings.account:
        raise AccessDeniedException(f"User is not authorized to perform: dynamodb:{operation} on resource: {arn}")
    name = _TABLE.fullmatch(resource)
    if region != core.settings.region or name is None:
        raise ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
    table = core.catalog.find(transaction, name[1])
    if table is None:
        raise ResourceNotFoundException(f"Requested resource not found: ResourceArn: {arn} not found")
    return table
