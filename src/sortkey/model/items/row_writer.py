"""Writes a class's items as rows together with their size, which the store in this process then need not compute.

The twin of `row_reader`: a function that is generated for one class, so that an item is encoded and measured in one
pass, without a call for each field. A class whose fields are texts, numbers, flags, lists and maps has one. It returns
None for an item that needs more, also for one that cannot be written: then the codec encodes it, and words any error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from sortkey.errors import DynamoDBError
from sortkey.limits import NUMBER_DIGITS
from sortkey.model.errors import UNEXPECTED, EncodeError, KeyPartError
from sortkey.model.fields.codec import Field, Row
from sortkey.model.fields.converter import Value, encode_int, encode_text
from sortkey.model.keys.key_attribute import KeyAttribute, TemplateAttribute
from sortkey.model.keys.key_layout import KeyLayout
from sortkey.values import number
from sortkey.values.attribute import normalise_item
from sortkey.values.size import FLAG, text_size, value_size


class MeasuredRow(NamedTuple):
    row: Row
    size: int
    """As DynamoDB counts it. The row is canonical, and has no binary."""


RowWriter = Callable[[Any], MeasuredRow | None]

_SCALARS: Final = frozenset({"S", "N", "BOOL"})
_DOCUMENTS: Final = frozenset({"L", "M"})


def compile_writer(
    fields: tuple[Field, ...], layouts: Mapping[str, KeyLayout], marks: Mapping[str, Value]
) -> RowWriter | None:
    """`layouts` are the primary key and the indexes; `marks`, the attributes that all rows have. None if the class has
    fields or keys that take a walk."""
    stored = [field for field in fields if not field.annotation.in_key]
    keys = [
        part
        for layout in layouts.values()
        for part in layout.computed
        if part.name not in {field.attribute for field in stored}
    ]
    if (
        any(field.tag not in _SCALARS | _DOCUMENTS or field.also for field in stored)
        or any(part.tag not in _SCALARS for part in keys)
        or len({part.name for part in keys}) < len(keys)
    ):
        return None
    return _Source(fields, layouts, marks).function()


class _Source:
    """The statements of the function, and what they use."""

    def __init__(self, fields: tuple[Field, ...], layouts: Mapping[str, KeyLayout], marks: Mapping[str, Value]) -> None:
        self.names: dict[str, Any] = {
            "MeasuredRow": MeasuredRow,
            "number_size": number.size,
            "measured": _measured_number,
            "text_size": text_size,
            "document_size": _document_size,
            "ERRORS": (EncodeError, KeyPartError, DynamoDBError, *UNEXPECTED),
        }
        self.size = 0
        """Of what all rows have."""
        self.texts: list[str] = []
        """The variables with texts that all rows have."""
        self.lines = ["row = {}"]
        self._variables = {field.name: f"value{index}" for index, field in enumerate(fields)}
        self._attributes = {field.attribute for field in fields if not field.annotation.in_key}
        # A key attribute must not be empty.
        self._in_keys = {part.name for layout in layouts.values() for part in layout.attributes}
        for index, field in enumerate(fields):
            variable = self._variables[field.name]
            self.lines.append(f"{variable} = item.{field.name}")
            if not field.annotation.in_key:
                self._add_field(field, variable, f"{index}")
        # In the order of the codec, so that the same item is the same text.
        for index, layout in enumerate(sorted(layouts.values(), key=lambda each: bool(each.sparse))):
            self._add_key(layout, f"{index}")
        for name, value in marks.items():
            self.lines.append(f"row[{name!r}] = {value!r}")
            self.size += text_size(name) + value_size(value)

    def _add_field(self, field: Field, variable: str, suffix: str) -> None:
        name_size = text_size(field.attribute)
        if not field.annotation.optional:
            self.size += name_size
            self.lines += self._encoded(field, variable, suffix, always=True)
            return
        self.lines += [
            f"if {variable} is not None:",
            *(f"    {line}" for line in self._encoded(field, variable, suffix, always=False)),
            f"    size += {name_size}",
        ]
        if not field.left_out:
            self.lines += [
                "else:",
                f"    row[{field.attribute!r}] = {{'NULL': True}}",
                f"    size += {name_size + FLAG}",
            ]

    def _encoded(self, field: Field, variable: str, suffix: str, *, always: bool) -> list[str]:
        """The statements that add a value and its size to the row."""
        content, target = f"content{suffix}", f"row[{field.attribute!r}]"
        if field.encode_checked is encode_text:
            lines = [f"if {variable}.__class__ is not str: return None", f"{target} = {{'S': {variable}}}"]
            return lines + self._measured_text(field.attribute, variable, always)
        if field.encode_checked is encode_int:
            return [
                f"if {variable}.__class__ is not int: return None",
                f"{content} = str({variable})",
                f"if len({content}) > {NUMBER_DIGITS}: return None",
                f"{target} = {{'N': {content}}}",
                f"size += (len({content}) + 3) // 2 if {variable} > 0 and {content}[-1] != '0' "
                f"else number_size({content})",
            ]
        self.names[f"encode{suffix}"] = field.encode_checked
        if field.tag in _DOCUMENTS:
            return [
                f"{target} = encoded = encode{suffix}({variable})",
                "if (length := document_size(encoded)) is None: return None",
                "size += length",
            ]
        lines = [f"{target} = encoded = encode{suffix}({variable})", f"{content} = encoded[{field.tag!r}]"]
        if field.tag == "BOOL":
            return [*lines, f"size += {FLAG}"]
        if field.tag == "S":
            return lines + self._measured_text(field.attribute, content, always)
        return [*lines, f"if not (digits := measured({content})): return None", "size += digits"]

    def _measured_text(self, attribute: str, variable: str, always: bool) -> list[str]:
        if always:
            self.texts.append(variable)
        return [
            *([f"if not {variable}: return None"] if attribute in self._in_keys else []),
            *([] if always else [f"size += text_size({variable})"]),
        ]

    def _add_key(self, layout: KeyLayout, suffix: str) -> None:
        lines: list[str] = []
        for index, part in enumerate(layout.computed):
            if part.name not in self._attributes:
                lines += self._key(part, f"{suffix}_{index}", always=not layout.sparse)
        if layout.sparse and lines:
            tests = " and ".join(f"{self._variables[field]} is not None" for field in sorted(layout.sparse))
            lines = [f"if {tests}:", *(f"    {line}" for line in lines)]
        self.lines += lines

    def _key(self, part: KeyAttribute, suffix: str, *, always: bool) -> list[str]:
        key, name_size = f"key{suffix}", text_size(part.name)
        if type(part) is TemplateAttribute:
            text = part.text([self._variables[field] for field in part.fields], suffix)
            self.names |= text.names
            lines = [f"{key} = {text.source}", f"row[{part.name!r}] = {{'S': {key}}}"]
        else:
            self.names[f"value_from{suffix}"] = part.value_from
            lines = [f"row[{part.name!r}] = encoded = value_from{suffix}(item)", f"{key} = encoded[{part.tag!r}]"]
        if part.tag == "N":
            return [*lines, f"if not (digits := measured({key})): return None", f"size += digits + {name_size}"]
        if not always:
            return [*lines, f"size += text_size({key}) + {name_size}"]
        self.texts.append(key)
        self.size += name_size
        return lines

    def function(self) -> RowWriter:
        body = "\n        ".join(
            [
                "if item.__extra__ or item.__stored_forms__: return None",
                f"size = {self.size}",
                *self.lines,
                f"texts = f'{''.join(f'{{{each}}}' for each in self.texts)}'",
                "size += len(texts) if texts.isascii() else len(texts.encode())",
                "return MeasuredRow(row, size)",
            ]
        )
        namespace = dict(self.names)
        exec(f"def made(item):\n    try:\n        {body}\n    except ERRORS:\n        return None", namespace)
        made: RowWriter = namespace["made"]
        return made


def _measured_number(text: str) -> int:
    """The size of a canonical number; 0 for any other text."""
    return number.plain_size(text) or (number.size(text) if number.canonical(text) is text else 0)


def _document_size(value: Value) -> int | None:
    """The size of a canonical list or map without binary; None for any other. Raises DynamoDBError for one that no
    item can have."""
    found = normalise_item({_NAME: value})
    return found.size - text_size(_NAME) if found.item[_NAME] is value and not found.binary else None


_NAME: Final = "document"
