"""Guesses the format of a key that another program wrote: `ORDER#3` has the form `ORDER#{number:d}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from sortkey.model.errors import DeclarationError, KeyPartError
from sortkey.model.items.annotation import Annotation
from sortkey.model.keys.field_encoding import encoding_of
from sortkey.model.keys.template import Part, Template

_SPECS: Final[dict[Any, tuple[str, ...]]] = {
    str: ("", "raw"),
    int: ("", "d"),
    UUID: ("", "upper", "hex", "HEX"),
    date: ("", "%Y%m%d", "%d.%m.%Y", "%m/%d/%Y"),
    datetime: (
        "",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%dT%H:%M:%S.%LZ",
        "%Y-%m-%dT%H:%M:%S+00:00",
        "%Y-%m-%dT%H:%M:%S.%f+00:00",
        "%Y-%m-%dT%H:%M:%S",
        "%Y-%m-%d %H:%M:%S",
        "%Y%m%d%H%M%S",
        "%s",
        "%s%L",
    ),
}
_UNESCAPED: Final = "[^#]*"


def format_hint(template: Template, annotations: Mapping[str, Annotation], text: str) -> str | None:
    """The template with formats that read the text; None if there are none."""
    pattern = re.escape(template.literals[0])
    for part in template.parts:
        pattern += f"({_UNESCAPED}){re.escape(part.follower)}"
    found = re.compile(pattern, re.DOTALL).fullmatch(text)
    if found is None:
        return None
    hint = template.literals[0]
    for part, content in zip(template.parts, found.groups(), strict=True):
        spec = next(_specs_that_read(part, annotations[part.field], content), None)
        if spec is None:
            return None
        hint += f"{{{part.field}{spec and f':{spec}'}}}{part.follower}"
    return hint


def _specs_that_read(part: Part, annotation: Annotation, content: str) -> Iterator[str]:
    if annotation.base is int and content.isdecimal() and content.startswith("0") and len(content) > 1:
        yield f"0{len(content)}"
    for spec in _SPECS.get(annotation.base, ("",)):
        try:
            encoding = encoding_of(annotation, spec, followed=bool(part.follower))
            if re.fullmatch(encoding.pattern, content) and encoding.encode(encoding.decode(content)) == content:
                yield spec
        except (DeclarationError, KeyPartError, ValueError):
            continue
