"""What an audit says of one row: its findings, and the update that repairs those that can be repaired.

The update is conditional on what it follows from being as it was read. It names the attributes that it writes, so it
leaves all others to their writers, also those that a row gets meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, NamedTuple

from sortkey.model.changes.placeholders import Placeholders, all_of
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value


@dataclass(frozen=True, slots=True)
class Repair:
    sets: Row
    removes: tuple[str, ...]
    guards: dict[str, Value | None]
    """The attributes that the update depends on and those that it writes, as they were read; None for an absent one."""

    def applied(self, row: Row) -> Row:
        """The row after the update."""
        return {name: value for name, value in (row | self.sets).items() if name not in self.removes}

    def joined(self, other: Repair) -> Repair:
        """Both updates in one."""
        return Repair(
            {**self.sets, **other.sets},
            tuple(dict.fromkeys((*self.removes, *other.removes))),
            {**self.guards, **other.guards},
        )

    def request(self, table: str, key: Row) -> dict[str, Any]:
        """The members of the UpdateItem."""
        placeholders = Placeholders()
        sets = [f"{placeholders.name(name)} = {placeholders.value(value)}" for name, value in self.sets.items()]
        removes = [placeholders.name(name) for name in self.removes]
        sections = [f"{section} {', '.join(texts)}" for section, texts in (("SET", sets), ("REMOVE", removes)) if texts]
        tests = [
            # Otherwise the update would bring back a row that has been deleted.
            f"attribute_exists({placeholders.name(next(iter(key)))})",
            *(placeholders.equal(name, value) for name, value in self.guards.items()),
        ]
        return placeholders.added_to(
            {
                "TableName": table,
                "Key": key,
                "UpdateExpression": " ".join(sections),
                "ConditionExpression": all_of(tests),
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        )


class Kind(StrEnum):
    UNRECOGNISED = "unrecognised"
    UNDECODABLE = "undecodable"
    OTHER_FORM = "other-form"
    KEY_DISAGREES = "key-disagrees"
    INDEX_KEY_MISSING = "index-key-missing"
    INDEX_KEY_HALF = "index-key-half"
    INDEX_KEY_STALE = "index-key-stale"
    INDEX_KEY_IMPOSSIBLE = "index-key-impossible"
    INDEX_KEYS_DISAGREE = "index-keys-disagree"
    ONLY_IN_INDEX_KEY = "only-in-index-key"
    FORMER_SHARD = "former-shard"
    COMPUTED_STALE = "computed-stale"
    TTL = "ttl"
    OLDER_VERSION = "older-version"
    PUT_REWRITES = "put-rewrites"

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]

    @property
    def is_flaw(self) -> bool:
        """Whether answers are wrong or incomplete because of it. A row of an older version is found and read, and so is
        one in a shard that readers still ask, or with a value in a second form of its field."""
        return self not in (Kind.OLDER_VERSION, Kind.FORMER_SHARD, Kind.PUT_REWRITES)


_MEANINGS: Final = {
    Kind.UNRECOGNISED: "no class has a key of this form",
    Kind.UNDECODABLE: "its class cannot decode it",
    Kind.OTHER_FORM: "a value is not in the form of its field",
    Kind.KEY_DISAGREES: "attributes disagree with the primary key",
    Kind.INDEX_KEY_MISSING: "the index key is missing",
    Kind.INDEX_KEY_HALF: "a part of the index key is missing",
    Kind.INDEX_KEY_STALE: "the index key is stale",
    Kind.INDEX_KEY_IMPOSSIBLE: "the index key cannot hold the item's fields",
    Kind.INDEX_KEYS_DISAGREE: "two index keys disagree about a field that only they have",
    Kind.ONLY_IN_INDEX_KEY: "a field is an attribute by its declaration, and only an index key has it",
    Kind.FORMER_SHARD: "it is in the shard of another number of shards",
    Kind.COMPUTED_STALE: "a computed value is not current",
    Kind.TTL: "the TTL attribute is not a number of seconds",
    Kind.OLDER_VERSION: "it has an older version",
    Kind.PUT_REWRITES: "a put of an item that was not read would rewrite this",
}


class Finding(NamedTuple):
    kind: Kind
    subject: str = ""
    """The name of the index, or of the attribute; empty if it is the whole row."""
    detail: str = ""
    """What was found, in words."""
    repairable: bool = False
    """Whether the right value follows from the row."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the audit of one row found."""

    entity: str | None
    """The name of its class; None if no class recognises it."""
    findings: tuple[Finding, ...] = ()
    repair: Repair | None = None
    """Makes the repairable findings disappear; None if there are none."""
