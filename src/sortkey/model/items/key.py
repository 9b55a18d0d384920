"""`sk.Key` and `sk.Index`, the declarations in a class, and `BoundKey`, which they become.

On the class, `Price.key` is a `BoundKey`: calling it with fields makes an access path. On an item, `price.key` is the
path of that item.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, Literal, Never, ParamSpec, TypeVar, overload

import msgspec

from sortkey.limits import INDEX_KEY_ATTRIBUTES, KEY_ATTRIBUTE_NAME_BYTES
from sortkey.model.errors import DeclarationError, NoAccessPath, shown, suggestion
from sortkey.model.fields.annotation import Annotation, Unresolved, evaluate_annotation, parse_annotation
from sortkey.model.fields.codec import Row
from sortkey.model.fields.key_text import SEPARATOR
from sortkey.model.fields.stored_as import StoredType
from sortkey.model.items.access_path import AccessPath
from sortkey.model.items.schema import Schema
from sortkey.model.keys.key_layout import KeyLayout, Mismatch
from sortkey.model.keys.shards import Shards
from sortkey.model.keys.template import ParsedTemplate, parse_template

T = TypeVar("T", bound=msgspec.Struct)
P = ParamSpec("P")

SCHEMA = "__schema__"
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")
WHOLE = "__whole__"
"""In a class of partial items: the declared class."""

_EXAMPLE = "such as: def key(self, *, tenant: str, number: int = ...) -> None: ..."


class BoundKey(Generic[T]):
    """A key or an index of one class. Call it with fields to make an access path."""

    def __init__(self, schema: Schema[T], layout: KeyLayout) -> None:
        self.schema = schema
        self.layout = layout
        counts = [
            len({*layout.partition_fields, *layout.sort_fields[:depth]}) for depth in range(len(layout.sort_fields) + 1)
        ]
        # If both halves share a field, two depths have the same count; the later one has more of the sort key.
        self._depths = {count: depth for depth, count in enumerate(counts)}
        """The number of sort-key fields, by the number of given fields."""

    @property
    def name(self) -> str:
        return f"{self.schema.name}.{self.layout.name}"

    def __repr__(self) -> str:
        return f"<{self.name}: {', '.join(map(repr, self.layout.attributes))}>"

    def __call__(self, /, *positional: Never, **given: Any) -> AccessPath[T]:
        """The access path to the items with these fields: all of the partition key, and the first ones of the sort key,
        or none. Raises NoAccessPath for other fields, and names the nearest key or index."""
        layout, schema = self.layout, self.schema
        if positional:
            names = ", ".join(f"{field}=…" for field in layout.fields)
            raise TypeError(f"{self.name} takes its fields by name: {self.name}({names})")
        try:
            # The number of fields determines which ones they must be: if none of those is missing, none is too many.
            equal, condition = layout.key_conditions[self._depths[len(given)]](given)
        except KeyError:
            raise self._error(given) from None
        return AccessPath(
            schema.name, schema.table, layout, schema.primary, equal, condition, given, schema, schema.decode_own
        )

    def parse(self, row: Row) -> dict[str, Any] | None:
        """The fields in a key, or in a row's key attributes; None if they are not of this key."""
        return self.layout.parse(row)

    def of(self, item: T) -> AccessPath[T]:
        """The path of one item."""
        given = {field: getattr(item, field) for field in self.layout.fields}
        absent = [field for field in self.layout.sparse if given[field] is None]
        if absent:
            raise NoAccessPath(f"the item is not in {self.name}: {', '.join(absent)} is None")
        return self(**given)

    def _error(self, given: Mapping[str, Any]) -> NoAccessPath:
        fields = self.schema.codec.struct.__struct_fields__
        for name in given:
            if name not in fields:
                return NoAccessPath(f"{self.schema.name} has no field {name!r}{suggestion(name, fields)}")
        reason = _describe_mismatch(self.layout, self.layout.mismatch(given))
        return NoAccessPath(
            f"{self.name} cannot be queried by {', '.join(given) or 'nothing'}: {reason}{self._nearest(given)}"
        )

    def _nearest(self, given: Mapping[str, Any]) -> str:
        """The nearest other key: the fewest fields that it does not contain, then the fewest that it also needs."""
        others = [layout for layout in self.schema.layouts.values() if layout is not self.layout]
        if not others or not given:
            return ""

        def distance(layout: KeyLayout) -> tuple[int, ...]:
            return tuple(map(len, reversed(layout.mismatch(given))))

        near = min(others, key=distance)
        if distance(near) >= distance(self.layout):
            return ""
        mismatch = near.mismatch(given)
        if not mismatch.missing and not mismatch.unused:
            return f". {self.schema.name}.{near.name}({', '.join(f'{name}=…' for name in given)}) answers this"
        if len(mismatch.unused) == len(given):
            return ""
        return f". The nearest is {self.schema.name}.{near.name}: {_describe_mismatch(near, mismatch)}"


if TYPE_CHECKING:
    # What type checkers take keys for. At run time there is BoundKey alone.
    class UnsignedKey(BoundKey[T]):
        """A key without a signature, which type checkers let be called with any fields."""

    class SignedKey(BoundKey[T], Generic[P, T]):
        """A key whose signature tells its fields."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> AccessPath[T]: ...

    class SignedDeclaration(Generic[P]):
        @overload
        def __get__(self, instance: None, owner: type[T]) -> SignedKey[P, T]: ...
        @overload
        def __get__(self, instance: T, owner: type[T]) -> AccessPath[T]: ...
        def __get__(self, instance: T | None, owner: type[T]) -> SignedKey[P, T] | AccessPath[T]: ...


def _describe_mismatch(layout: KeyLayout, mismatch: Mismatch) -> str:
    parts = []
    if mismatch.missing:
        parts.append(f"{layout.name} needs {', '.join(mismatch.missing)}")
    if mismatch.unused:
        parts.append(f"{layout.name} does not contain {', '.join(mismatch.unused)}")
    return " and ".join(parts)


def reject_name(what: str, name: object) -> None:
    """Raises DeclarationError for a name that DynamoDB does not allow for a table or an index."""
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise DeclarationError(
            f"the name of {what} has 3 to 255 letters, digits, dots, hyphens and underscores; {shown(name)} cannot be "
            f"one"
        )


def _is_attribute_name(name: object) -> bool:
    try:
        return isinstance(name, str) and 1 <= len(name.encode()) <= KEY_ATTRIBUTE_NAME_BYTES
    except UnicodeEncodeError:
        return False


class Declaration:
    """The base of Key and Index: templates, and the names of their attributes."""

    multi_attribute: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The partition fields and sort fields of an index that is declared by fields; None for one with templates."""
    signature: KeySignature | None = None
    shards: Shards | None = None

    def __init__(self, partition: str, sort: str | None, names: Sequence[str]) -> None:
        self.partition: ParsedTemplate = parse_template(partition)
        self.sort: ParsedTemplate | None = None if sort is None else parse_template(sort)
        given: Any = names
        if isinstance(given, str) or not isinstance(given, Sequence) or not all(map(_is_attribute_name, given)):
            raise DeclarationError(
                f"names= has the names of attributes, of 1 to {KEY_ATTRIBUTE_NAME_BYTES} bytes, not {shown(names)}"
            )
        self.attributes = tuple(names)
        self.name = ""
        self._bound: dict[type, BoundKey[Any]] = {}
        if len(self.attributes) < (1 if sort is None else 2) or len(set(names)) < len(names):
            raise DeclarationError(
                f"names={names!r} must be the names of {'one attribute' if sort is None else 'two attributes'}"
            )

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    if TYPE_CHECKING:

        def __call__(self, function: Callable[Concatenate[Any, P], object], /) -> SignedDeclaration[P]: ...
    else:

        def __call__(self, function: Callable[..., object], /) -> Declaration:
            """Adds a signature: type checkers then know the fields of the key; see `KeySignature`."""
            self.signature = KeySignature(function)
            return self

    @overload
    def __get__(self, instance: None, owner: type[T]) -> UnsignedKey[T]: ...

    @overload
    def __get__(self, instance: T, owner: type[T]) -> AccessPath[T]: ...

    def __get__(self, instance: T | None, owner: type[T]) -> BoundKey[T] | AccessPath[T]:
        bound: BoundKey[T] | None = self._bound.get(owner)
        if bound is None:
            bound = self._bound[owner] = self._bind(owner)
        return bound if instance is None else bound.of(instance)

    def _bind(self, owner: type[T]) -> BoundKey[T]:
        schema: Schema[T] | None = vars(vars(owner).get(WHOLE, owner)).get(SCHEMA)
        if schema is None:
            raise AttributeError(f"{owner.__name__} has no table, so {self.name} cannot be used")
        return BoundKey(schema, schema.layouts[self.name])


class Key(Declaration):
    """The primary key of a class: `sk.Key("STORE#{store}", "{channel}#{product}")`.

    The arguments are the templates of the partition key and the sort key; `names` are their attributes. Called with
    fields, `Price.key(store="12345")` is an access path; an item's own `price.key` is its exact path. `shards` spreads
    each partition over several, for more writes than one partition takes."""

    def __init__(
        self,
        partition: str,
        sort: str | None = None,
        *,
        names: Sequence[str] = ("pk", "sk"),
        shards: Shards | None = None,
    ) -> None:
        super().__init__(partition, sort, names)
        self.shards = _checked_shards("the key", shards)
        if shards is not None:
            _check_key_shards(shards, self.sort)


class Index(Declaration):
    """A secondary index: `sk.Index("gsi1", "TYPE#{type}", "{store}")`, or one declared by fields, which are the
    attributes of its key: `sk.Index("by_status", ("tenant", "status"), ("created",))`. An item is not in the index if
    one of the fields is None.

    `index` is its name in DynamoDB, `projection` what it copies of each item. `names` are the attributes of its key, by
    default the index's name with `pk` and `sk`. `local=True` declares a local index, which shares the partition key of
    the table. `shards` spreads each partition over several, for more writes than one partition takes.
    """

    def __init__(
        self,
        index: str,
        partition: str | tuple[str, ...],
        sort: str | tuple[str, ...] | None = None,
        *,
        projection: Literal["ALL", "KEYS_ONLY"] | Sequence[str] = "ALL",
        local: bool = False,
        names: Sequence[str] | None = None,
        shards: Shards | None = None,
    ) -> None:
        reject_name("an index", index)
        names = (f"{index}pk", f"{index}sk") if names is None else names
        if isinstance(partition, str) and (sort is None or isinstance(sort, str)):
            super().__init__(partition, sort, names)
        else:
            self.multi_attribute = _multi_attribute_key(index, partition, sort, local)
            partition_text, sort_text = map(_joined_template, self.multi_attribute)
            super().__init__(partition_text, sort_text or None, names)
        self.index = index
        self.projection = projection
        self.local = local
        copied: Any = projection
        listed = isinstance(copied, Sequence) and all(isinstance(each, str) for each in copied)
        if not listed or (isinstance(projection, str) and projection not in ("ALL", "KEYS_ONLY")):
            raise DeclarationError(f"{index}: the projection must be 'ALL', 'KEYS_ONLY' or a list of fields")
        if local and sort is None:
            raise DeclarationError(f"{index}: a local index needs a sort key")
        self.shards = _checked_shards(index, shards)
        if shards is not None and (local or self.multi_attribute is not None):
            kind = "a local index shares the partition key of the table" if local else "its key has fields"
            raise DeclarationError(f"{index}: {kind}, so it cannot have shards; declare a global index by templates")


def _checked_shards(name: str, shards: object) -> Shards | None:
    if not (shards is None or isinstance(shards, Shards)):
        raise DeclarationError(f"{name}: shards= takes sk.Shards(…), not {shards!r}")
    return shards


def _check_key_shards(shards: Shards, sort: ParsedTemplate | None) -> None:
    """The shard of a primary key must follow from the key, and cannot change: an item would be another."""
    if sort is None or (shards.by is not None and shards.by not in sort.fields):
        raise DeclarationError(
            f"the shard of a primary key follows from its sort key, which does not contain "
            f"{'a field' if shards.by is None else shards.by}; use shards= on an index, or put the shard into the "
            f"template as a field of its own"
        )
    if shards.formerly is not None:
        raise DeclarationError(
            "the number of shards of a primary key cannot change, because items would get other keys: formerly= is for "
            "indexes; copy the items to a table with another number"
        )


def _multi_attribute_key(
    index: str, partition: str | tuple[str, ...], sort: str | tuple[str, ...] | None, local: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(partition, str) or isinstance(sort, str):
        raise DeclarationError(f"{index}: its key must have fields or templates, not both")
    sorts = sort or ()
    given: Any
    for given in (partition, sorts):
        if not isinstance(given, tuple) or not all(isinstance(each, str) for each in given):
            raise DeclarationError(f"{index}: its key has templates, or tuples of fields, not {shown(given)}")
    if local:
        raise DeclarationError(f"{index}: a local index cannot be declared by fields; use templates")
    if not partition or max(len(partition), len(sorts)) > INDEX_KEY_ATTRIBUTES:
        raise DeclarationError(
            f"{index}: a key has at most {INDEX_KEY_ATTRIBUTES} partition fields and {INDEX_KEY_ATTRIBUTES} sort fields"
        )
    if len({*partition, *sorts}) < len(partition) + len(sorts):
        raise DeclarationError(f"{index}: its key contains a field twice")
    return partition, sorts


def _joined_template(fields: tuple[str, ...]) -> str:
    """The template for a store without multi-attribute index keys."""
    return SEPARATOR.join(f"{{{field}}}" for field in fields)


class KeySignature:
    """The fields that a key is called with, declared as a function so that type checkers know them.

        @sk.Key("TENANT#{tenant}", "PRODUCT#{number:06}")
        def key(self, *, tenant: str, number: int = ...) -> None: ...

    The function is never called. It is compared with the templates and the fields when the class is made, so that it
    says what is true.
    """

    def __init__(self, function: object) -> None:
        """Raises DeclarationError for what is not the declaration of a signature."""
        if not isinstance(function, FunctionType):
            raise DeclarationError(f"@sk.Key and @sk.Index take a function, {_EXAMPLE} They cannot take {function!r}")
        found = list(signature(function).parameters.values())
        if not found or found[0].kind is not Parameter.POSITIONAL_OR_KEYWORD:
            raise DeclarationError(f"the signature of a key begins with self, {_EXAMPLE}")
        self.parameters = found[1:]
        for parameter in self.parameters:
            if parameter.kind is not Parameter.KEYWORD_ONLY:
                raise DeclarationError(f"keys take fields by name, so {parameter.name} must come after *, {_EXAMPLE}")
            if parameter.default not in (Parameter.empty, ...):
                raise DeclarationError(f"a key has no defaults; if {parameter.name} may be left out, write = ...")

    def check(self, owner: type, layout: KeyLayout, fields: Mapping[str, Annotation]) -> None:
        """Raises DeclarationError if the signature is not that of the key. `fields` are the types of its fields."""
        declared = {parameter.name: parameter for parameter in self.parameters}
        for name in declared:
            if name not in layout.fields:
                raise DeclarationError(f"the key has no field {name!r}{suggestion(name, layout.fields)}")
        missing = [name for name in layout.fields if name not in declared]
        if missing:
            raise DeclarationError(f"the signature lacks {', '.join(missing)}")
        _check_defaults(layout, declared)
        for name, parameter in declared.items():
            _check_type(owner, parameter, fields[name])


def _check_defaults(layout: KeyLayout, declared: Mapping[str, Parameter]) -> None:
    optional: str | None = None
    for name in layout.fields:
        if declared[name].default is ...:
            if name in layout.partition_fields:
                raise DeclarationError(f"{name} is in the partition key, so it cannot be left out; remove = ...")
            optional = optional or name
        elif optional is not None:
            # A path takes a left part of the sort key.
            raise DeclarationError(f"{optional} may be left out, so {name}, which comes after it, needs = ..., too")


def _check_type(owner: type, parameter: Parameter, field: Annotation) -> None:
    name = parameter.name
    if parameter.annotation is Parameter.empty:
        raise DeclarationError(f"{name} needs a type in the signature")
    found: Any = evaluate_annotation(parameter.annotation, owner, owner)
    if isinstance(found, Unresolved):
        raise DeclarationError(f"the type of {name}, {found.text}, is not defined")
    stated = parse_annotation(found)
    if stated.optional:
        raise DeclarationError(f"{name} is {found} in the signature, but a key has no None")
    types = [each.base.declared if isinstance(each.base, StoredType) else each.base for each in (stated, field)]
    if types[0] != types[1]:
        raise DeclarationError(f"{name} is {_shown(types[0])} in the signature and {_shown(types[1])} in the class")


def _shown(base: Any) -> str:
    return base.__name__ if isinstance(base, type) else str(base)
