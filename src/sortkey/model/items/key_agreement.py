"""Whether a row's attributes say what its primary key says, for the rows of one class.

The key says which row an item is: an attribute with another value, which another program wrote, would make `item.key`
name another row. So the reader takes a row only if both agree, and leaves others to the codec, where the key decides.

Most fields are compared as text, without decoding the key or encoding the field: the sort key is `"P#" +` the content
of the attribute. Where this says no, the key is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, NoReturn

from sortkey.model.keys.encoding import ABOVE_SEPARATOR
from sortkey.model.keys.key_attribute import Expression, KeyAttribute
from sortkey.model.keys.template import Template


class KeyField(NamedTuple):
    """A field of the key that is also an attribute: the expressions of its content, and of its value."""

    content: str
    value: str
    is_text: bool
    """Whether the content is a str."""


def agreement(
    part: KeyAttribute, content: str, fields: Mapping[str, KeyField], suffix: str, *, form: bool = False
) -> Expression | None:
    """The test that a key attribute, whose content is the expression `content`, agrees with these fields; None if there
    is nothing to test. With `form`, that it has the form of the class, too, which is known otherwise. Its names end
    with the suffix."""
    own = {name: fields[name] for name in part.held if name in fields and fields[name].content != content}
    if not own and (not form or part.template is None or part.held):
        # Fields that only the key holds are read from it, which tests its form.
        return None
    values = ", ".join(field.value for field in own.values())
    parsed = f"agrees{suffix}({content}, ({values}{',' * bool(own)}))"
    names: dict[str, Any] = {f"agrees{suffix}": _parsing_test(part, tuple(own))}
    is_text = part.sharding is None and len(own) == len(part.held)
    quick = _as_text(part, content, own, suffix, form) if is_text else None
    if quick is None:
        return Expression(parsed, names)
    return Expression(f"({quick.source} or {parsed})", names | quick.names)


def _as_text(part: KeyAttribute, content: str, fields: Mapping[str, KeyField], suffix: str, form: bool) -> Expression:
    """The test on texts, which is true only if both agree."""
    if part.template is None:
        # A number has several texts.
        (field,) = fields.values()
        return Expression(f"{content} == {field.content}", {})
    text, names = _text(part.template, fields, suffix)
    unescaped = f"{ABOVE_SEPARATOR!r} not in {content}"
    texts = [fields[each.field] for each in part.template.parts if each.encoding.of_content]
    plain = [f"{field.content}.isalnum()" for field in texts if field.is_text]
    if form and plain:
        # Most values are letters and digits, which need no escape; this is the cheapest test.
        unescaped = f"({' and '.join(plain)} or {unescaped} and matches{suffix}({content}))"
        names[f"matches{suffix}"] = part.template.matches
    return Expression(f"{text} == {content} and {unescaped}", names)


def _text(template: Template, fields: Mapping[str, KeyField], suffix: str) -> Expression:
    """The text of a key without escapes."""
    pieces, names = [repr(template.literals[0])], {}
    for index, part in enumerate(template.parts):
        field, encoder = fields[part.field], f"encode{suffix}_{index}"
        if part.encoding.of_content:
            pieces.append(part.encoding.of_content.replace("{0}", field.content))
        else:
            pieces.append(f"{encoder}({field.value})")
            names[encoder] = part.encoding.encode
        pieces.append(repr(part.follower))
    return Expression(" + ".join(piece for piece in pieces if piece != repr("")), names)


def _parsing_test(part: KeyAttribute, names: tuple[str, ...]) -> Callable[[Any, tuple[Any, ...]], bool]:
    def agrees(content: Any, values: tuple[Any, ...]) -> bool:
        held = part.parse({part.tag: content})
        return held is not None and all(held[name] == value for name, value in zip(names, values, strict=True))

    return agrees


def reject_disagreement() -> NoReturn:
    """Leaves the row to the codec."""
    raise ValueError("an attribute disagrees with the primary key")
