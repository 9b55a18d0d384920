"""Whether two templates, or two keys, of one table could build the same key.

Sound, not complete: templates that pass never collide, but some that are rejected would not collide either. A literal
resolves that, and also makes the table easier to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sortkey.model.fields.key_text import SEPARATOR, Encoding
from sortkey.model.keys.key_attribute import KeyAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.model.keys.template import Template

Segment = list[str | Encoding]


def keys_may_collide(one: KeyLayout, other: KeyLayout) -> bool:
    """Whether two primary keys of one table could be equal."""
    return all(map(_may_be_equal, one.attributes, other.attributes))


def _may_be_equal(one: KeyAttribute, other: KeyAttribute) -> bool:
    # A native attribute can have any value of its type.
    return one.template is None or other.template is None or may_collide(one.template, other.template)


def may_collide(one: Template, other: Template) -> bool:
    ours, theirs = segments(one), segments(other)
    if len(ours) == len(theirs) and all(map(_may_meet, ours, theirs)):
        return True
    return _runs_into(one, ours, theirs) or _runs_into(other, theirs, ours)


def _runs_into(one: Template, ours: list[Segment], theirs: list[Segment]) -> bool:
    """Whether the last field of a template, which may have separators, could have what another continues with."""
    end = one.open_end
    if end is None or not end.is_open or len(theirs) <= len(ours):
        return False
    last = len(ours) - 1
    return all(map(_may_meet, ours[:last], theirs[:last])) and _agree(
        _edge(ours[last], 0), _edge(theirs[last], 0), str.startswith
    )


def close_ends(one: KeyLayout, other: KeyLayout) -> None:
    """Forbids separators in the last field of a key, `{x:raw}`, if the other key continues there: a row would not say
    which of the two it is."""
    if keys_may_collide(one, other):
        templates = [part.template for part in (*one.attributes, *other.attributes) if part.template is not None]
        opened = [each for each in templates if each.open_end is not None and each.open_end.is_open]
        for template in opened:
            template.set_open_end(False)
        if keys_may_collide(one, other):
            # They collide anyway, which is an error of its own.
            for template in opened:
                template.set_open_end(True)


def segments(template: Template) -> list[Segment]:
    """The template, split at separators: each segment is a list of literals and field encodings."""
    cut: list[Segment] = [[]]
    encodings: list[Encoding | None] = [part.encoding for part in template.parts]
    for literal, encoding in zip(template.literals, [*encodings, None], strict=True):
        first, *rest = literal.split(SEPARATOR)
        cut[-1].append(first)
        cut.extend([piece] for piece in rest)
        for piece in () if encoding is None else encoding.pieces or (encoding,):
            if isinstance(piece, str):
                first, *rest = piece.split(SEPARATOR)
                cut[-1].append(first)
                cut.extend([each] for each in rest)
            else:
                cut[-1].append(piece)
    return [[piece for piece in segment if piece != ""] for segment in cut]


def _may_meet(one: Segment, other: Segment) -> bool:
    for listed, pattern in ((one, other), (other, one)):
        texts = _texts(listed)
        if texts is not None:
            matches = re.compile(_pattern(pattern), re.DOTALL).fullmatch
            return any(matches(text) for text in texts)
    return _agree(_edge(one, 0), _edge(other, 0), str.startswith) and _agree(
        _edge(one, -1), _edge(other, -1), str.endswith
    )


def _texts(segment: Segment) -> list[str] | None:
    """All texts that a segment can have; None if there are too many to list."""
    texts = [""]
    for piece in segment:
        choices = (piece,) if isinstance(piece, str) else piece.choices
        if choices is None:
            return None
        texts = [text + choice for text in texts for choice in choices]
    return texts


def _pattern(segment: Segment) -> str:
    return "".join(re.escape(piece) if isinstance(piece, str) else piece.matched for piece in segment)


def _edge(segment: Segment, end: int) -> str:
    piece = segment[end] if segment else ""
    return piece if isinstance(piece, str) else ""


def _agree(one: str, other: str, test: Callable[[str, str], bool]) -> bool:
    return test(one, other) or test(other, one)
