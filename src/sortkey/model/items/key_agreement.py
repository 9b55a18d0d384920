"""Whether a row's attributes say what its primary key says, for the rows of one class.

The key says which row an item is: an attribute with another value, which another program wrote, would make `item.key`
name another row. So the reader takes a row only if both agree, and leaves others to the codec, where the key decides.

Most fields are compared as text, without decoding the key or encoding the field: the sort key is `"P#" +` the content
of the attribute. Where this says no, the key is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

from sortkey.model.fields.key_text import ABOVE_SEPARATOR
from sortkey.model.keys.key_attribute import Expression, KeyAttribute
from sortkey.model.keys.template import Template


class KeyField(NamedTuple):
    """A field of the key that is also an attribute: the expressions of its content, and of its value."""

    content: str
    value: str
    is_text: bool
    """Whether the content is a str."""


def agreement(
    part: KeyAttribute,
    content: str,
    fields: Mapping[str, KeyField],
    suffix: str,
    *,
    form_after: int | None = None,
    plain: bool = False,
) -> Expression | None:
    """The test that a key attribute, whose content is the expression `content`, agrees with these fields; None if there
    is nothing to test. With `form_after`, that it has the form of the class after so many fields, too, which is known
    otherwise. `plain` if it is known that the key has no escaped character. The names end with the suffix."""
    own = {name: fields[name] for name in part.held if name in fields and fields[name].content != content}
    if not own and (form_after is None or part.template is None or part.held):
        # Fields that only the key holds are read from it, which tests its form.
        return None
    values = ", ".join(field.value for field in own.values())
    parsed = f"agrees{suffix}({content}, ({values}{',' * bool(own)}))"
    names: dict[str, Any] = {f"agrees{suffix}": _parsing_test(part, tuple(own))}
    is_text = part.sharding is None and len(own) == len(part.held)
    quick = _as_text(part, content, own, suffix, form_after, plain) if is_text else None
    if quick is None:
        return Expression(parsed, names)
    return Expression(f"({quick.source} or {parsed})", names | quick.names)


def _as_text(
    part: KeyAttribute,
    content: str,
    fields: Mapping[str, KeyField],
    suffix: str,
    form_after: int | None,
    plain: bool,
) -> Expression:
    """The test on texts, which is true only if both agree."""
    if part.template is None:
        # A number has several texts.
        (field,) = fields.values()
        return Expression(f"{content} == {field.content}", {})
    text, names = _text(part.template, fields, suffix)
    tests = [f"{text} == {content}"]
    if not plain:
        tests.append(f"{ABOVE_SEPARATOR!r} not in {content}")
    if form_after is not None:
        open_fields = [fields[each.field] for each in part.template.parts[form_after:] if each.encoding.of_content]
        alnum = " and ".join(f"{field.content}.isalnum()" for field in open_fields if field.is_text)
        if alnum:
            # Most values are letters and digits, which need no escape; this is the cheapest test.
            tests.append(f"({alnum} or matches{suffix}({content}))")
            names[f"matches{suffix}"] = part.template.matches
    return Expression(" and ".join(tests), names)


def _text(template: Template, fields: Mapping[str, KeyField], suffix: str) -> Expression:
    """The text of a key without escapes."""
    pieces: list[tuple[str, str]] = []
    names: dict[str, Any] = {}
    for index, part in enumerate(template.parts):
        field, encoder = fields[part.field], f"encode{suffix}_{index}"
        if part.encoding.of_content:
            pieces.append((part.encoding.of_content.replace("{0}", field.content), part.follower))
        else:
            pieces.append((f"{encoder}({field.value})", part.follower))
            names[encoder] = part.encoding.encode
    return Expression(_joined(template.literals[0], pieces), names)


def _joined(first: str, pieces: Sequence[tuple[str, str]]) -> str:
    """The expression of a text: expressions, each with the literal after it."""
    literals = [first, *(literal for _, literal in pieces)]
    if all(map(_is_plain, literals)) and not any("'" in expression for expression, _ in pieces):
        # Takes half of the time of a sum.
        return f"f'{first}{''.join(f'{{{expression}}}{literal}' for expression, literal in pieces)}'"
    texts = [repr(first), *(text for expression, literal in pieces for text in (expression, repr(literal)))]
    return " + ".join(text for text in texts if text != repr(""))


_is_plain: Final = re.compile(r"[A-Za-z0-9#:/|@_ .+-]*").fullmatch
"""Whether a literal is the same in the source of an f-string."""


def _parsing_test(part: KeyAttribute, names: tuple[str, ...]) -> Callable[[Any, tuple[Any, ...]], bool]:
    def agrees(content: Any, values: tuple[Any, ...]) -> bool:
        held = part.parse({part.tag: content})
        return held is not None and all(held[name] == value for name, value in zip(names, values, strict=True))

    return agrees


def reject_disagreement() -> NoReturn:
    """Leaves the row to the codec."""
    raise ValueError("an attribute disagrees with the primary key")
