"""`Family`: classes of one table that an attribute tells apart, so that their keys may be the same.

    class Animal(sk.Item, table="zoo", tag=True):
        owner: str
        name: str
        key = sk.Key("OWNER#{owner}", "PET#{name}")

    class Dog(Animal):
        breed: str

The attribute and its values are msgspec's `tag_field` and `tag`. A path of a class gives its items and those of its
subclasses, except of a subclass that declares a key of its own: its rows have other keys. A row whose attribute is
absent, or has a value that no class has, belongs to the class that the others derive from, which cannot read it.
"""

from __future__ import annotations

from typing import Any, Generic, Protocol, TypeVar

from sortkey.model.errors import DeclarationError, DecodeError
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.fields.records import Tag, tag_of
from sortkey.model.keys.collision import keys_may_collide
from sortkey.model.keys.key_layout import KeyLayout


class TaggedSchema(Protocol):
    """What a family knows of a schema."""

    owner: Any
    name: str
    primary: KeyLayout

    def reads_alike(self, derived: Any) -> bool: ...


M = TypeVar("M", bound=TaggedSchema)


class NoTag(DecodeError):
    """A row lacks the tag; all rows of an index do if it does not project it."""


class Family(Generic[M]):
    def __init__(self, attribute: str) -> None:
        self.attribute = attribute
        self._schemas: dict[tuple[str, Any], M] = {}
        self._required: dict[type, list[Value] | None] = {}
        """What `required_tags` has returned, since the last class was added."""
        self._alike: dict[type, bool] = {}
        """The same of `reads_alike`."""

    def add(self, schema: M, tag: Tag, replaced: M | None) -> None:
        """Adds a class, which may replace its earlier definition. Raises DeclarationError if another has its tag."""
        found = self._schemas.get(_identity(tag.value))
        if found is not None and found is not replaced:
            raise DeclarationError(
                f"{schema.name} has the tag {tag.name!r}, as {found.name} has; give it another: "
                f'class {schema.name}(…, tag="…")'
            )
        self._schemas[_identity(tag.value)] = schema
        self._required.clear()
        self._alike.clear()

    def schema_of(self, row: Row) -> M | None:
        """The class of a row, by its tag; None if no class has it."""
        found = row.get(self.attribute)
        return None if found is None else self._schemas.get(_identity(found))

    def require(self, name: str, row: Row) -> M:
        """The same. Raises DecodeError if no class has the tag."""
        found = self.schema_of(row)
        if found is None and self.attribute not in row:
            raise NoTag(
                f"a row of {name} has no {self.attribute}, which says what class it is of. If it was read from an "
                f"index, the projection of the index lacks {self.attribute}: include it (see db.diff_tables)"
            )
        if found is None:
            known = ", ".join(repr(content) for _, content in self._schemas)
            raise DecodeError(
                f"a row of {name} has {row.get(self.attribute)!r} as {self.attribute}, "
                f"which is not the tag of a class ({known})"
            )
        return found

    def required_tags(self, schema: M) -> list[Value] | None:
        """The tags of a class and its subclasses; None if no other class may have its keys."""
        owner: type = schema.owner
        if owner not in self._required:
            self._required[owner] = self._tags_of(owner) if self._shares_key(schema) else None
        return self._required[owner]

    def reads_alike(self, schema: M) -> bool:
        """Whether all subclasses of a class that may have its keys read its fields as it does."""
        owner: type = schema.owner
        if owner not in self._alike:
            self._alike[owner] = all(
                schema.reads_alike(each)
                for each in self._schemas.values()
                if issubclass(each.owner, owner) and keys_may_collide(schema.primary, each.primary)
            )
        return self._alike[owner]

    def _tags_of(self, owner: type) -> list[Value]:
        return [{kind: each} for (kind, each), schema in self._schemas.items() if issubclass(schema.owner, owner)]

    def _shares_key(self, schema: M) -> bool:
        """Whether a row with the key of a class may belong to a class that does not derive from it. One with an unknown
        tag belongs to no subclass."""
        return not is_root(schema.owner) or any(
            keys_may_collide(schema.primary, other.primary)
            for other in self._schemas.values()
            if not issubclass(other.owner, schema.owner)
        )


def is_root(owner: type) -> bool:
    """Whether a class with a tag derives from no other class with a tag and a table."""
    return not any("__schema__" in vars(base) and tag_of(base) is not None for base in owner.__mro__[1:])


def inherited_table(owner: type) -> Any:
    """The table of the class with a tag that this one derives from; None if there is none."""
    if tag_of(owner) is None:
        return None
    tables = (vars(base).get("__table__") for base in owner.__mro__[1:] if tag_of(base) is not None)
    return next((table for table in tables if table is not None), None)


def _identity(value: Value) -> tuple[str, Any]:
    ((kind, content),) = value.items()
    return kind, content
