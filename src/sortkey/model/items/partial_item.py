"""Partial items: what an index that does not project whole items has of them, or what a read was told to return.

A partial item belongs to a generated subclass of its class, one for each index. A field that it does not have is
msgspec's UNSET inside the struct, and reading it raises PartialItem. So `repr` shows the gap, equality compares it, and
JSON leaves it out; nothing invents a value. Whole items pay nothing: their class is the declared one.

An attribute that the index projects and a row lacks is the field's default, as in a whole item. An attribute that the
index does not project is unknown, unless the row has it or a key holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import lru_cache
from threading import Lock
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import msgspec
from msgspec import UNSET

from sortkey.model.errors import PartialItem
from sortkey.model.fields.codec import Row
from sortkey.model.fields.generated_function import generate_function
from sortkey.model.items.key import WHOLE
from sortkey.model.items.row_reader import Part, RowReader
from sortkey.model.items.schema import Schema, VectorLayout
from sortkey.model.keys.key_layout import KeyLayout

T = TypeVar("T", bound=msgspec.Struct)

_INDEX: Final = "__partial_index__"
_ONLY: Final = "only="
"""Stands for the index in the class of items that a read was told to leave fields out of; no index has this name."""
_EXTRA: Final = "__extra__"
READERS: Final = 512
"""How many compiled readers are kept: one for each index, and for each choice of fields."""

_classes: Final[WeakKeyDictionary[type, dict[str, Any]]] = WeakKeyDictionary()
_lock: Final = Lock()


def is_partial(item: msgspec.Struct) -> bool:
    """Whether only a part of the item was read, from an index that does not have all of it or with `only=`; `db.whole`
    reads the rest."""
    return WHOLE in vars(type(item))


def whole_class(item: T) -> type[T]:
    """The declared class of an item."""
    cls: type[T] = vars(type(item)).get(WHOLE, type(item))
    return cls


def decode_partial(schema: Schema[T], index: str, row: Row) -> T:
    """The item of a row of an index with a partial projection."""
    fields, unknown = schema.codec.by_name, _unprojected(schema, index)
    values = _held_by_keys(schema, row)
    if schema.row_version(row) == schema.version:
        decoded, held = schema.decoded(row), schema.held_by_indexes(row)
        shown = {
            name
            for name in decoded
            if name not in unknown or (fields[name].attribute in row and name not in schema.index_sources)
        }
        shown.update(schema.primary.fields, held)
        # An attribute that is projected, and absent, has its default, which the class supplies.
        gaps = unknown.union(schema.codec.required)
        values = {name: values[name] for name in values if name in unknown} | {name: decoded[name] for name in shown}
        schema.require_complete(row, {**dict.fromkeys(unknown), **values})
    else:
        # The attributes of an older version are others, and an upgrade needs all of them.
        gaps = frozenset(fields)
    return partial_class(schema.owner, index)(**{**dict.fromkeys(gaps, UNSET), **values})


def decode_only(schema: Schema[T], fields: frozenset[str], row: Row) -> T:
    """The item of a row of which only these fields, the keys and the version were read. Raises DecodeError if that is
    not the current one."""
    if schema.is_outdated(row):
        row = schema.upgraded(row)
    shown = fields.union(schema.primary.fields)
    values = schema.decoded(row)
    schema.require_complete(row, {**dict.fromkeys(schema.codec.by_name.keys() - shown), **values})
    return _only(schema, shown, {name: values[name] for name in values if name in shown})


def leave_only(schema: Schema[T], fields: frozenset[str], item: T) -> T:
    """The same, of a whole item."""
    left: T = _leaver(schema, fields.union(schema.primary.fields))(item)
    return left


@lru_cache(READERS)
def _leaver(schema: Schema[T], shown: frozenset[str]) -> Callable[[T], T]:
    values = (f"{name}={f'item.{name}' if name in shown else 'UNSET'}" for name in schema.codec.by_name)
    names = {"owner": partial_class(schema.owner, _ONLY), "UNSET": UNSET}
    return generate_function(("item",), f"owner({', '.join(values)})", names)


def _only(schema: Schema[T], shown: frozenset[str], values: Mapping[str, Any]) -> T:
    # A field that was asked for and is absent has its default, which the class supplies.
    gaps = (name for name in schema.codec.by_name if name not in shown or name in schema.codec.required)
    return partial_class(schema.owner, _ONLY)(**{**dict.fromkeys(gaps, UNSET), **values})


@lru_cache(READERS)
def partial_reader(schema: Schema[T], index: str) -> RowReader[T] | None:
    """Makes the items that `decode_partial` makes, of rows of this version; None if only that can."""
    own = [each for each in schema.indexes.values() if each.index == index]
    if len(own) != 1:
        return None
    (layout,) = own
    attributes = projected_attributes(schema, layout)
    if any(_is_held_beside(each, layout, attributes) for each in schema.all_indexes):
        return None
    names = {part.name for part in layout.computed}
    if not names.isdisjoint(part.name for part in schema.primary.attributes):
        return None
    shown = frozenset(schema.codec.by_name) - _unprojected(schema, index)
    return schema.part_reader(Part(partial_class(schema.owner, index), attributes, shown, layout))


def _is_held_beside(layout: KeyLayout, own: KeyLayout, attributes: Set[str]) -> bool:
    """Whether rows of an index have the key of another one, too, which tells more fields."""
    is_same = repr(layout.attributes) == repr(own.attributes)
    shared = len(layout.fields) < sum(len(part.held) for part in layout.attributes)
    return shared if is_same else all(part.name in attributes for part in layout.attributes)


@lru_cache(READERS)
def only_reader(schema: Schema[T], fields: frozenset[str], attributes: frozenset[str]) -> RowReader[T] | None:
    """Makes the items that `decode_only` makes, of rows with these attributes; None if only that can."""
    shown = fields.union(schema.primary.fields)
    return schema.part_reader(Part(partial_class(schema.owner, _ONLY), attributes, shown))


def _held_by_keys(schema: Schema[Any], row: Row) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for layout in schema.all_indexes:
        # If two keys disagree, the first counts, as in whole items.
        held = (layout.parse(row) or {}) | held
    return held | schema.parsed_key(row)


@lru_cache
def _unprojected(schema: Schema[Any], index: str) -> frozenset[str]:
    """The fields whose attributes the index does not have by its declaration."""
    vectors = next((each for each in schema.vectors.values() if each.index == index), None)
    if vectors is not None:
        held = _projected_with_vector(schema, vectors)
        return frozenset(name for name in schema.codec.by_name if held.isdisjoint(schema.attributes_with(name)))
    layout = next((each for each in schema.indexes.values() if each.index == index), None)
    held = projected_attributes(schema, layout)
    return frozenset(name for name in schema.codec.by_name if held.isdisjoint(schema.attributes_with(name)))


def projected_attributes(schema: Schema[Any], layout: KeyLayout | None) -> frozenset[str]:
    """The attributes in an index with a partial projection: those that are listed, and the keys."""
    keys = {part.name for each in (schema.primary, layout) if each is not None for part in each.attributes}
    listed = layout.projection if layout is not None and isinstance(layout.projection, tuple) else ()
    return frozenset(keys.union(listed))


def _projected_with_vector(schema: Schema[Any], layout: VectorLayout) -> frozenset[str]:
    """The attributes that a search returns: the vector is not among them, unless it is asked for."""
    if layout.projection == "ALL":
        return schema.codec.attributes.union(schema.key_names) - {layout.attribute}
    listed = layout.projection if isinstance(layout.projection, tuple) else ()
    keys = (part.name for part in schema.primary.attributes)
    return frozenset({*keys, *listed, *(each.name for each in layout.compared)}) - {layout.attribute}


def partial_class(owner: type[T], index: str) -> type[T]:
    """The class of the partial items of an index."""
    with _lock:
        made = _classes.setdefault(owner, {})
        if index not in made:
            made[index] = _make_class(owner, index)
        cls: type[T] = made[index]
        return cls


def _make_class(owner: type[T], index: str) -> type[T]:
    read = owner.__getattribute__

    def get(item: Any, name: str) -> Any:
        value = read(item, name)
        if value is UNSET or name == _EXTRA:
            what = "the attributes that the class does not declare" if name == _EXTRA else f"{owner.__name__}.{name}"
            raise PartialItem(f"{what} cannot be read from a partial item: {_advice(index)}")
        return value

    namespace = {
        "__module__": owner.__module__,
        "__qualname__": owner.__qualname__,
        "__doc__": owner.__doc__,
        "__getattribute__": get,
        "__replace__": _reject_replace,
        "__copy__": lambda item: _rebuilt(owner, index, _known(item)),
        "__reduce__": lambda item: (_rebuilt, (owner, index, _known(item))),
        WHOLE: owner,
        _INDEX: index,
    }
    make: Any = type(owner)
    cls: type[T] = make(owner.__name__, (owner,), namespace)
    return cls


def _advice(index: str) -> str:
    if index == _ONLY:
        return "only= left it out; db.whole(items) reads whole items"
    return f"index {index} does not have whole items; db.whole(items) reads them"


def partial_error(cls: type, what: str) -> PartialItem:
    return PartialItem(f"{what} needs a whole {cls.__name__}: {_advice(vars(cls)[_INDEX])}")


def _reject_replace(item: Any, **_changes: Any) -> Any:
    raise partial_error(type(item), "sk.replace")


def _known(item: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(item).items() if value is not UNSET}


def _rebuilt(owner: type[T], index: str, values: Mapping[str, Any]) -> T:
    gaps = dict.fromkeys(owner.__struct_fields__, UNSET)
    return partial_class(owner, index)(**{**gaps, **values})
