"""Update expressions, compiled once per text and bound to a request: a function from the item before to the item after.

Right-hand sides and list indexes refer to the item before. Unchanged parts are shared between the two items; nothing is
changed in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple

from sortkey.errors import ValidationException
from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings, DocumentPath
from sortkey.expressions.compilation import Check, Compilation, Getter, cached_by_text, getter, roots
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_update
from sortkey.expressions.paths import branches, find, pick, resolve
from sortkey.expressions.tree import Action, Add, Arithmetic, Call, Delete, Operand, Path, Remove, Set, Value
from sortkey.limits import ITEM_BYTES
from sortkey.values import number
from sortkey.values.attribute import SET_TYPES, AttributeValue, Item, normalise_value, type_of
from sortkey.values.errors import UPDATED_ITEM_TOO_LARGE, InvalidRequest
from sortkey.values.size import value_size

Compute = Callable[[Item, Bindings], AttributeValue]
_ARITHMETIC: Final = {"+": number.add, "-": number.subtract}
_NUMBER: Final = frozenset({"N"})
_LIST: Final = frozenset({"L"})
TYPE_NAMES: Final = {
    "S": "STRING",
    "N": "NUMBER",
    "B": "BINARY",
    "BOOL": "BOOLEAN",
    "NULL": "NULL",
    "L": "LIST",
    "M": "MAP",
    "SS": "STRING_SET",
    "NS": "NUMBER_SET",
    "BS": "BINARY_SET",
}
_ADD_TYPES: Final = SET_TYPES | {"N"}
Merge = Callable[[AttributeValue | None, AttributeValue], AttributeValue | None]
"""From the value at a path and an operand to the new value; None is no value."""


class _Room:
    """What the values that an update writes may still have."""

    def __init__(self) -> None:
        self._left = ITEM_BYTES

    def take(self, value: AttributeValue | None) -> None:
        if value is None:
            return
        content = value[type_of(value)]
        # Each element has a byte or more, so those of a list that is too long need not be measured.
        long = isinstance(content, list) and len(content) > self._left + 1
        self._left -= len(content) if long else value_size(value)
        if self._left < 0:
            raise too_large()


def _measured(room: _Room | None, value: AttributeValue | None) -> AttributeValue | None:
    if room is not None:
        room.take(value)
    return value


def too_large() -> ValidationException:
    return ValidationException(UPDATED_ITEM_TOO_LARGE)


class CompiledUpdate(NamedTuple):
    """A compiled update, shared by all requests with the same text. Actions name a path by its position."""

    paths: tuple[Path, ...]
    assignments: tuple[tuple[int, Compute], ...]
    merges: tuple[tuple[int, Merge, str], ...]
    """With the placeholder of the operand."""
    removals: tuple[int, ...]
    checks: tuple[Check, ...] = ()
    nested: frozenset[str] = frozenset()
    shallow: bool = True
    """Whether it writes whole attributes only."""

    def bind(self, bindings: Bindings) -> Update:
        paths = resolve(self.paths, bindings)
        for check in self.checks:
            check(bindings)
        return Update(self, paths, bindings)


class Update:
    __slots__ = ("_bindings", "_names", "_paths", "_program", "attributes", "nested", "shallow")

    def __init__(self, program: CompiledUpdate, paths: Sequence[DocumentPath], bindings: Bindings) -> None:
        self._program = program
        self._paths = paths
        self._bindings = bindings
        self._names = [str(path[0]) for path in paths]
        self.attributes = frozenset(self._names)
        """The top-level attributes that it writes."""
        self.shallow = program.shallow
        self.nested = bindings.attributes(program.nested) if program.nested else program.nested
        """The top-level attributes that it reads or writes in part, by a longer path."""

    def with_bindings(self, bindings: Bindings) -> Update:
        """The same with bindings that have the same names, and values of the same types."""
        update = Update.__new__(Update)
        update._program, update._paths, update._names, update._bindings = (
            self._program,
            self._paths,
            self._names,
            bindings,
        )
        update.attributes, update.nested, update.shallow = self.attributes, self.nested, self.shallow
        return update

    def apply(self, item: Item, size: int) -> Item:
        """The item of this size after the update.

        The order of the steps is the order in which DynamoDB reports errors. Only an item that gets too large is
        rejected as soon as that is sure, because the values written could take a thousand times its memory.
        """
        paths, bindings = self._paths, self._bindings
        # Most updates write so little that the values need not be measured one by one: none of them has more than twice
        # what the request and the item have together.
        room = None if 2 * len(paths) * (bindings.size + size) <= ITEM_BYTES else _Room()
        if self.shallow:
            return self._apply_shallow(item, room)
        program = self._program
        changes = [
            PathChange(paths[index], _measured(room, merge(find(item, paths[index]), bindings.values[operand])))
            for index, merge, operand in program.merges
        ]
        for path in paths:
            check_parent(item, path)
        changes += [
            PathChange(paths[index], _measured(room, compute(item, bindings))) for index, compute in program.assignments
        ]
        changes += [PathChange(paths[index], None) for index in program.removals]
        return apply_changes(item, changes)

    def _apply_shallow(self, item: Item, room: _Room | None) -> Item:
        """The same for whole attributes, which most updates write."""
        program, names, bindings = self._program, self._names, self._bindings
        after = dict(item)
        for index, merge, operand in program.merges:
            merged = merge(item.get(names[index]), bindings.values[operand])
            if room is not None:
                room.take(merged)
            if merged is None:
                after.pop(names[index], None)
            else:
                after[names[index]] = merged
        for index, compute in program.assignments:
            value = after[names[index]] = compute(item, bindings)
            if room is not None:
                room.take(value)
        for index in program.removals:
            after.pop(names[index], None)
        return after

    def updated(self, before_or_after: Item) -> Item:
        """The parts of the item, before or after, at the paths that the update names."""
        return pick(before_or_after, branches(self._paths))


def update(text: str, bindings: Bindings) -> Update:
    try:
        return _program(text).bind(bindings)
    except InvalidExpression as error:
        raise InvalidRequest(f"Invalid UpdateExpression: {error}") from None


@cached_by_text
def _program(text: str) -> CompiledUpdate:
    return compile_update(parse_update(text))


def compile_update(actions: Sequence[Action]) -> CompiledUpdate:
    compilation = Compilation()
    assignments: list[tuple[int, Compute]] = []
    merges: list[tuple[int, Merge, str]] = []
    removals: list[int] = []
    try:
        # From last to first, as DynamoDB does: it reports the last of several errors.
        for index, action in reversed(list(enumerate(actions))):
            match action:
                case Set():
                    assignments.append((index, compile_assigned(action.value, compilation).compute))
                case Remove():
                    removals.append(index)
                case Add():
                    merges.append((index, add_to, _operand(action, compilation, _ADD_TYPES)))
                case Delete():
                    merges.append((index, take_from, _operand(action, compilation, SET_TYPES)))
    except InvalidExpression as error:
        compilation.reject(error)
    paths = tuple(action.path for action in actions)
    long = [path for path in paths if len(path.parts) > 1]
    return CompiledUpdate(
        paths,
        tuple(assignments),
        tuple(merges),
        tuple(removals),
        tuple(compilation.checks),
        compilation.nested | roots(long),
        shallow=not long,
    )


def _operand(action: Add | Delete, compilation: Compilation, allowed: frozenset[str]) -> str:
    compilation.value(action.value)
    compilation.count_operator()
    operator, placeholder = type(action).__name__.upper(), action.value.placeholder

    def check(bindings: Bindings) -> None:
        tag = type_of(bindings.values[placeholder])
        if tag not in allowed:
            raise InvalidExpression(
                f"Incorrect operand type for operator or function; operator: {operator}, "
                f"operand type: {TYPE_NAMES[tag]}, typeSet: ALLOWED_FOR_{operator}_OPERAND"
            )

    compilation.checks.append(check)
    return placeholder


def add_to(existing: AttributeValue | None, operand: AttributeValue) -> AttributeValue:
    if existing is None:
        return operand
    tag = _same_type(existing, operand)
    if tag == "N":
        return {"N": number.add(existing["N"], operand["N"])}
    if len(operand[tag]) > ITEM_BYTES:
        raise too_large()
    return normalise_value({tag: list({*existing[tag], *operand[tag]})})


def take_from(existing: AttributeValue | None, operand: AttributeValue) -> AttributeValue | None:
    if existing is None:
        return None
    tag = _same_type(existing, operand)
    taken = set(operand[tag])
    left = [element for element in existing[tag] if element not in taken]
    return {tag: left} if left else None


def _same_type(existing: AttributeValue, operand: AttributeValue) -> str:
    tag = type_of(operand)
    if tag not in existing:
        raise wrong_type()
    return tag


class Assigned(NamedTuple):
    """A compiled right-hand side; `path` or `value` is set if it is nothing else."""

    compute: Compute
    path: Path | None = None
    value: Value | None = None


def wrong_type() -> ValidationException:
    return ValidationException("An operand in the update expression has an incorrect data type")


def compile_assigned(value: Operand | Arithmetic, compilation: Compilation) -> Assigned:
    """The right-hand side of SET: values, other attributes, `if_not_exists`, `list_append`, sums and differences."""
    match value:
        case Path():
            compilation.path(value)
            return Assigned(_existing(getter(value)), path=value)
        case Value():
            compilation.value(value)
            return Assigned(compute_value(value.placeholder), value=value)
        case Arithmetic():
            return _compile_arithmetic(value, compilation)
        case Call():
            # `map`, because a comprehension would be another call for each level of nesting.
            arguments = list(map(compile_assigned, value.arguments, repeat(compilation)))
            compilation.count_operator()
            if len(arguments) != 2:
                raise errors.operand_count(value.function, len(arguments))
            compile_call = _compile_append if value.function == "list_append" else _compile_default
            return compile_call(compilation, *arguments)


def compute_value(placeholder: str) -> Compute:
    return lambda _item, bindings: bindings.values[placeholder]


def _existing(get: Getter) -> Compute:
    def existing(item: Item, bindings: Bindings) -> AttributeValue:
        value = get(item, bindings)
        if value is None:
            raise ValidationException("The provided expression refers to an attribute that does not exist in the item")
        return value

    return existing


def _content(value: AttributeValue, tag: str) -> Any:
    if tag not in value:
        raise wrong_type()
    return value[tag]


def _compile_arithmetic(tree: Arithmetic, compilation: Compilation) -> Assigned:
    left, right = compile_assigned(tree.left, compilation), compile_assigned(tree.right, compilation)
    compilation.count_operator()
    _require_types(compilation, tree.operator, _NUMBER, left, right)
    apply, a, b = _ARITHMETIC[tree.operator], left.compute, right.compute

    def compute(item: Item, bindings: Bindings) -> AttributeValue:
        return {"N": apply(_content(a(item, bindings), "N"), _content(b(item, bindings), "N"))}

    return Assigned(compute)


def _compile_append(compilation: Compilation, first: Assigned, second: Assigned) -> Assigned:
    _require_types(compilation, "list_append", _LIST, first, second)
    a, b = first.compute, second.compute

    def compute(item: Item, bindings: Bindings) -> AttributeValue:
        return {"L": [*_content(a(item, bindings), "L"), *_content(b(item, bindings), "L")]}

    return Assigned(compute)


def _compile_default(compilation: Compilation, attribute: Assigned, default: Assigned) -> Assigned:
    path = attribute.path
    if path is None:
        raise errors.not_a_path("if_not_exists")
    if default.path is not None:
        compilation.require_distinct(path, [default.path], "if_not_exists")
    get = getter(path)

    def compute(item: Item, bindings: Bindings) -> AttributeValue:
        # The default is evaluated even if it is not needed: a missing attribute in it fails the update all the same.
        otherwise = default.compute(item, bindings)
        value = get(item, bindings)
        return otherwise if value is None else value

    return Assigned(compute)


def _require_types(compilation: Compilation, operator: str, allowed: frozenset[str], *operands: Assigned) -> None:
    for operand in operands:
        if operand.value is not None:
            compilation.require_type(operand.value, allowed, operator)


class PathChange(NamedTuple):
    path: DocumentPath
    value: AttributeValue | None
    """The new value; None removes the old one."""


def check_parent(item: Item, path: DocumentPath) -> None:
    """The map or list that holds the path's last part must exist."""
    if len(path) == 1:
        return
    parent = find(item, path[:-1])
    if parent is None or ("M" if isinstance(path[-1], str) else "L") not in parent:
        raise ValidationException("The document path provided in the update expression is invalid for update")


def apply_changes(item: Item, changes: Sequence[PathChange]) -> Item:
    """The item with all changes made. Their paths neither overlap nor conflict, and their parents exist."""
    members = dict(item)
    for part, beneath in _by_part(changes, depth=0).items():
        _change_member(members, str(part), beneath, depth=1)
    return members


def _by_part(changes: Sequence[PathChange], depth: int) -> dict[str | int, list[PathChange]]:
    groups: dict[str | int, list[PathChange]] = {}
    for change in changes:
        groups.setdefault(change.path[depth], []).append(change)
    return groups


def _change_member(members: Item, name: str, changes: list[PathChange], depth: int) -> None:
    if len(changes[0].path) > depth:
        members[name] = _rewrite_value(members[name], changes, depth)
    elif changes[0].value is None:
        members.pop(name, None)
    else:
        members[name] = changes[0].value


def _rewrite_value(value: AttributeValue, changes: Sequence[PathChange], depth: int) -> AttributeValue:
    groups = _by_part(changes, depth)
    if "L" in value:
        elements = {part: group for part, group in groups.items() if isinstance(part, int)}
        return {"L": _rewrite_elements(value["L"], elements, depth + 1)}
    members = dict(value["M"])
    for part, beneath in groups.items():
        _change_member(members, str(part), beneath, depth + 1)
    return {"M": members}


def _rewrite_elements(
    elements: list[AttributeValue], groups: dict[int, list[PathChange]], depth: int
) -> list[AttributeValue]:
    """Indexes refer to the list before the changes; those past its end append, in ascending order."""
    rewritten: list[AttributeValue | None] = [*elements]
    for index in sorted(groups):
        changes = groups[index]
        if len(changes[0].path) > depth:
            rewritten[index] = _rewrite_value(elements[index], changes, depth)
        elif index < len(elements):
            rewritten[index] = changes[0].value
        else:
            rewritten.append(changes[0].value)
    return [element for element in rewritten if element is not None]
