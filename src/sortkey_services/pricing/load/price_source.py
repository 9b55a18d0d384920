"""What `sortkey load pricing` reads: a file or a folder, on a disk or on object storage.

Objects are copied into a temporary folder first, because a file is read several times and by several processes. A load
that was interrupted is continued with the same objects, which their ETags tell, and not with their copies.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from sortkey.object_storage import (
    Address,
    Copies,
    ObjectError,
    ObjectStorage,
    ShowCopied,
    StoredObject,
    copied,
    fingerprint,
    parse_source,
)
from sortkey_services.pricing.load.load_processes import LoadFailed
from sortkey_services.pricing.load.price_files import RowMistake, UnusableFile, folder_format
from sortkey_services.pricing.load.price_load import FileIdentity, WrongRows


class PriceSource(NamedTuple):
    path: Path
    """Of the file or folder, or of its copy."""
    identify: Callable[[Path], FileIdentity]


def source_of(text: str) -> Path | Address:
    """Raises UnusableFile."""
    try:
        return parse_source(text)
    except ObjectError as error:
        raise UnusableFile(str(error)) from error


@asynccontextmanager
async def opened(source: Path | Address, format_name: str | None, show: ShowCopied) -> AsyncIterator[PriceSource]:
    """Copies are gone afterwards; errors name the objects in their place. Raises UnusableFile."""
    if isinstance(source, Path):
        yield PriceSource(source, FileIdentity.of)
        return
    try:
        storage = await asyncio.to_thread(ObjectStorage)
        one, objects = await asyncio.to_thread(_found, storage, source)
        if not one:
            files = {str(each): each.below(source.folder) for each in objects}
            folder_format(str(source.folder), files, format_name)
        async with copied(storage, source, objects, show) as copies:
            identity = FileIdentity(str(source), sum(each.size for each in objects), fingerprint(objects))
            try:
                yield PriceSource(copies.paths[0] if one else copies.folder, lambda _: identity)
            except (UnusableFile, LoadFailed) as error:
                raise type(error)(copies.named(str(error))) from error
            except WrongRows as error:
                raise _named(error, copies) from error
    except ObjectError as error:
        raise UnusableFile(str(error)) from error


def _found(storage: ObjectStorage, source: Address) -> tuple[bool, list[StoredObject]]:
    """Whether the address is that of one object; and the objects."""
    found = storage.find(source)
    if found is not None:
        return True, [found]
    objects = storage.files(source.folder)
    if not objects:
        raise UnusableFile(f"there is no object {source}, and none below {source.folder}")
    return False, objects


def _named(error: WrongRows, copies: Copies) -> WrongRows:
    mistakes = [RowMistake(row, copies.named(message)) for row, message in error.report.mistakes]
    return WrongRows(replace(error.report, mistakes=mistakes), lambda row: copies.named(error.place(row)))
