"""Random operations of two programs on one table, each compared with what it should have done.

Before and after every operation the row is read as it is stored. The attributes of fields that the operation did not
name must be the same bytes. Then both programs read the row, and must show the same values.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol

from tests.takeover.legacy import Row

Key = tuple[str, int]
Values = dict[str, Any]
"""The values of an item by field, without those that it does not have."""

SWEEP: Final = 500
"""After so many operations, both programs read the whole table."""
KEYS: Final = 120


class Program(Protocol):
    """One of the two programs on the table."""

    def create(self, key: Key, kind: str, values: Values) -> None: ...

    def save(self, key: Key, changes: Values) -> None:
        """Reads the item, changes it, and writes it as a whole. None removes a value."""

    def update(self, key: Key, changes: Values) -> None:
        """Changes some values in the store. None removes a value."""

    def add(self, key: Key, field: str, amount: Any) -> None:
        """Adds to a number or to a set, in the store."""

    def append(self, key: Key, field: str, members: list[Any]) -> None: ...

    def save_batch(self, keys: list[Key]) -> None:
        """Reads items, and writes them in one batch, unchanged."""

    def delete(self, key: Key) -> None: ...

    def read(self, key: Key) -> Values | None: ...

    def read_all(self) -> dict[Key, Values]: ...

    def find(self, status: str) -> set[Key]:
        """The items of a status, by the index."""


class Library(NamedTuple):
    """What the table has, and the two programs that write it."""

    theirs: Program
    ours: Program
    stored: Callable[[Key], Row | None]
    store_null: Callable[[Key, str], None]
    """Stores NULL as an attribute, as a third program may."""
    nullable: tuple[str, ...]
    """The fields in which both programs read NULL as nothing."""
    kinds: tuple[str, ...]
    values: Mapping[str, Callable[[random.Random], Any]]
    """Makes a value for each field."""
    required: frozenset[str]
    only_theirs: frozenset[str]
    """The fields that Sortkey's classes do not declare."""
    attributes: Callable[[str], frozenset[str]]
    """The attributes that may change with a field: its own, and the index keys that contain it."""
    version: str | None
    """The number that every write of an item raises which has it."""
    numbers: tuple[str, ...]
    sets: tuple[str, ...]
    lists: tuple[str, ...]
    as_they_save: Callable[[Row], Row]
    """A row as the other library writes it after reading it, if that adds something by itself."""
    check: Callable[[], None]
    """Raises if an audit finds something."""


class Failure(AssertionError):
    """An operation changed what it should not have, or a program shows something else."""


class Result(NamedTuple):
    operations: Counter[tuple[str, str]]
    compared: int
    """Attributes that an operation did not name, each found to be the same bytes."""
    swept: int
    """Rows that both programs read in sweeps."""


class Campaign:
    def __init__(self, library: Library, seed: int) -> None:
        self._library = library
        self._random = random.Random(seed)
        self._model: dict[Key, Values] = {}
        self._operations: Counter[tuple[str, str]] = Counter()
        self._compared = 0
        self._swept = 0

    def run(self, count: int) -> Result:
        for number in range(1, count + 1):
            self._operate(number)
            if number % SWEEP == 0 or number == count:
                self._sweep(number)
        return Result(self._operations, self._compared, self._swept)

    def _operate(self, number: int) -> None:
        who = self._random.choice(("theirs", "ours"))
        program: Program = getattr(self._library, who)
        index = self._random.randrange(KEYS)
        key = (f"Tenant {index % 3}", index)
        known = self._model.get(key)
        operation = "create" if known is None else self._random.choice(_OPERATIONS)
        named = f"operation {number}: {operation} by {who} of {key}"
        self._operations[who, operation] += 1
        keys = [key]
        if operation == "save_batch":
            keys = sorted({key, *self._random.sample(sorted(self._model), min(3, len(self._model)))})
        before = {each: self._library.stored(each) for each in keys}
        try:
            changed = getattr(self, f"_{operation}")(program, who, *keys)
        except Exception as error:
            raise Failure(f"{named}: {type(error).__name__}: {error}; the rows were {before}") from error
        for each, row in before.items():
            if row is not None and who == "theirs" and operation in ("save", "save_batch"):
                row = self._library.as_they_save(row)
            self._compare(named, each, row, changed)
            # A batch of theirs neither tests nor raises the number.
            is_raised = operation != "store_null" and (who, operation) != ("theirs", "save_batch")
            self._check_version(named, each, row, int(is_raised))

    def _compare(self, named: str, key: Key, before: Row | None, changed: set[str]) -> None:
        after = self._library.stored(key)
        expected = self._model.get(key)
        if (after is None) != (expected is None):
            raise Failure(f"{named}: the row is {after}")
        if before is not None and after is not None:
            allowed = frozenset({self._library.version}).union(*map(self._library.attributes, changed))
            for attribute in before.keys() | after.keys():
                if attribute in allowed:
                    continue
                if before.get(attribute) != after.get(attribute):
                    raise Failure(f"{named}: {attribute} was {before.get(attribute)} and is {after.get(attribute)}")
                self._compared += 1
        self._read(named, key, after)

    def _check_version(self, named: str, key: Key, before: Row | None, raised: int) -> None:
        after = self._library.stored(key)
        version = self._library.version
        if version is None or after is None:
            return
        if before is None:
            found = after.get(version, {"N": "1"})
            if found != {"N": "1"}:
                raise Failure(f"{named}: the version of a new item is {found}")
        elif version in before:
            number = {"N": str(int(before[version]["N"]) + raised)}
            if after.get(version) != number:
                raise Failure(f"{named}: {version} was {before[version]} and is {after.get(version)}")

    def _read(self, named: str, key: Key, row: Row | None) -> None:
        for who in ("theirs", "ours"):
            try:
                shown = getattr(self._library, who).read(key)
            except Exception as error:
                raise Failure(f"{named}: {who} cannot read {row}: {type(error).__name__}: {error}") from error
            self._check_values(named, who, key, shown)

    def _check_values(self, named: str, who: str, key: Key, shown: Values | None) -> None:
        expected = self._model.get(key)
        if expected is not None and who == "ours":
            expected = {name: value for name, value in expected.items() if name not in self._library.only_theirs}
        if shown != expected:
            names = sorted((shown or {}).keys() | (expected or {}).keys())
            differing = {
                name: ((shown or {}).get(name), (expected or {}).get(name))
                for name in names
                if (shown or {}).get(name) != (expected or {}).get(name)
            }
            raise Failure(f"{named}: {who} shows other values (shown, expected): {differing}")

    def _sweep(self, number: int) -> None:
        named = f"sweep after operation {number}"
        for who in ("theirs", "ours"):
            shown = getattr(self._library, who).read_all()
            if shown.keys() != self._model.keys():
                raise Failure(f"{named}: {who} misses {self._model.keys() ^ shown.keys()}")
            for key, values in shown.items():
                self._check_values(named, who, key, values)
            self._swept += len(shown)
            for status in {values["status"] for values in self._model.values()}:
                found = getattr(self._library, who).find(status)
                expected = {key for key, values in self._model.items() if values["status"] == status}
                if found != expected:
                    raise Failure(f"{named}: {who} finds by status {status!r} {found ^ expected} wrongly")
        self._library.check()

    def _fields(self, who: str) -> list[str]:
        hidden = self._library.only_theirs if who == "ours" else frozenset()
        return [name for name in self._library.values if name not in hidden]

    def _some_values(self, who: str) -> Values:
        """New values for up to three fields; None removes one."""
        made: Values = {}
        for name in self._random.sample(self._fields(who), self._random.randint(1, 3)):
            removes = name not in self._library.required and self._random.random() < 0.3
            made[name] = None if removes else self._library.values[name](self._random)
        return made

    def _changed(self, key: Key, changes: Values) -> set[str]:
        merged = {**self._model[key], **changes}
        self._model[key] = {name: value for name, value in merged.items() if value is not None}
        return set(changes)

    def _create(self, program: Program, who: str, key: Key) -> set[str]:
        values = {
            name: self._library.values[name](self._random)
            for name in self._fields(who)
            if name in self._library.required or self._random.random() < 0.6
        }
        kind = self._random.choice(self._library.kinds)
        program.create(key, kind, values)
        self._model[key] = values
        return set(self._library.values)

    def _save(self, program: Program, who: str, key: Key) -> set[str]:
        changes = self._some_values(who)
        program.save(key, changes)
        return self._changed(key, changes)

    def _update(self, program: Program, who: str, key: Key) -> set[str]:
        changes = self._some_values(who)
        program.update(key, changes)
        return self._changed(key, changes)

    def _add(self, program: Program, who: str, key: Key) -> set[str]:
        field = self._random.choice(self._library.numbers + self._library.sets)
        before = self._model[key].get(field)
        if before is None and "NULL" in ((self._library.stored(key) or {}).get(field) or {}):
            return self._update(program, who, key)  # the store adds nothing to NULL
        amount: Any
        if field in self._library.numbers:
            amount = self._random.randint(-5, 5)
            after = (before or 0) + amount
        else:
            amount = self._library.values[field](self._random)
            after = (before or set()) | amount
        program.add(key, field, amount)
        return self._changed(key, {field: after})

    def _append(self, program: Program, who: str, key: Key) -> set[str]:
        field = self._random.choice(self._library.lists)
        members = self._library.values[field](self._random)
        if field not in self._model[key]:
            return self._update(program, who, key)
        program.append(key, field, members)
        return self._changed(key, {field: self._model[key][field] + members})

    def _save_batch(self, program: Program, _who: str, *keys: Key) -> set[str]:
        program.save_batch(list(keys))
        return set()

    def _store_null(self, _program: Program, _who: str, key: Key) -> set[str]:
        field = self._random.choice(self._library.nullable)
        self._library.store_null(key, field)
        return self._changed(key, {field: None})

    def _delete(self, program: Program, _who: str, key: Key) -> set[str]:
        program.delete(key)
        del self._model[key]
        return set()


_OPERATIONS: Final = (
    *("save",) * 6,
    *("update",) * 6,
    *("add",) * 3,
    *("append",) * 2,
    "save_batch",
    "store_null",
    "delete",
)
