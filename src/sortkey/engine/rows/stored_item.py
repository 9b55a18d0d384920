"""Items as they are stored: four bytes of header, then DynamoDB JSON, then the seal (`storage/sealed.py`).

The header is one big-endian word: the item's size by AWS's rules in the low 31 bits, and in the top bit whether the
item holds binary. So the engine can measure a page, and a reader can skip decoding binary, without parsing the items.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter, itemgetter
from types import GenericAlias
from typing import Final

import msgspec
import orjson

from sortkey.expressions import Projection, ShownPaths
from sortkey.limits import MIB
from sortkey.storage import SEAL_BYTES, payload_of, seal
from sortkey.values.attribute import Item, Normalised
from sortkey.values.json_text import JsonText
from sortkey.values.size import READ_UNIT_BYTES

HEADER: Final = struct.Struct(">I")
HEADER_BYTES: Final = HEADER.size
FRAME_BYTES: Final = HEADER_BYTES + SEAL_BYTES
"""How much longer a row is than its item's JSON."""
STEP_BYTES: Final = READ_UNIT_BYTES + FRAME_BYTES
"""A row of at most so many bytes costs one step of read units, since an item's JSON is longer than its size."""
BINARY: Final = 1 << 31
SIZE_MASK: Final = BINARY - 1

_unpack = HEADER.unpack_from
_header = itemgetter(slice(HEADER_BYTES))
_text = itemgetter(slice(HEADER_BYTES, -SEAL_BYTES))

KEY_READERS: Final = 1024
"""How many compiled key readers are kept, one for each key of a table or an index."""
PROJECTORS: Final = 256
MANY_ROWS: Final = 32
"""To compile a projection takes as long as to apply it to so many rows by itself."""
ESCAPED: Final = re.compile(r'[\x00-\x1f"\\]')
"""Characters that JSON escapes."""


def encode(row_key: bytes, item: Item, size: int, binary: bool) -> bytes:
    return seal(row_key, payload(item, size, binary))


def under(row_key: bytes, row: bytes) -> bytes:
    """The same item as the row of another key."""
    return seal(row_key, payload_of(row))


def payload(item: Item, size: int, binary: bool) -> bytes:
    """A row without its seal, for a caller that does not know its row key yet."""
    return HEADER.pack(size | BINARY if binary else size) + orjson.dumps(item)


def normalised(payload: bytes) -> Normalised:
    """The item of a row without its seal."""
    return Normalised(orjson.loads(payload[HEADER_BYTES:]), size(payload), has_binary(payload))


def decode(row: bytes) -> Item:
    item: Item = orjson.loads(row[HEADER_BYTES:-SEAL_BYTES])
    return item


def text(row: bytes) -> bytes:
    """The item as DynamoDB JSON."""
    return row[HEADER_BYTES:-SEAL_BYTES]


def texts(rows: list[bytes]) -> bytes:
    """The items as the inside of a JSON list."""
    return b",".join(map(_text, rows))


def size(row: bytes) -> int:
    found: int = _unpack(row)[0]
    return found & SIZE_MASK


def total_size(rows: list[bytes]) -> int:
    """The size of all rows. Unpacking all headers at once takes a third of the time of one by one."""
    # The sizes add up to a few megabytes at most, so the flags add up above them.
    total: int = sum(struct.unpack(f">{len(rows)}I", b"".join(map(_header, rows))))
    return total & SIZE_MASK


def has_binary(row: bytes) -> bool:
    return row[0] >= 0x80


def fingerprint(row: bytes) -> bytes:
    """Stands for a row that is too large to be kept."""
    return blake2b(row, digest_size=16).digest()


def any_binary(rows: list[bytes]) -> bool:
    """The flag is the top bit, so if any row has it, the greatest row has it."""
    return bool(rows) and max(rows)[0] >= 0x80


def are_plain(names: Iterable[str]) -> bool:
    """Whether msgspec can name members of a class so: it does not escape names."""
    return ESCAPED.search("".join(names)) is None


@lru_cache(maxsize=KEY_READERS)
def key_reader(names: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """From an item's JSON to the JSON of these attributes, which it has: three times as fast as decoding it."""
    if not are_plain(names):
        return lambda text: orjson.dumps({name: value for name, value in orjson.loads(text).items() if name in names})
    members = [(f"member{number}", msgspec.Raw) for number in range(len(names))]
    key = msgspec.defstruct("Key", members, rename=dict(zip((name for name, _ in members), names, strict=True)))
    decode = msgspec.json.Decoder(key).decode
    # The object's template: names in order, each followed by a slot for its value.
    form = b"{%b}" % b",".join(b"%b:%%b" % orjson.dumps(name).replace(b"%", b"%%") for name in names)
    values = attrgetter(*(name for name, _ in members))
    return lambda text: form % values(decode(text))


@lru_cache(maxsize=PROJECTORS)
def _projector(names: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """From a JSON list of items to that of these attributes of each: takes an eighth of the time of decoding them."""
    members = [(f"member{number}", msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for number in range(len(names))]
    renamed = {member: name for (member, *_), name in zip(members, names, strict=True)}
    item = msgspec.defstruct("Projected", members, rename=renamed, gc=False)
    decode = msgspec.json.Decoder(GenericAlias(list, (item,))).decode
    return lambda text: msgspec.json.encode(decode(text))


def _projected(rows: list[bytes], projection: Projection | ShownPaths) -> bytes:
    """The projected items as the inside of a JSON list."""
    if projection.whole is not None and len(rows) >= MANY_ROWS and are_plain(projection.whole):
        return _projector(projection.whole)(b"[%b]" % texts(rows))[1:-1]
    return b",".join([orjson.dumps(projection(decode(row))) for row in rows])


class Json(JsonText):
    """JSON as it is stored."""

    __slots__ = ("row",)

    def __init__(self, text: bytes, binary: bool, row: bytes | None = None) -> None:
        self.text = text
        self.binary = binary
        self.row = row
        """The stored row, if the text is one whole item; its header holds the size."""

    @classmethod
    def item(cls, row: bytes) -> Json:
        return cls(row[HEADER_BYTES:-SEAL_BYTES], row[0] >= 0x80, row)

    @classmethod
    def of(cls, item: Item, binary: bool = True) -> Json:
        """A part of an item, or a key. `binary` is true if it may hold binary."""
        return cls(orjson.dumps(item), binary)

    @classmethod
    def items(cls, rows: list[bytes], projection: Projection | ShownPaths | None = None) -> Json:
        """A list of the rows' items, whole or projected."""
        return cls(b"[%b]" % (texts(rows) if projection is None else _projected(rows, projection)), any_binary(rows))


LONG_BYTES: Final = 2 * MIB
"""Answers that are longer are not compressed, so nobody needs them joined."""


class LongJson(Json):
    """JSON of more than `LONG_BYTES`, in pieces. The endpoint sends them one by one."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: list[bytes], binary: bool) -> None:
        self.pieces = pieces
        self.binary = binary
        self.row = None

    @property
    def text(self) -> bytes:  # type: ignore[override]
        return b"".join(self.pieces)


class ItemTexts:
    """Items for an answer that is put together in parts, whole or projected."""

    __slots__ = ("_binary", "_projection", "_texts")

    def __init__(self, projection: Projection | ShownPaths | None) -> None:
        self._projection = projection
        self._binary = False
        self._texts: list[bytes] = []

    def add(self, rows: list[bytes]) -> None:
        projection = self._projection
        if not rows:
            return
        # Joined now: a list of many short texts would take much memory.
        self._texts.append(texts(rows) if projection is None else _projected(rows, projection))
        self._binary = self._binary or any_binary(rows)

    def json(self) -> Json:
        """A list of the items."""
        if sum(map(len, self._texts)) <= LONG_BYTES:
            return Json(b"[%b]" % b",".join(self._texts), self._binary)
        pieces = [piece for text in self._texts for piece in (b",", text)]
        pieces[0] = b"["
        return LongJson([*pieces, b"]"], self._binary)
