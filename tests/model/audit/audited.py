"""A table for audits: a sparse index, an index with a native number, a TTL, two versions, keys of other programs."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import sortkey as sk
from sortkey.model.audit.classification import Classifier
from sortkey.model.audit.finding import Kind
from sortkey.model.fields.codec import Row

AUDITED = sk.Table("audited", ttl="expires")


class Order(sk.Item, table=AUDITED):
    customer: UUID
    number: int
    status: str = "OPEN"
    city: str | None = None
    weight: Decimal = Decimal(0)
    expires: datetime | None = None

    key = sk.Key("CUSTOMER#{customer:upper}", "ORDER#{number:d}", names=("PK", "SK"))
    by_city = sk.Index("gsi1", "CITY#{city:raw}", "{status}#{number:06}")
    by_weight = sk.Index("gsi2", "STATUS#{status}", "{weight}", names=("gsi2pk", "weight"))
    by_order = sk.Index("gsi3", "ORDER#{number:d}", "CUSTOMER#{customer:upper}", names=("SK", "PK"))


class Event(sk.Item, table=AUDITED, version=2):
    at: datetime
    kind: str

    key = sk.Key("EVENTS", "EVENT#{at:%Y-%m-%dT%H:%M:%SZ}", names=("PK", "SK"))
    by_kind = sk.Index("gsi1", "KIND#{kind:raw}", "{at:%Y-%m-%dT%H:%M:%SZ}")


@Event.upgrade(1)
def type_became_kind(row: dict[str, Any]) -> dict[str, Any]:
    row["kind"] = row.pop("type").upper()
    return row


ADA = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")
MORNING = datetime(2026, 1, 4, 10, tzinfo=UTC)


def order_row(**changed: Any) -> Row:
    """A row as a program with f-strings writes it; None removes an attribute."""
    row = {
        "PK": {"S": f"CUSTOMER#{str(ADA).upper()}"},
        "SK": {"S": "ORDER#3"},
        "customer": {"S": str(ADA)},
        "number": {"N": "3"},
        "status": {"S": "OPEN"},
        "city": {"S": "New York"},
        "weight": {"N": "7"},
        "expires": {"N": "4000000000"},
        "gsi1pk": {"S": "CITY#New York"},
        "gsi1sk": {"S": "OPEN#000003"},
        "gsi2pk": {"S": "STATUS#OPEN"},
        "note": {"S": "an attribute that no class declares"},
    }
    return {name: value for name, value in {**row, **changed}.items() if value is not None}


def event_row(**changed: Any) -> Row:
    row = {
        "PK": {"S": "EVENTS"},
        "SK": {"S": "EVENT#2026-01-04T10:00:00Z"},
        "at": {"S": "2026-01-04T10:00:00.000000Z"},
        "kind": {"S": "LOGIN"},
        "gsi1pk": {"S": "KIND#LOGIN"},
        "gsi1sk": {"S": "2026-01-04T10:00:00Z"},
        "_v": {"N": "2"},
    }
    return {name: value for name, value in {**row, **changed}.items() if value is not None}


def repaired(row: Row, sets: Row, removes: tuple[str, ...]) -> Row:
    return {name: value for name, value in {**row, **sets}.items() if name not in removes}


def found(row: Row) -> list[tuple[Kind, str]]:
    return [(finding.kind, finding.subject) for finding in Classifier(AUDITED).classify(row).findings]


def clean_after_repair(row: Row) -> Row:
    """The row after its repair, which leaves no finding."""
    verdict = Classifier(AUDITED).classify(row)
    assert all(finding.repairable for finding in verdict.findings if finding.kind is not Kind.PUT_REWRITES)
    assert verdict.repair is not None
    after = repaired(row, verdict.repair.sets, verdict.repair.removes)
    assert not any(each.kind is not Kind.PUT_REWRITES for each in Classifier(AUDITED).classify(after).findings)
    return after
