"""ListTagsOfResource: ten tags per page, ordered by key."""

from __future__ import annotations

import binascii
from base64 import b64decode, urlsafe_b64encode
from typing import Final

from sortkey.engine.core import Answer, Core
from sortkey.engine.requests.tables import ListTagsOfResource
from sortkey.engine.tables.tags import table_of_arn
from sortkey.errors import ValidationException

PAGE: Final = 10


def list_tags_of_resource(core: Core, request: ListTagsOfResource) -> Answer:
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
