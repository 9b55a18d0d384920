"""The partition-key attribute of a sharded key: its template, and the shard, which fields of the item decide.

"TOP#{window}" in 16 shards by restaurant        TOP#2026#07
                                                 base     shard
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sortkey.model.items.annotation import Annotation
from sortkey.model.items.converter import Value
from sortkey.model.keys.encoding import SEPARATOR
from sortkey.model.keys.key_attribute import Expression, TemplateAttribute
from sortkey.model.keys.shards import SHARD, SHARD_ENCODING, Sharding, shard_text
from sortkey.model.keys.template import ParsedTemplate, ReplacementField, Template


class ShardedAttribute(TemplateAttribute):
    def __init__(self, name: str, source: ParsedTemplate, types: Mapping[str, Annotation], sharding: Sharding) -> None:
        self.sharding: Sharding = sharding
        stored = Template(_with_shard(source), types, partition=True, computed={SHARD: SHARD_ENCODING})
        self.declared = source.text
        """The template without the shard."""
        super().__init__(name, stored, held=source.fields, fields=dict.fromkeys((*source.fields, *sharding.by)))

    def __repr__(self) -> str:
        return f"{self.declared!r} in {self.sharding!r}"

    def text(self, values: Sequence[str], suffix: str = "") -> Expression:
        encoder, shard = f"encode{suffix}_", f"shard{suffix}"
        known = dict(zip(self.fields, values, strict=True))
        decides = ", ".join(known[field] for field in self.sharding.by)
        source = self.template.source([*values[: len(self.held)], f"{shard}({decides})"], encoder)
        return Expression(source, {**self.template.encoders(encoder), shard: self.sharding.shard})

    def base(self, values: Sequence[str], suffix: str = "") -> Expression:
        """The expression of the attribute value without the shard, from those of the template's fields."""
        encoder = f"encode{suffix}_"
        source = self.template.source(values, encoder)
        return Expression(f"{{'S': {source}}}", self.template.encoders(encoder))

    def in_shard(self, base: Value, shard: int) -> Value:
        return {"S": base["S"] + shard_text(shard)}

    def shard_of(self, value: Value) -> int:
        """The shard of a stored attribute value."""
        return int(value["S"].rpartition(SEPARATOR)[2])

    def is_placed(self, text: str, values: Sequence[Any]) -> bool:
        """Whether a stored partition key ends in the shard that the fields `by` decide."""
        return text.endswith(SEPARATOR + shard_text(self.sharding.shard(*values)))

    def former_value(self, item: object) -> Value:
        """The attribute value of an item in the placement that `formerly` names."""
        values = [getattr(item, field) for field in self.held]
        former = self.sharding.former_shard(*(getattr(item, field) for field in self.sharding.by))
        return {"S": self.template.prefix(values) + shard_text(former)}

    def parse(self, value: Value) -> dict[str, Any] | None:
        found = super().parse(value)
        return None if found is None else {name: each for name, each in found.items() if name != SHARD}


def _with_shard(source: ParsedTemplate) -> ParsedTemplate:
    *literals, last = source.literals
    return ParsedTemplate(
        f"{source.text}{SEPARATOR}{{shard}}",
        (*literals, last + SEPARATOR, ""),
        (*source.replacement_fields, ReplacementField(SHARD, "")),
    )
