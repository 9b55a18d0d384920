"""A table with rows that an older program, or another one, wrote: they lack fields, index keys and versions."""

from __future__ import annotations

from typing import Any

import sortkey as sk

OLD = sk.Table("old-rows")


class Account(sk.Item, table=OLD):
    """Grown over time: every field with a default, and both indexes, are newer than some rows."""

    id: str
    owner: str
    status: str = "active"
    credit: int = 100
    level: int = 0
    limit: int | None = None
    alias: str | None = "none yet"
    tags: set[str] = sk.field(default_factory=set)
    marks: set[str] = sk.field(default_factory=lambda: {"new"})
    notes: list[str] = sk.field(default_factory=lambda: ["hello"])
    revision: int = 0

    key = sk.Key("ACCOUNT#{id}")
    by_owner = sk.Index("gsi1", "OWNER#{owner}", "{status}#{id}")
    by_level = sk.Index("gsi2", "LEVELS", "{level}#{limit}")


class Reading(sk.Item, table=sk.Table("old-readings"), version=2):
    """Version 1 had `text` instead of `value`."""

    sensor: str
    value: int
    seen: int = 0

    key = sk.Key("SENSOR#{sensor}", "READING")
    by_value = sk.Index("gsi1", "VALUE#{value}", "{sensor}")


@Reading.upgrade(1)
def text_to_value(old: dict[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in old.items() if name != "text"}, "value": int(old["text"])}


def account_row(number: str = "1", **attributes: Any) -> dict[str, Any]:
    """A row with the least that the class needs."""
    return {"pk": {"S": f"ACCOUNT#{number}"}, "id": {"S": number}, "owner": {"S": "ann"}, **attributes}


def reading_row(sensor: str = "s", text: str = "7", **attributes: Any) -> dict[str, Any]:
    """A row of version 1."""
    return {
        "pk": {"S": f"SENSOR#{sensor}"},
        "sk": {"S": "READING"},
        "sensor": {"S": sensor},
        "text": {"S": text},
        **attributes,
    }


def put_row(db: sk.Session, row: dict[str, Any], table: str = "old-rows") -> None:
    """Writes a row as another program does."""
    db.client.put_item(TableName=table, Item=row)


def row_of(db: sk.Session, path: sk.AccessPath[Any]) -> dict[str, Any]:
    answer = db.client.get_item(TableName=path.table, Key=path.key(), ConsistentRead=True)
    row: dict[str, Any] = answer["Item"]
    return row
