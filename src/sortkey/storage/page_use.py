"""Which pages of a commit are used or free. Each must be one of the two, once."""

from __future__ import annotations

import struct
from typing import Final

from sortkey.storage.meta_pages import Damage, Meta
from sortkey.storage.tree_pages import META_PAGES, number_of

MOST_UNWRITTEN_PAGES: Final = 1 << 20

_NUMBER: Final = struct.Struct("=Q")


class PageUse:
    """The pages that are known to be used or free."""

    def __init__(self, meta: Meta, file_bytes: int) -> None:
        # Free pages at the end may never have been written. The bound is on this check's own memory.
        if meta.last_page > 2 * file_bytes // meta.page_size + MOST_UNWRITTEN_PAGES:
            raise Damage("the file is much shorter than its meta page says")
        self._commit = meta.commit
        self._taken = bytearray(meta.last_page + 1)
        self._taken[:META_PAGES] = b"\1" * META_PAGES

    def take(self, first: int, count: int = 1) -> None:
        """Note that pages are used. Each may be used once."""
        end = first + count
        if not META_PAGES <= first < end <= len(self._taken) or any(self._taken[first:end]):
            raise Damage(f"page {first} is out of range, or is used twice")
        self._taken[first:end] = b"\1" * count

    def take_long(self, first: int, count: int, _: int) -> None:
        """Note the pages of a long value."""
        self.take(first, count)

    def take_free(self, listed: bytes) -> None:
        """Note the free pages of one entry: their count, then their numbers."""
        if len(listed) % _NUMBER.size or not listed or len(listed) // _NUMBER.size - 1 != number_of(listed[:8]):
            raise Damage("the list of free pages has an entry of a wrong length")
        for (number,) in _NUMBER.iter_unpack(listed[_NUMBER.size :]):
            self.take(number)

    def check_all_known(self) -> None:
        unknown = self._taken.find(0)
        if unknown >= 0:
            raise Damage(f"page {unknown} is neither used nor free")

    def check_old_value(self, first: int, count: int, commit: int) -> None:
        """A value that this commit had already must not be on pages that it uses otherwise, or lists as free."""
        if commit <= self._commit and any(self._taken[first : first + count]):
            raise Damage(f"page {first} is used twice, or is listed as free")
