"""Bodies to the types of handlers. A long list is decoded in slices, so that others are answered meanwhile.

A list of eight megabytes takes a tenth of a second to decode. To find where its elements begin and end takes a
fifteenth of that; then they are decoded one by one. The result, and what is wrong with it, are the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin

import msgspec

from sortkey.limits import KIB

LARGE_BYTES: Final = 256 * KIB
SLICE_BYTES: Final = 64 * KIB
"""That are decoded before others have their turn."""


class _ListType(NamedTuple):
    """A type for lists of JSON."""

    element: Any
    container: Callable[[list[Any]], Any]
    limits: tuple[Any, ...]
    """Of its length."""


class BodyDecoder:
    """Raises msgspec's errors, and UnicodeDecodeError."""

    def __init__(self, annotation: Any) -> None:
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(annotation).decode
        """At once; for bodies of up to LARGE_BYTES."""
        found = _list_type(annotation)
        self._container: Callable[[list[Any]], Any] | None = None
        if found is not None:
            split: Any = list[msgspec.Raw]
            for limit in found.limits:
                split = Annotated[split, limit]
            self._container = found.container
            self._split = msgspec.json.Decoder(split).decode
            self._element = msgspec.json.Decoder(found.element).decode

    async def decode_large(self, body: bytes) -> Any:
        if self._container is None or body.lstrip()[:1] != b"[":
            return self.decode(body)
        made: list[Any] = []
        size = 0
        for index, element in enumerate(self._split(body)):
            try:
                made.append(self._element(element))
            except msgspec.ValidationError as error:
                raise msgspec.ValidationError(_at(index, str(error))) from None
            size += memoryview(element).nbytes
            if size > SLICE_BYTES:
                size = 0
                await asyncio.sleep(0)
        return self._container(made)


def _list_type(annotation: Any) -> _ListType | None:
    """What an annotation says of lists; None if it has no type for them, or several."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        found = [each for argument in arguments if (each := _list_type(argument)) is not None]
        return found[0] if len(found) == 1 else None
    if origin is Annotated:
        inner = _list_type(arguments[0])
        return None if inner is None else inner._replace(limits=(*inner.limits, *arguments[1:]))
    if origin is list:
        return _ListType(arguments[0], list, ())
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return _ListType(arguments[0], tuple, ())
    return None


def _at(index: int, message: str) -> str:
    """The message of an element's error as that of the list: it ends with a path, unless it means the element."""
    what, at, path = message.rpartition(" - at `$")
    return f"{what}{at}[{index}]{path}" if at else f"{message} - at `$[{index}]`"
