"""What requests may say, and reading what the service may not be able to read: a row that another program wrote.

A list leaves such a row out. A request for the row itself is answered with 409 and the code `unreadable`. The log has
the reason in both cases.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.concurrent_map import concurrent_map

MAX_ID_BYTES: Final = 256
MAX_TEXT_BYTES: Final = 1024
NO_CHARACTER: Final = "\U0010ffff"
"""Keys cannot have it: ranges of keys end with it."""
PARALLEL: Final = 32

T = TypeVar("T", bound=sk.Item)

_logger = logging.getLogger(__name__)


def check_id(name: str, value: str) -> None:
    """Raises BadRequest for an id that no key can hold, or that no path of a request can name."""
    check_key_text(name, value)
    if "/" in value:
        raise sk.services.BadRequest(f"{name}: must not contain /, which separates the segments of a path")


def check_key_text(name: str, value: str) -> None:
    """Raises BadRequest for a part of a key, such as a city, that no key can hold."""
    _check_bytes(name, value, MAX_ID_BYTES)
    if NO_CHARACTER in value:
        raise sk.services.BadRequest(f"{name}: must not contain U+10FFFF, which is not a character")


def check_text(name: str, value: str) -> None:
    _check_bytes(name, value, MAX_TEXT_BYTES)


def _check_bytes(name: str, value: object, most: int) -> None:
    if not isinstance(value, str):
        raise sk.services.BadRequest(f"{name}: must be a text, not {value!r}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise sk.services.BadRequest(
            f"{name}: must be a text of whole characters, not half of a surrogate pair"
        ) from None
    if not 1 <= size <= most:
        raise sk.services.BadRequest(f"{name}: must have 1 to {most} bytes, not {size}")


async def page_of(
    session: sk.AsyncSession, path: sk.AccessPath[T], page: PageArguments, *, consistent: bool = False
) -> sk.Page[T]:
    """A page without the rows that cannot be read. Raises CursorError, in words for clients."""
    try:
        return await session.page(path, consistent=consistent, undecodable="skip", **page)
    except sk.CursorError:
        raise wrong_cursor() from None


def wrong_cursor() -> sk.CursorError:
    return sk.CursorError(
        "the cursor is not one of this list: after and before take a cursor that the same question gave"
    )


async def get_readable(session: sk.AsyncSession, paths: Sequence[sk.AccessPath[T]]) -> list[T | None]:
    """The items with these keys; None also for one that cannot be read."""

    async def one(path: sk.AccessPath[T]) -> T | None:
        try:
            return await session.get(path)
        except sk.DecodeError as error:
            _logger.warning("a row is left out: %s", error)
            return None

    try:
        return await session.get_many(paths)
    except sk.DecodeError:
        return await concurrent_map(one, paths, PARALLEL)


@contextmanager
def must_be_readable(what: str) -> Iterator[None]:
    """Raises Conflict if what is read inside cannot be."""
    try:
        yield
    except sk.DecodeError as error:
        _logger.warning("%s cannot be read: %s", what, error)
        raise sk.services.Conflict(
            f"{what} cannot be read, because another program has changed it", "unreadable"
        ) from error
