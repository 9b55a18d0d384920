"""The UpdateItem that applies steps to one item of an aggregate.

One request works on an existing and on a missing item: it sets everything that follows from the group (the fields of
the key, index keys, the expiry), adds to the sums, and sets the checkpoint. Its condition makes it count once:

    SET #m = :last, … ADD #count :delta        if  attribute_not_exists(#m) OR #m < :first

A copy of a sum in an index key is set to the sum with the delta, whatever the copy was.

`:first` is the checkpoint of the first step in the delta, `:last` that of the last. If a part of the steps is in the
item already, the condition fails. For an item that was written before, the shorter form leaves out what follows from
the group, on the condition that the item is there; a third of the work is saved.

A row that a newer program wrote is left alone, as by every update: the condition tests its version. No update can set
`sk.created` only if it creates the item, so for a class that has it, the request says whether the item must be missing.

With `keep_expired`, what has expired is not taken from a sum, but added to an attribute beside it, `m:expired:count`.

An extreme follows from the one before it, so an item with extremes is read first, and the condition is that the
checkpoint and the extremes are as they were read. A text with a sum (`target.py`) follows from the sum before: the
condition is also that the sum is that one, whether it was read or remembered from the last write.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import VERSION_ATTRIBUTE
from sortkey.patterns.aggregates.target import Target
from sortkey.patterns.aggregates.values import Group, Step, StoredExtreme, sum_exactly

_CACHED_FORMS: Final = 64
_NEW: Final = "(attribute_not_exists(#m) OR #m < :first)"
_KNOWN_VERSION: Final = "(attribute_not_exists(#v) OR #v <= :v)"


class Form(NamedTuple):
    """What requests that set the same attributes have in common."""

    assigned: str
    added: str
    names: dict[str, str]


class ItemUpdate:
    """Makes the requests of one aggregate."""

    def __init__(self, target: Target) -> None:
        self.target = target
        stamps = target.schema.stamps
        self._updated = () if stamps is None else stamps.updated
        self.created = () if stamps is None else stamps.created
        """The fields that are set when an item is created."""
        revision = target.schema.revision
        self._revision = None if revision is None else target.schema.codec.by_name[revision].attribute
        self._form = lru_cache(_CACHED_FORMS)(self._made_form)

    def request(
        self,
        group: Group,
        checkpoint: str,
        steps: Sequence[Step],
        now: datetime,
        *,
        row: Row | None = None,
        sums: Row | None = None,
        removed: Sequence[str] = (),
        exists: bool = False,
        creates: bool | None = None,
    ) -> dict[str, Any]:
        """`checkpoint` is the attribute of the shard's checkpoint; `row` is the item as it was read, if it has
        extremes; `sums` are the attributes of sums that texts contain, as they are before; `removed` are checkpoints
        that are no longer needed. With `exists`, the item must exist, and has what follows from the group; with
        `creates`, it must be missing, or, if that is False, exist."""
        key, sets = self.target.fixed(group)
        stamps = (*self._updated, *self.created) if creates else self._updated
        expired = [step for step in steps if step.expired] if self.target.expired else []
        form = self._form(() if exists else tuple(sets), stamps, bool(expired))
        names = {"#m": checkpoint, "#v": VERSION_ATTRIBUTE, **form.names}
        version = {"N": str(self.target.schema.version)}
        values: dict[str, Value] = {":last": {"S": steps[-1].checkpoint}, ":v": version}
        if self._revision is not None:
            values[":one"] = {"N": "1"}
        if not exists:
            for index, value in enumerate(sets.values()):
                values[f":s{index}"] = value
        for index, field in enumerate(stamps):
            values[f":t{index}"] = self.target.encoded(field, now)
        for index, name in enumerate(self.target.sums):
            values[f":a{index}"] = self.target.encoded(name, self._delta(name, steps))
            if self.target.copies[name]:
                values[f":z{index}"] = self.target.encoded(name, self.target.zeros[name])
            if expired:
                values[f":x{index}"] = self.target.encoded(name, self._expired(name, expired))
        changes = _Changes(names, values, [form.assigned], [])
        for index, attribute in enumerate(removed):
            names[f"#r{index}"] = attribute
            changes.removed.append(f"#r{index}")
        if row is None:
            values[":first"] = {"S": steps[0].checkpoint}
            condition = _NEW
        else:
            self._set_extremes(changes, row, steps)
            self._set_expired_extremes(changes, row, expired)
            condition = self._unchanged(changes, checkpoint, row)
        if sums is not None:
            condition = f"{condition} AND {self._set_sum_texts(changes, group, sums, steps)}"
        if exists or creates is not None:
            names["#k"] = self.target.schema.primary.partition.name
            condition = f"{'attribute_not_exists' if creates else 'attribute_exists'}(#k) AND {condition}"
        return {
            "TableName": self.target.schema.table,
            "Key": key,
            "UpdateExpression": changes.expression + form.added,
            "ConditionExpression": f"{condition} AND {_KNOWN_VERSION}",
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }

    def _made_form(self, attributes: tuple[str, ...], stamps: tuple[str, ...], expired: bool) -> Form:
        assigned, added, names = ["#m = :last"], [], {}
        for index, attribute in enumerate(attributes):
            names[f"#s{index}"] = attribute
            assigned.append(f"#s{index} = :s{index}")
        for index, field in enumerate(stamps):
            names[f"#t{index}"] = self.target.schema.codec.by_name[field].attribute
            assigned.append(f"#t{index} = :t{index}")
        for index, name in enumerate(self.target.sums):
            names[f"#a{index}"] = self.target.schema.codec.by_name[name].attribute
            added.append(f"#a{index} :a{index}")
            if expired:
                names[f"#x{index}"] = self.target.expired[name]
                added.append(f"#x{index} :x{index}")
            for copy, attribute in enumerate(self.target.copies[name]):
                # Adding to the copy would keep it wrong in an item that is older than the index.
                names[f"#a{index}_{copy}"] = attribute
                assigned.append(f"#a{index}_{copy} = if_not_exists(#a{index}, :z{index}) + :a{index}")
        if self._revision is not None:
            names["#rev"] = self._revision
            added.append("#rev :one")
        return Form(", ".join(assigned), f" ADD {', '.join(added)}" if added else "", names)

    def _delta(self, name: str, steps: Sequence[Step]) -> Any:
        position, zero = self.target.positions[name], self.target.zeros[name]
        added = sum_exactly(zero, [step.added[position] for step in steps if step.added is not None])
        gone = [-step.removed[position] for step in steps if step.removed is not None and not step.expired]
        return sum_exactly(added, gone)

    def _expired(self, name: str, steps: Sequence[Step]) -> Any:
        position, zero = self.target.positions[name], self.target.zeros[name]
        return sum_exactly(zero, [step.removed[position] for step in steps if step.removed is not None])

    def _set_extremes(self, changes: _Changes, row: Row, steps: Sequence[Step]) -> None:
        target = self.target
        remaining = None if target.counter is None else target.sum_in(row, target.counter)
        for index, (name, extreme) in enumerate(target.extremes.items()):
            bound = extreme.after(target.bound_in(row, name), target.positions[name], steps, remaining)
            self._set_bound(changes, index, name, bound)

    def _set_expired_extremes(self, changes: _Changes, row: Row, steps: Sequence[Step]) -> None:
        for index, (name, extreme) in enumerate(self.target.extremes.items()):
            position = self.target.positions[name]
            gone = [step.removed[position] for step in steps if step.removed is not None]
            before = self.target.expired_extreme_in(row, name)
            after = extreme.of_all([before, *gone]).value
            if after != before:
                changes.set(f"y{index}", self.target.expired[name], {"L": [self.target.encoded(name, after)]})

    def sums_in(self, row: Row) -> Row | None:
        """The attributes of sums that texts contain, as this row has them; None if no text does. Raises DecodeError."""
        if not self.target.sums_in_texts:
            return None
        sums: Row = {}
        for name in self.target.sums_in_texts:
            attribute = self.target.schema.codec.by_name[name].attribute
            if attribute in row:
                # The error has the row's key, which the sums alone do not have.
                self.target.sum_in(row, name)
                sums[attribute] = row[attribute]
        return sums

    def sums_after(self, sums: Row, steps: Sequence[Step]) -> Row:
        """The same attributes after these steps."""
        fields = self.target.schema.codec.by_name
        return {fields[name].attribute: self.target.encoded(name, value) for name, value in self._sums(sums, steps)}

    def _sums(self, sums: Row, steps: Sequence[Step]) -> list[tuple[str, Any]]:
        target = self.target
        return [
            (name, sum_exactly(target.sum_in(sums, name), [self._delta(name, steps)])) for name in target.sums_in_texts
        ]

    def _set_sum_texts(self, changes: _Changes, group: Group, sums: Row, steps: Sequence[Step]) -> str:
        """Sets the texts; returns the condition that the sums are as they were."""
        for index, (name, text) in enumerate(self.target.sum_texts(group, dict(self._sums(sums, steps))).items()):
            changes.set(f"i{index}", name, text)
        attributes = [self.target.schema.codec.by_name[name].attribute for name in self.target.sums_in_texts]
        return " AND ".join(changes.equal(f"b{index}", name, sums.get(name)) for index, name in enumerate(attributes))

    def _set_bound(self, changes: _Changes, index: int, name: str, bound: StoredExtreme) -> None:
        changes.set(f"f{index}", self.target.flags[name], {"BOOL": bound.exact})
        for copy, attribute in enumerate(self.target.attributes[name]):
            value = None if bound.value is None else self.target.encoded(name, bound.value)
            changes.set(f"e{index}_{copy}", attribute, value)

    def _unchanged(self, changes: _Changes, checkpoint: str, row: Row) -> str:
        """The condition that nothing has changed which the extremes follow from."""
        target, fields = self.target, self.target.schema.codec.by_name
        counter = [] if target.counter is None else [fields[target.counter].attribute]
        extremes = [fields[name].attribute for name in target.extremes]
        expired = [target.expired[name] for name in target.extremes if name in target.expired]
        used = dict.fromkeys([checkpoint, *counter, *extremes, *target.flags.values(), *expired])
        return " AND ".join(changes.equal(f"u{index}", name, row.get(name)) for index, name in enumerate(used))


class _Changes(NamedTuple):
    """An update expression under construction."""

    names: dict[str, str]
    values: dict[str, Value]
    assigned: list[str]
    removed: list[str]

    def set(self, placeholder: str, attribute: str, value: Value | None) -> None:
        """Sets an attribute; None removes it."""
        self.names[f"#{placeholder}"] = attribute
        if value is None:
            self.removed.append(f"#{placeholder}")
        else:
            self.values[f":{placeholder}"] = value
            self.assigned.append(f"#{placeholder} = :{placeholder}")

    def equal(self, placeholder: str, attribute: str, value: Value | None) -> str:
        """The condition that an attribute has this value; None for absent."""
        self.names[f"#{placeholder}"] = attribute
        if value is None:
            return f"attribute_not_exists(#{placeholder})"
        self.values[f":{placeholder}"] = value
        return f"#{placeholder} = :{placeholder}"

    @property
    def expression(self) -> str:
        removal = f" REMOVE {', '.join(self.removed)}" if self.removed else ""
        return f"SET {', '.join(self.assigned)}{removal}"
