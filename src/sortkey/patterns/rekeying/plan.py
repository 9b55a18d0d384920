"""`Plan`: what a re-keying declares, and how groups of old items and keys of new rows are written as texts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.item import Item, schema_of
from sortkey.model.items.key import BoundKey
from sortkey.model.items.schema import Schema

Derive = Callable[[Sequence[Any]], Iterable[Item]]


class KeyTexts:
    """Fields of a key as a text, a list in JSON, and back. Texts are equal exactly if the keys are."""

    def __init__(self, schema: Schema[Any], fields: Sequence[str]) -> None:
        self._fields = tuple(fields)
        self._types = [schema.codec.by_name[name].annotation.declared for name in fields]

    def write(self, given: Mapping[str, Any]) -> str:
        return msgspec.json.encode([given[name] for name in self._fields]).decode()

    def read(self, text: str) -> dict[str, Any]:
        given = msgspec.json.decode(text)
        values = (msgspec.convert(value, of) for value, of in zip(given, self._types, strict=True))
        return dict(zip(self._fields, values, strict=True))


class Plan:
    def __init__(
        self,
        name: str,
        sources: Sequence[type[Item]],
        inputs: Sequence[type[Item]],
        to: Sequence[type[Item]],
        by: Sequence[str],
        derive: Derive,
    ) -> None:
        self.name = name
        self.sources = tuple(sources)
        self.read = (*sources, *inputs)
        """The classes whose items make a group."""
        self.to = tuple(to)
        self.derive = derive
        self.groups = KeyTexts(schema_of(sources[0]), by)
        self._keys = {key_of(cls).schema.name: key_of(cls) for cls in to}
        self._texts = {name: KeyTexts(key.schema, key.layout.fields) for name, key in self._keys.items()}

    def group_of(self, item: Item) -> str:
        return self.groups.write(msgspec.structs.asdict(item))

    def text_of(self, item: Item) -> str:
        """The key of a new row, with its class."""
        name = type(item).__name__
        if type(item) not in self.to:
            classes = ", ".join(self._keys)
            raise TypeError(f"re-keying {self.name}: the new items are of {classes}, as declared, not {item!r}")
        texts = self._texts[name]
        return f"{name} {texts.write(msgspec.structs.asdict(item))}"

    def path(self, text: str) -> AccessPath[Any]:
        name, _, fields = text.partition(" ")
        return self._keys[name](**self._texts[name].read(fields))


def key_of(cls: type[Item]) -> BoundKey[Any]:
    """The primary key of a class."""
    key: BoundKey[Any] = getattr(cls, schema_of(cls).primary.name)
    return key
