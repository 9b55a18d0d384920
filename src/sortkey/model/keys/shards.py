"""`sk.Shards`: one partition of a key or an index, spread over several, its *shards*.

The stored partition key ends in the shard's number: `TOP#2026#07`. The number follows from fields of the item, so exact
keys are known, index keys can be computed again, and an item is in one place. It is a jump consistent hash (Lamping and
Veach, 2014): with a larger number of shards, an item stays where it is or moves to one of the new shards, and never
from one old shard to another. Readers rely on that while items move.

The text of a shard does not depend on how many there are, so their number can change on a live table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

from sortkey.model.errors import UNEXPECTED, DeclarationError, KeyPartError, shown
from sortkey.model.fields.annotation import Annotation
from sortkey.model.fields.key_text import SEPARATOR, Encoding
from sortkey.model.keys.field_encoding import encoding_of

MOST_SHARDS: Final = 1000
CACHED_SHARDS: Final = 4096
"""Per key: of how many values the shard is cached."""
SHARD: Final = "__shard__"
"""The name of the computed part of a template."""

_MULTIPLIER: Final = 2862933555777941757
_MASK: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Shards:
    """Spreads each partition of a key or an index over `number` partitions, by the hash of the field `by`, or of the
    item's primary key: `sk.Index("top", "TOP#{window}", "{count}", shards=sk.Shards(16, by="restaurant"))`.

    One partition takes 1,000 write units a second at most, 16 shards take 16,000. Paths do not name the shard: a read
    asks all shards at once and merges the answers in order. `formerly` is the number before or after a change, while
    items are in both placements; see docs/guides/sharded-keys.md.

    >>> Shards(16, by="restaurant", formerly=4)
    Shards(number=16, by='restaurant', formerly=4)
    """

    number: int
    by: str | None = None
    formerly: int | None = None

    def __post_init__(self) -> None:
        given: Any = (self.number,) if self.formerly is None else (self.number, self.formerly)
        for each in given:
            if type(each) is not int or not 1 <= each <= MOST_SHARDS:
                raise DeclarationError(f"a number of shards is from 1 to {MOST_SHARDS}, not {each!r}")
        if not (self.by is None or isinstance(self.by, str)):
            raise DeclarationError(f"by= names one field, not {self.by!r}")


class Sharding:
    """The shards of one key, with the types of the fields that decide."""

    def __init__(self, declared: Shards, by: Sequence[str], types: Mapping[str, Annotation]) -> None:
        """Raises DeclarationError for a field that a key cannot contain."""
        self.number = declared.number
        self.formerly = declared.formerly
        self.by = tuple(by)
        self.placed_by = frozenset(by)
        # The same items are written again and again.
        self._cached = lru_cache(CACHED_SHARDS, typed=True)(self._computed)
        self._encoders = [(field, encoding_of(types[field], "", followed=True).encode) for field in by]

    def __repr__(self) -> str:
        return f"{self.number} shards by {', '.join(self.by)}"

    @property
    def is_changing(self) -> bool:
        """Whether items may be in the placement of another number of shards."""
        return self.formerly is not None and self.formerly != self.number

    @property
    def numbers(self) -> range:
        """The shards that have items."""
        return range(max(self.number, self.formerly or 0))

    @property
    def fewest(self) -> int:
        """How many shards the items are spread over at least."""
        return min(self.number, self.formerly or self.number)

    @property
    def phases(self) -> tuple[range, ...]:
        """The shards in the order in which they are to be read: items move from those of the first range to those of
        the second, so one that moves meanwhile is seen at least once."""
        if self.formerly is None or self.formerly == self.number:
            return (self.numbers,)
        few, many = sorted((self.number, self.formerly))
        parts = range(few), range(few, many)
        return parts if self.formerly == few else parts[::-1]

    def shard(self, *values: Any) -> int:
        """The shard of an item, from the values of the fields that decide."""
        try:
            return self._cached(*values)
        except TypeError:
            # A value without a hash, such as one of the wrong type, which the encoding rejects in words.
            return self._computed(*values)

    def _computed(self, *values: Any) -> int:
        return jump(self._digest(values), self.number)

    def former_shard(self, *values: Any) -> int:
        """Where the item was before the number changed."""
        return jump(self._digest(values), self.formerly or self.number)

    def _digest(self, values: Sequence[Any]) -> int:
        texts = [_encoded(field, encode, value) for (field, encode), value in zip(self._encoders, values, strict=True)]
        # The store rejects half of a surrogate pair, and the session names its field.
        text = SEPARATOR.join(texts).encode(errors="surrogatepass")
        return int.from_bytes(blake2b(text, digest_size=8).digest())


def _encoded(field: str, encode: Callable[[Any], str], value: Any) -> str:
    try:
        return encode(value)
    except KeyPartError as error:
        raise KeyPartError(f"{field}: {error}") from None
    except UNEXPECTED as error:
        raise KeyPartError(f"{field}: {shown(value)}: {type(error).__name__}: {error}") from error


def jump(digest: int, shards: int) -> int:
    """The shard of a digest of 64 bits."""
    shard, following = 0, 0
    while following < shards:
        shard = following
        digest = (digest * _MULTIPLIER + 1) & _MASK
        following = int((shard + 1) * ((1 << 31) / ((digest >> 33) + 1)))
    return shard


def shard_text(shard: int) -> str:
    return f"{shard:02}"


SHARD_ENCODING: Final = Encoding(shard_text, int, "(?:[0-9]{2}|[1-9][0-9]{2})", delimited=False)
