"""The forms in which the store can compare: exactly those that Sortkey writes, of all that it reads."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

import pytest

import sortkey as sk
from sortkey.model.changes.own_form import TextForm, own_form
from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.fields.codec import Field, codec_of

ADA = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"


class Formed(sk.Item, table="own-forms"):
    id: str
    at: datetime | None = None
    whole: Annotated[datetime, sk.seconds] | None = None
    expires: Annotated[datetime, sk.epoch] | None = None
    day: date | None = None
    user: UUID | None = None
    millis: Annotated[datetime, sk.epoch_ms] | None = None

    key = sk.Key("FORMED#{id}")


def field(name: str) -> Field:
    return codec_of(Formed).by_name[name]


# Each of these can be read, and many have the length of our own form.
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("at", {"S": "2026-08-24T12:30:00.000000Z"}),
        ("at", {"S": "2026-08-24 12:30:00.000000Z"}),
        ("at", {"S": "2026-08-24Z12:30:00.0+00:00"}),
        ("at", {"S": "2026-08-24T12:30:00.5+02:00"}),
        ("at", {"S": "2026-08-24T12:30:00,000000Z"}),
        ("at", {"S": "2026-W35-1T12:30:00.000000Z"}),
        ("at", {"S": "20260824T12:30:00.00000000Z"}),
        ("at", {"S": "2026-08-24T123000.00000000Z"}),
        ("at", {"S": "20260824T123000.0000000000Z"}),
        ("at", {"S": "2026-08-24T12:30:00Z"}),
        ("whole", {"S": "2026-08-24T12:30:00Z"}),
        ("whole", {"S": "2026-08-24 12:30:00Z"}),
        ("whole", {"S": "2026-W35-1T12:30:00Z"}),
        ("whole", {"S": "20260824T12:30:00.0Z"}),
        ("whole", {"S": "2026-08-24T123000.0Z"}),
        ("whole", {"S": "2026-08-24T12:30:00+00:00"}),
        ("whole", {"S": "2026-08-24T12:30:00.500000Z"}),
        ("day", {"S": "2026-08-24"}),
        ("day", {"S": "20260824"}),
        ("day", {"S": "2026-W35-1"}),
        ("user", {"S": ADA}),
        ("user", {"S": ADA.upper()}),
        ("user", {"S": ADA.replace("c04f", "C04f")}),
        ("user", {"S": ADA.replace("-", "")}),
        ("user", {"S": f"{{{ADA}}}"}),
    ],
)
def test_the_form_includes_what_is_written_and_nothing_else_that_is_read(name: str, value: dict[str, Any]) -> None:
    form = own_form(field(name))
    assert isinstance(form, TextForm)
    written = field(name).encode(field(name).decode(value))
    assert form.includes(value) == (written == value)
    with sk.connect("memory:") as db:
        db.create_tables(Formed)
        attribute = field(name).attribute
        db.client.put_item(TableName="own-forms", Item={"pk": {"S": "FORMED#1"}, "id": {"S": "1"}, attribute: value})
        for choice, expected in ((0, written == value), (1, written != value)):
            placeholders = Placeholders()
            tests = form.tests(placeholders.name(attribute), placeholders)
            text = (" AND ", " OR ")[choice].join(test[choice] for test in tests)
            request = placeholders.added_to({"TableName": "own-forms", "FilterExpression": text})
            assert (db.client.scan(**request)["Count"] == 1) == expected


@pytest.mark.parametrize("text", [f"{ADA.replace('-', '')}----", f"urn:{ADA.replace('-', '')}"])
def test_a_text_with_the_length_of_a_uuid_has_its_hyphens(text: str) -> None:
    with pytest.raises(ValueError, match="hyphens"):
        field("user").decode({"S": text})


def test_types_that_are_read_in_one_form_need_no_test() -> None:
    assert [name for name in codec_of(Formed).by_name if own_form(field(name)) is None] == ["id", "millis"]
