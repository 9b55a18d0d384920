"""Compares the index keys of a row with those that its item has now.

An index key attribute is *computed* if it exists for the index alone, or *own* if it is a field of the item. A computed
attribute can be set and removed. An own one is only set where the row lacks it, because other programs may read it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from sortkey.model.audit.finding import Finding, Kind, Repair
from sortkey.model.changes.row_rewrite import row_guards
from sortkey.model.errors import ModelError, Unsupported
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import NULL, Value
from sortkey.model.items.schema import VERSION_ATTRIBUTE, Schema
from sortkey.model.keys.key_attribute import ShardedAttribute
from sortkey.model.keys.key_layout import KeyLayout


class IndexKeyFinding(NamedTuple):
    finding: Finding
    repair: Repair | None


def audit_index_keys(schema: Schema[Any], item: Any, row: Row, index: str | None = None) -> Iterator[IndexKeyFinding]:
    """What is wrong with the row's index keys, or with the key of one index. `item` is the row as its class shows
    it."""
    for layout in schema.indexes.values():
        if index not in (None, layout.index):
            continue
        alone = {
            name: key
            for name, (key, _) in schema.only_in_index_keys(schema.upgraded(row)).items()
            if any(part.name == key for part in layout.attributes)
        }
        if alone:
            yield IndexKeyFinding(only_in_key(layout, row, alone), None)
            continue
        try:
            wanted = layout.attributes_of(item)
        except ModelError as error:
            yield IndexKeyFinding(Finding(Kind.INDEX_KEY_IMPOSSIBLE, str(layout.index), str(error)), None)
            continue
        found = None
        if not wanted:
            found = _surplus(schema, layout, item, row)
        elif _is_in_former_shard(layout, item, row, wanted):
            found = _moved(schema, layout, row, wanted)
        else:
            found = _lacking_or_differing(schema, layout, row, wanted)
        if found is not None:
            yield found


def only_in_key(layout: KeyLayout, row: Row, alone: Mapping[str, str]) -> Finding:
    """The finding about fields, with the attributes of index keys that alone have them. Which one is right is not
    known."""
    detail = (
        f"only {_shown(row, alone.values())} has {', '.join(alone)}: if programs store it there only, declare it as "
        f"Annotated[…, sk.in_key]; otherwise update the item"
    )
    return Finding(Kind.ONLY_IN_INDEX_KEY, str(layout.index), detail)


def _is_in_former_shard(layout: KeyLayout, item: Any, row: Row, wanted: Row) -> bool:
    """Whether the shard is the only difference, and one that `formerly` explains."""
    part = layout.partition
    if not isinstance(part, ShardedAttribute) or not part.sharding.is_changing:
        return False
    if row.get(part.name) == wanted[part.name] or row.get(part.name) != part.former_value(item):
        return False
    return all(name in row and is_same(row[name], value) for name, value in wanted.items() if name != part.name)


def _moved(schema: Schema[Any], layout: KeyLayout, row: Row, wanted: Row) -> IndexKeyFinding:
    """The finding about a row in its former shard. Its repair moves it, whatever happens to the sort key meanwhile."""
    name = layout.partition.name
    sets = {name: wanted[name]}
    finding = Finding(Kind.FORMER_SHARD, str(layout.index), f"{_shown(row, sets)} becomes {_shown(sets, sets)}", True)
    return _with_repair(finding, sets, (), schema, (layout,), row, only_partition=True)


def _surplus(schema: Schema[Any], layout: KeyLayout, item: Any, row: Row) -> IndexKeyFinding | None:
    """A field of a sparse index is None, so the item must not have a key of the index."""
    stored = _stored(layout, row)
    kept = schema.codec.attributes | _primary(schema)
    others = schema.sharing(layout)
    for other in others if not stored.keys() <= kept else ():
        kept |= _wanted_by(other, item)
    surplus = tuple(name for name in stored if name not in kept)
    if not surplus:
        return None
    kind = Kind.INDEX_KEY_STALE if len(stored) == len(layout.attributes) else Kind.INDEX_KEY_HALF
    finding = Finding(kind, str(layout.index), f"{_shown(row, surplus)}, but the item is not in the index", True)
    # Another writer may bring the item into an index that shares an attribute, which is then not to be removed.
    return _with_repair(finding, {}, surplus, schema, (*others, layout), row)


def _wanted_by(layout: KeyLayout, item: Any) -> frozenset[str]:
    """The attributes that the item has in this index; all if that is not known."""
    try:
        return frozenset(layout.attributes_of(item))
    except ModelError:
        return frozenset(part.name for part in layout.attributes)


def _lacking_or_differing(schema: Schema[Any], layout: KeyLayout, row: Row, key: Row) -> IndexKeyFinding | None:
    own, primary, stored = schema.codec.attributes, _primary(schema), _stored(layout, row)
    wanted = {name: value for name, value in key.items() if name not in primary}
    lacking = {name: value for name, value in wanted.items() if name not in stored}
    differing = {name: value for name, value in wanted.items() if name in stored and not is_same(stored[name], value)}
    if not lacking and not differing:
        return None
    kind, index = Kind.INDEX_KEY_STALE, str(layout.index)
    if lacking:
        shared = {part.name for other in schema.sharing(layout) for part in other.attributes}
        computed = [name for name in wanted if name not in own | shared] or list(wanted)
        kind = Kind.INDEX_KEY_MISSING if all(name in lacking for name in computed) else Kind.INDEX_KEY_HALF
    if any(name in own for name in differing):
        detail = f"{_shown(row, differing)} is also a field, in a form that the index does not find"
        return IndexKeyFinding(Finding(kind, index, detail), None)
    sets = {**lacking, **differing}
    finding = Finding(kind, index, f"{_shown(row, sets)} should be {_shown(sets, sets)}", True)
    return _with_repair(finding, sets, (), schema, (layout,), row)


def _with_repair(
    finding: Finding,
    sets: Row,
    removes: tuple[str, ...],
    schema: Schema[Any],
    used: Iterable[KeyLayout],
    row: Row,
    *,
    only_partition: bool = False,
) -> IndexKeyFinding:
    """The finding with its repair, which depends on the fields and keys of the indexes that are `used`, or only on
    those of their partition keys."""
    try:
        guards = {
            name: value for layout in used for name, value in _guards(schema, layout, row, only_partition).items()
        }
        return IndexKeyFinding(finding, Repair(sets, removes, guards))
    except Unsupported as error:
        return IndexKeyFinding(finding._replace(detail=f"{finding.detail}; {error}", repairable=False), None)


def is_same(stored: Value, value: Value) -> bool:
    """Whether two key attributes are equal; one number has several texts."""
    if "N" in stored and "N" in value:
        return Decimal(stored["N"]) == Decimal(value["N"])
    return stored == value


def _stored(layout: KeyLayout, row: Row) -> Row:
    """The attributes of the index key that the row has; NULL keeps a row out of an index, as absence does."""
    return {part.name: row[part.name] for part in layout.attributes if row.get(part.name, NULL) != NULL}


def _primary(schema: Schema[Any]) -> frozenset[str]:
    return frozenset(part.name for part in schema.primary.attributes)


def _guards(schema: Schema[Any], layout: KeyLayout, row: Row, only_partition: bool) -> dict[str, Value | None]:
    """What the index key is computed from, and what it was: a repair must not undo a later write."""
    primary = _primary(schema)
    if schema.is_outdated(row):
        # The upgrade may compute the fields from any attribute.
        return row_guards(schema, row)
    sources, parts = layout.sources, layout.attributes
    if only_partition:
        sources, parts = layout.partition.fields, layout.partitions
    fields = [name for field in sources for name in schema.attributes_with(field)]
    keys = [part.name for part in parts]
    # What says of which class and version the row is.
    marks = [VERSION_ATTRIBUTE] if schema.tag is None else [VERSION_ATTRIBUTE, schema.tag.attribute]
    return {name: row.get(name) for name in dict.fromkeys((*fields, *keys, *marks)) if name not in primary}


def _shown(row: Row, names: Iterable[str]) -> str:
    values = [(name, *row.get(name, {"": None}).values()) for name in names]
    return ", ".join(f"{name}={value!r}" for name, value in values)
