"""Tags of tables: TagResource, UntagResource, ListTagsOfResource; and the ARNs that name the tables."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import Final

import msgspec

from sortkey import limits
from sortkey.engine.requests.shapes import INVALID
from sortkey.engine.requests.tables import ListTagsOfResource, Tag, TagResource, UntagResource
from sortkey.engine.rows.write_batch import WriteBatch
from sortkey.engine.tables.core import Answer, Core, Work
from sortkey.engine.tables.table import Table
from sortkey.errors import AccessDeniedException, ResourceNotFoundException, ValidationException
from sortkey.storage import Transaction

RESERVED_PREFIX: Final = "aws:"
_KEY: Final = re.compile(r"[\w\s.:/=+\-@]*")
_ARN: Final = re.compile(r"arn:[^:]*:([^:]*):[^:]*:[^:]*:(.*)")
_TABLE: Final = re.compile(r"table/([^/:]+)")

PAGE: Final = 10


def tag_resource(core: Core, request: TagResource) -> Work:
    """Add tags to a table, and replace the values of those it has."""
    if not request.tags:
        raise ValidationException(f"{INVALID}At least one tag is required")
    added = read_tags(request.tags)

    def work(batch: WriteBatch) -> Answer:
        entry = table_of_arn(core, batch.transaction, request.resource_arn, "TagResource").entry
        tags = entry.tags | added
        check_count(tags)
        core.catalog.save(batch, msgspec.structs.replace(entry, tags=tags))
        return {}

    return work


def untag_resource(core: Core, request: UntagResource) -> Work:
    """Remove tags. Keys without a tag are ignored."""
    if not request.tag_keys:
        raise ValidationException(f"{INVALID}At least one tag key is required")
    removed = set(request.tag_keys)

    def work(batch: WriteBatch) -> Answer:
        entry = table_of_arn(core, batch.transaction, request.resource_arn, "UntagResource").entry
        tags = {key: value for key, value in entry.tags.items() if key not in removed}
        core.catalog.save(batch, msgspec.structs.replace(entry, tags=tags))
        return {}

    return work


def list_tags_of_resource(core: Core, request: ListTagsOfResource) -> Answer:
    """One page of tags, ordered by key."""
    with core.read() as transaction:
        tags = table_of_arn(core, transaction, request.resource_arn, "ListTagsOfResource").entry.tags
    keys = sorted(tags)
    if request.next_token is not None:
        last = _key_of(request.next_token)
        keys = [key for key in keys if key > last]
    page = keys[:PAGE]
    answer: Answer = {"Tags": [{"Key": key, "Value": tags[key]} for key in page]}
    if len(keys) > PAGE:
        answer["NextToken"] = urlsafe_b64encode(page[-1].encode()).decode()
    return answer


def _key_of(token: str) -> str:
    """The last key of the previous page, so that a token stays valid when tags change between pages."""
    try:
        return b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError) as error:
        raise ValidationException("Invalid NextToken") from error


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
    """The table that an ARN names; raises AWS's errors. (AWS has the misspelt word.)"""
    name = _TABLE.fullmatch(resource_of_arn(arn, operation))
    if name is None:
        raise invalid_arn(arn)
    table = core.catalog.find(transaction, name[1])
    if table is None:
        raise ResourceNotFoundException(f"Requested resource not found: ResourcArn: {arn} not found")
    return table


def resource_of_arn(arn: str, operation: str) -> str:
    """The part of an ARN after the account. As everywhere, its region and account are ignored."""
    parts = _ARN.fullmatch(arn)
    if parts is None:
        raise invalid_arn(arn)
    if parts[1] != "dynamodb":
        raise AccessDeniedException(f"User is not authorized to perform: dynamodb:{operation} on resource: {arn}")
    return parts[2]


def invalid_arn(arn: str) -> ValidationException:
    return ValidationException(f"Invalid TableArn: Invalid ResourceArn provided as input {arn}")
