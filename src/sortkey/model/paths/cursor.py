"""Cursors: where a row lies on an access path, as opaque text that only this question can go on from.

    version 1 B · binding 8 B · code 16 B · the row's position as JSON            in URL-safe base64

The binding is a digest of the path, its arguments, filter and order; the code authenticates everything with the
session's secret (keyed BLAKE2b). So a cursor of another question, and one that somebody made up, are both rejected,
and told apart. A position is not encrypted: it holds key attributes of the row, which the caller was shown already.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import orjson

from sortkey.model.errors import CursorError
from sortkey.model.items.codec import Row
from sortkey.model.paths.access_path import Path

_VERSION: Final = b"\x01"
_BINDING: Final = 8
_CODE: Final = 16
_HEADER: Final = len(_VERSION) + _BINDING + _CODE
_LONGEST: Final = 8192
"""More than any position takes: a key is 3 KB at most, an index key another 3 KB."""


class Cursors:
    """The cursors of one question. Making one costs microseconds, so pages make them only when asked, and so is this
    made: `request` must not change any more."""

    def __init__(self, secret: bytes, path: Path[Any], request: Mapping[str, Any]) -> None:
        self._secret = secret
        self._path = path
        self._request = request

    @cached_property
    def _key(self) -> bytes:
        # BLAKE2b takes keys of up to 64 bytes; a secret may be of any length.
        return blake2b(self._secret, digest_size=32).digest()

    @cached_property
    def _attributes(self) -> tuple[str, ...]:
        parts = (*self._path.primary.attributes, *self._path.layout.attributes)
        return tuple(dict.fromkeys(part.name for part in parts))

    @cached_property
    def _binding(self) -> bytes:
        # Which class was asked decides which rows count, beside the request itself.
        described = repr((self._path.entity, self._path.collection, sorted(self._request.items()))).encode()
        return blake2b(described, digest_size=_BINDING).digest()

    def encode(self, position: Row) -> str:
        payload = orjson.dumps([_plain(position[name]) for name in self._attributes])
        return urlsafe_b64encode(_VERSION + self._binding + self._code(payload) + payload).rstrip(b"=").decode()

    def decode(self, cursor: str) -> Row:
        """The position, as ExclusiveStartKey. Raises CursorError for a cursor that this question did not give out."""
        raw = _bytes(cursor)
        binding, code, payload = raw[1:9], raw[9:_HEADER], raw[_HEADER:]
        if raw[:1] != _VERSION or not hmac.compare_digest(code, self._code(payload, binding)):
            raise CursorError("this is no cursor of ours: it was changed, or signed with another secret")
        if binding != self._binding:
            raise CursorError(f"this cursor belongs to another question than {self._path!r}")
        values = [_value(each) for each in orjson.loads(payload)]
        return dict(zip(self._attributes, values, strict=True))

    def _code(self, payload: bytes, binding: bytes | None = None) -> bytes:
        return blake2b((binding or self._binding) + payload, key=self._key, digest_size=_CODE).digest()


def _bytes(cursor: str) -> bytes:
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        return urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raise CursorError("this is no cursor: it is not even base64") from None


def _plain(value: dict[str, Any]) -> Any:
    binary = value.get("B")
    return {"B": b64encode(binary).decode()} if binary is not None else value


def _value(plain: dict[str, Any]) -> dict[str, Any]:
    return {"B": b64decode(plain["B"])} if "B" in plain else plain
