"""Cursors: a row's position on an access path, as opaque text that only the same query accepts.

    version 1 B · binding 8 B · code 16 B · the row's position as JSON            in URL-safe base64

The binding is a digest of the path, its arguments, filter and order. The code authenticates the cursor with the
session's secret (keyed BLAKE2b). A cursor of another query and a forged cursor are rejected, with different messages.
A position is not encrypted: it contains key attributes of a row that the caller has seen.
"""

from __future__ import annotations

import hmac
from base64 import b64decode, b64encode, urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, Final

import orjson

from sortkey.model.errors import CursorError, KeyPartError
from sortkey.model.fields.codec import Row
from sortkey.model.items.access_path import AccessPath

_VERSION: Final = b"\x01"
_BINDING: Final = 8
_CODE: Final = 16
_HEADER: Final = len(_VERSION) + _BINDING + _CODE
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_LONGEST: Final = 8192
"""Longer than any position: a key has at most 3 KB, an index key another 3 KB."""


class Cursors:
    """The cursors of one query. A cursor takes microseconds to make, so everything here is computed on first use:
    `request` must not change any more."""

    def __init__(self, secret: bytes, path: AccessPath[Any], request: Mapping[str, Any]) -> None:
        self._secret = secret
        self._path = path
        self._request = request

    @cached_property
    def _key(self) -> bytes:
        # A key of BLAKE2b has at most 64 bytes; a secret may have any length.
        return blake2b(self._secret, digest_size=32).digest()

    @cached_property
    def _attributes(self) -> tuple[str, ...]:
        parts = (*self._path.primary.attributes, *self._path.layout.attributes)
        return tuple(dict.fromkeys(part.name for part in parts))

    @cached_property
    def _binding(self) -> bytes:
        # The class decides which rows are returned, in addition to the request.
        described = repr((self._path.entity, self._path.collection, sorted(self._request.items()))).encode()
        return blake2b(described, digest_size=_BINDING).digest()

    @cached_property
    def _begun(self) -> Any:
        """The hash of the binding, to which each cursor's payload is added."""
        return blake2b(self._binding, key=self._key, digest_size=_CODE)

    @cached_property
    def _start(self) -> bytes:
        return _VERSION + self._binding

    def encode(self, row: Row) -> str:
        """The cursor of a row, of which only the key attributes count. Raises KeyPartError if one is missing."""
        # A page of GraphQL has a cursor for each edge, so this is written for speed.
        try:
            payload = orjson.dumps([to_json_value(row[name]) for name in self._attributes])
        except KeyError as error:
            raise KeyPartError(f"{self._path.name}: the row has no {error}") from None
        code = self._begun.copy()
        code.update(payload)
        return _text(self._start + code.digest() + payload)

    def decode(self, cursor: str) -> Row:
        """The position, as ExclusiveStartKey. Raises CursorError for a cursor that this query did not make."""
        raw = _bytes(cursor)
        binding, code, payload = raw[1:9], raw[9:_HEADER], raw[_HEADER:]
        if raw[:1] != _VERSION or not hmac.compare_digest(code, self._code(payload, binding)):
            raise CursorError("invalid cursor: it was changed, or signed with another secret")
        if binding != self._binding:
            raise CursorError(f"the cursor belongs to another query than {self._path!r}")
        values = [from_json_value(each) for each in orjson.loads(payload)]
        return dict(zip(self._attributes, values, strict=True))

    def _code(self, payload: bytes, binding: bytes) -> bytes:
        return blake2b(binding + payload, key=self._key, digest_size=_CODE).digest()


def _bytes(cursor: str) -> bytes:
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        raw = urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4))
    except ValueError:
        raise CursorError("invalid cursor: not base64") from None
    if _text(raw) != cursor:
        # base64 may have spare bits, padding and other signs, which decoding ignores.
        raise CursorError("invalid cursor: it was changed")
    return raw


def _text(raw: bytes) -> str:
    return b2a_base64(raw, newline=False).translate(_URL_SAFE).rstrip(b"=").decode("ascii")


def to_json_value(value: dict[str, Any]) -> Any:
    return {"B": b64encode(value["B"]).decode()} if "B" in value else value


def from_json_value(value: dict[str, Any]) -> dict[str, Any]:
    return {"B": b64decode(value["B"])} if "B" in value else value
