"""Which format reads a key that another program wrote."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

import pytest

from sortkey.model.fields.annotation import Annotation
from sortkey.model.keys.template import Template, format_hint, parse_template


@pytest.mark.parametrize(
    ("template", "types", "text", "hint"),
    [
        ("ORDER#{number}", {"number": int}, "ORDER#3", "ORDER#{number:d}"),
        ("ORDER#{number:06}", {"number": int}, "ORDER#3", "ORDER#{number:d}"),
        ("ORDER#{number}", {"number": int}, "ORDER#00031", "ORDER#{number:05}"),
        ("MSG#{at}", {"at": datetime}, "MSG#2026-01-04T10:00:00Z", "MSG#{at:%Y-%m-%dT%H:%M:%SZ}"),
        ("MSG#{at}", {"at": datetime}, "MSG#2026-01-04T10:00:00.123Z", "MSG#{at:%Y-%m-%dT%H:%M:%S.%LZ}"),
        ("MSG#{at}", {"at": datetime}, "MSG#1767520800", "MSG#{at:%s}"),
        ("DAY#{day}#{n}", {"day": date, "n": int}, "DAY#20260104#7", "DAY#{day:%Y%m%d}#{n:d}"),
        ("{id}#END", {"id": UUID}, "6BA7B810-9DAD-11D1-80B4-00C04FD430C8#END", "{id:upper}#END"),
        ("{id}", {"id": UUID}, "6ba7b8109dad11d180b400c04fd430c8", "{id:hex}"),
        ("USER#{name}#{n}", {"name": str, "n": int}, "USER#ada#7", "USER#{name}#{n:d}"),
        ("ORDER#{number}", {"number": int}, "ORDER#three", None),
        ("ORDER#{number}", {"number": int}, "INVOICE#3", None),
        ("ORDER#{number}", {"number": int}, "ORDER#3#4", None),
        ("USER#{name}", {"name": str}, "USER#a$b", "USER#{name:raw}"),
        ("CITY#{city}#{n}", {"city": str, "n": int}, "CITY#New York#7", "CITY#{city:raw}#{n:d}"),
        ("{colour}", {"colour": Literal["red"]}, "blue", None),
    ],
)
def test_hints(template: str, types: dict[str, Any], text: str, hint: str | None) -> None:
    annotations = {name: Annotation(base, optional=False, inexact=False) for name, base in types.items()}
    assert format_hint(Template(parse_template(template), annotations), annotations, text) == hint
