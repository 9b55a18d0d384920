"""botocore's paginator with awaited requests.

botocore decides everything here as well: which token continues a listing, where `MaxItems` cuts a page, what resumes
it. Only the loop around the requests is ours, because botocore's does not await.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from botocore.exceptions import PaginationError
from botocore.paginate import PageIterator, Paginator


class AsyncPages(PageIterator):  # type: ignore[type-arg]  # generic in its stub only
    """The pages of a request."""

    _pages: tuple[dict[str, Any], ...] | None = None

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        pages: Any = self  # botocore's stubs do not declare the methods used here
        members = pages._op_kwargs
        primary = pages.result_keys[0]
        token = dict.fromkeys(pages._input_token)
        skipped = 0
        if pages._starting_token is not None:
            token = pages._parse_starting_token()[0]
        pages._inject_starting_params(members)
        previous, total, first = None, 0, True
        while True:
            answer = await pages._method(**members)
            # An embedded read awaits nothing; other tasks get a turn after each page.
            await asyncio.sleep(0)
            if first:
                if pages._starting_token is not None:
                    skipped = pages._handle_first_request(answer, primary, 0)
                pages._record_non_aggregate_key_values(answer)
            total += len(primary.search(answer) or ())
            if pages._max_items is not None and total > pages._max_items:
                excess = total - pages._max_items
                pages._truncate_response(answer, primary, excess, skipped, token)
                yield answer
                return
            # Taken before the caller sees the page, and may change it.
            token = pages._get_next_token(answer)
            yield answer
            if all(part is None for part in token.values()):
                return
            if total == pages._max_items:
                pages.resume_token = token
                return
            if token == previous:
                raise PaginationError(message=f"The same next token was received twice: {token}")
            pages._inject_token_into_kwargs(members, token)
            previous, skipped, first = token, 0, False

    async def search(self, expression: str) -> AsyncIterator[Any]:  # type: ignore[override]
        """What a JMESPath expression finds in each page; the elements of a list one by one."""
        async for page in self:
            self._pages = (page,)
            for found in super().search(expression):
                yield found

    async def build_full_result(self) -> dict[str, Any]:  # type: ignore[override]
        """All pages as one answer."""
        self._pages = tuple([page async for page in self])
        return dict(super().build_full_result())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """For botocore's methods, which work on the pages read so far."""
        if self._pages is None:
            raise TypeError("iterate over these pages with 'async for'")
        return iter(self._pages)


class AsyncPaginator(Paginator):  # type: ignore[type-arg]
    PAGE_ITERATOR_CLS = AsyncPages

    def paginate(self, **members: Any) -> AsyncPages:
        """The pages of a request."""
        return cast(AsyncPages, super().paginate(**members))
