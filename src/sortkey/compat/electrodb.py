"""`sk.compat.electrodb`: items and fields as ElectroDB 3 stores its entities.

    class Task(sk.compat.electrodb.Entity, table="tasks", tag="task"):
        project: str                                        { type: "string" }
        number: sk.compat.electrodb.Integer                 { type: "number", padding: { length: 6, char: "0" } }
        created: sk.compat.electrodb.ISOString              { type: "string", default: () => new Date().toISOString() }

        key = sk.Key("$shop#project_{project:raw}", "$task_1#number_{number:06}", names=("pk", "sk"))

What it stores in one of Sortkey's own forms needs no alias; `docs/learn/from-electrodb.md` has the table of all.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

import msgspec

from sortkey.model.fields.annotation import epoch, inexact
from sortkey.model.fields.key_text import instant_text
from sortkey.model.fields.stored_as import StoredAs
from sortkey.model.fields.time_codecs import instant_in_form
from sortkey.model.items.item import Item

__all__ = ["TTL", "AnyValue", "Entity", "ISOString", "Integer", "Number"]

_EXAMPLE: Final = "2026-08-24T12:30:00.000Z"
_SAFE: Final = 2**53 - 1


def _to_text(value: Any) -> str:
    return f"{instant_text(value)[:-4]}Z"


def _from_text(text: str) -> datetime:
    return instant_in_form(text, _to_text, _EXAMPLE)


ISOString = Annotated[datetime, StoredAs(str, _to_text, _from_text, is_strict=True)]
"""What `new Date().toISOString()` writes, for years up to 9999: text with milliseconds. A smaller fraction is dropped.
`Date.now()` is `Annotated[datetime, sk.epoch_ms]`."""

Integer = Annotated[int, msgspec.Meta(ge=-_SAFE, le=_SAFE)]
"""A whole number that JavaScript holds. The AWS SDK of JavaScript does not read a row with a larger one."""

Number = Annotated[float, inexact, msgspec.Meta(ge=-_SAFE, le=_SAFE)]
"""A number with a fraction: a float, as every number of JavaScript. A Decimal with more digits would lose them with
ElectroDB's next write of the attribute."""

AnyValue = Annotated[Any, inexact]
"""The type `any`: whatever JavaScript stores. Numbers with a fraction are floats."""

TTL = Annotated[datetime, epoch]
"""The table's TTL: whole seconds since 1970, as in the field of a table's `ttl=`."""


class Entity(Item, tag_field="__edb_e__"):
    """The base of items that are ElectroDB entities: `class Task(Entity, table="tasks", tag="task")`.

    The tag is the name of the entity, and is stored as `__edb_e__`; without `tag=`, it is the name of the class.
    ElectroDB does not show rows without it, nor rows of another `edb_version`."""

    edb_version: str = msgspec.field(name="__edb_v__", default="1")
    """The version of the entity, a text in ElectroDB's model too."""
