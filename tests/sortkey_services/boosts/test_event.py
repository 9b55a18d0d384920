"""Campaign events: what is taken, and how the rest is rejected."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
import pytest

from sortkey.services.interface import BadRequest
from sortkey_services.boosts.event import MAX_AREAS, CampaignEvent, Events, check_events, read_message
from tests.sortkey_services.boosts.campaigns import event

GOOD: dict[str, Any] = {
    "eventId": "e1",
    "campaignId": "c1",
    "partnerId": "10740321",
    "areas": ["BER-01", "BER-02"],
    "score": 1.8,
    "daysOfWeek": ["Monday", "Tuesday"],
    "timeSlots": ["lunch"],
    "status": "ACTIVE",
    "updatedAt": "2026-08-24T12:30:00+02:00",
}


def body(**changes: Any) -> bytes:
    return msgspec.json.encode(GOOD | changes)


def read_body(text: bytes) -> Sequence[CampaignEvent]:
    """As a request for the tenant de."""
    return asyncio.run(check_events(msgspec.json.decode(text, type=CampaignEvent | Events), "de"))


def test_an_event_is_read() -> None:
    (read,) = read_body(body())
    assert (read.campaign_id, read.areas, read.score) == ("c1", ("BER-01", "BER-02"), 1.8)
    assert read.days_of_week == {"Monday", "Tuesday"}
    assert read.updated_at == datetime.fromisoformat("2026-08-24T10:30:00Z")


def test_a_list_is_read() -> None:
    assert len(read_body(b"[%b,%b]" % (body(), body(eventId="e2")))) == 2


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("score", 0, "$.score"),
        ("score", -1.5, "$.score"),
        ("score", 1e30, "$.score"),
        ("score", 1e-320, "$.score"),
        ("score", "2", "$.score"),
        ("score", True, "$.score"),
        ("daysOfWeek", [], "$.daysOfWeek"),
        ("daysOfWeek", ["Mon"], "$.daysOfWeek[0]"),
        ("timeSlots", ["brunch"], "$.timeSlots[0]"),
        ("timeSlots", [], "$.timeSlots"),
        ("areas", [], "$.areas"),
        ("areas", [f"A{number}" for number in range(MAX_AREAS + 1)], "$.areas"),
        ("areas", ["*", "BER-01"], "areas: `*`"),
        ("areas", ["BER#01"], "areas[0]: an area must not contain `#`"),
        ("areas", ["x" * 33], "areas[0]: longer than 32 bytes"),
        ("areas", [""], "areas[0]: empty"),
        ("status", "PAUSED", "$.status"),
        ("updatedAt", "2026-08-24T12:30:00", "$.updatedAt"),
        ("updatedAt", "yesterday", "$.updatedAt"),
        ("updatedAt", "0001-01-01T00:00:00+02:00", "updatedAt: "),
        ("partnerId", "", "partnerId: empty"),
        ("partnerId", "a\nb", "partnerId: contains an unprintable character"),
        ("campaignId", "ü" * 33, "campaignId: longer than 64 bytes"),
        ("eventId", 7, "$.eventId"),
        ("tenant", "tr", "tenant: 'tr' differs from 'de' in the path"),
    ],
)
def test_what_is_wrong_is_named(field: str, value: Any, said: str) -> None:
    with pytest.raises((BadRequest, msgspec.ValidationError)) as error:
        read_body(body(**{field: value}))
    assert said in str(error.value)


def test_a_missing_field_is_named() -> None:
    without = {name: value for name, value in GOOD.items() if name != "score"}
    with pytest.raises(BadRequest, match="`score`"):
        read_message(msgspec.json.encode(without))


def test_all_faults_of_a_list_are_told_by_their_place() -> None:
    bad = b"[%b,%b,%b]" % (body(), body(partnerId=""), body(areas=["*", "A"], campaignId=""))
    with pytest.raises(BadRequest) as error:
        read_body(bad)
    places = [each.partition(":")[0] for each in error.value.details]
    assert places == ["[1].partnerId", "[2].campaignId", "[2].areas"]


@pytest.mark.parametrize(
    "bad", [b"", b"{", b"[]", b"null", b"\xff", b'"x"', b"[1]", b'{"x":' * 2000], ids=lambda bad: bad[:9]
)
def test_what_is_no_event_at_all(bad: bytes) -> None:
    with pytest.raises(BadRequest):
        read_message(bad)


def test_a_message_says_its_tenant() -> None:
    assert read_message(body(tenant="de")).tenant == "de"
    with pytest.raises(BadRequest, match="tenant"):
        read_message(body())
    with pytest.raises(BadRequest, match="empty"):
        read_message(None)


# Texts of the same instant differ by their offset, and at equal instants the order must not depend on who comes first.
def test_versions_order_as_instants_do_then_by_id() -> None:
    versions = [
        event(event_id="b", updated_at=datetime.fromisoformat("2026-08-24T12:30:00+02:00")).version,
        event(event_id="c", updated_at=datetime.fromisoformat("2026-08-24T10:30:00Z")).version,
        event(event_id="a", updated_at=datetime.fromisoformat("2026-08-24T10:30:00.000001Z")).version,
        event(event_id="a", updated_at=datetime.fromisoformat("2026-08-24T09:00:00-05:00")).version,
    ]
    assert versions == sorted(versions)
