"""Random trees, their texts, and items that the expressions can match."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from sortkey.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Between,
    Call,
    Comparison,
    Condition,
    Delete,
    Junction,
    Membership,
    Not,
    Operand,
    Path,
    Remove,
    Set,
    Value,
)

# Few names and small values, so that random expressions are sometimes true for random items.
NAMES = ("a", "b", "c")
strings = st.sampled_from(["", "a", "ab", "é", "𝄞"]).map(lambda text: {"S": text})
numbers = st.sampled_from(["-1", "0", "1", "2", "10", "0.5"]).map(lambda text: {"N": text})
binaries = st.sampled_from(["", "YQ==", "YWI=", "/w=="]).map(lambda text: {"B": text})
string_sets = st.sets(st.sampled_from(["a", "ab"]), min_size=1).map(lambda members: {"SS": sorted(members)})
number_sets = st.sets(st.sampled_from(["1", "2", "10"]), min_size=1).map(lambda found: {"NS": sorted(found, key=int)})
binary_sets = st.sets(st.sampled_from(["YQ==", "YWI="]), min_size=1).map(lambda members: {"BS": sorted(members)})
others = st.sampled_from([{"BOOL": True}, {"BOOL": False}, {"NULL": True}])
leaves: st.SearchStrategy[dict[str, Any]] = st.one_of(
    strings, numbers, binaries, others, string_sets, number_sets, binary_sets
)
values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda elements: {"L": elements}),
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=3).map(lambda members: {"M": members}),
    ),
    max_leaves=4,
)
items: st.SearchStrategy[dict[str, Any]] = st.dictionaries(st.sampled_from(NAMES), values, max_size=3)

bound: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        ":s": strings,
        ":n": numbers,
        ":ss": string_sets,
        ":ns": number_sets,
        ":l": st.lists(leaves, max_size=2).map(lambda elements: {"L": elements}),
        ":any": values,
    }
)
"""Values of placeholders; most have a known type, so that few expressions are rejected."""

_parts = st.one_of(st.sampled_from(NAMES), st.integers(0, 3))
paths: st.SearchStrategy[Path] = st.builds(
    lambda name, rest: Path((name, *rest)), st.sampled_from(NAMES), st.lists(_parts, max_size=2)
)
placeholders: st.SearchStrategy[Value] = st.sampled_from((":s", ":n", ":ss", ":ns", ":l", ":any")).map(Value)
operands: st.SearchStrategy[Operand] = st.one_of(
    paths, placeholders, st.builds(lambda operand: Call("size", (operand,)), st.one_of(paths, placeholders))
)

_predicates: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Comparison, st.sampled_from(("=", "<>", "<", "<=", ">", ">=")), operands, operands),
    st.builds(Between, operands, operands, operands),
    st.builds(Membership, operands, st.lists(operands, min_size=1, max_size=3).map(tuple)),
    st.builds(
        lambda function, first, second: Call(function, (first, second)),
        st.sampled_from(("contains", "begins_with")),
        operands,
        operands,
    ),
    st.builds(
        lambda function, path: Call(function, (path,)),
        st.sampled_from(("attribute_exists", "attribute_not_exists")),
        paths,
    ),
)
conditions: st.SearchStrategy[Condition] = st.recursive(
    _predicates,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Junction, st.sampled_from(("AND", "OR")), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)


def _settable(value: Operand) -> st.SearchStrategy[Operand]:
    """A value, an attribute, or one instead of the other."""
    default = st.one_of(paths, st.just(value))
    return st.one_of(
        paths, st.just(value), st.builds(lambda path, other: Call("if_not_exists", (path, other)), paths, default)
    )


_term, _list = _settable(Value(":n")), _settable(Value(":l"))
_actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(Set, paths, placeholders.flatmap(_settable)),
    st.builds(Set, paths, st.builds(Arithmetic, st.sampled_from(("+", "-")), _term, _term)),
    st.builds(Set, paths, st.builds(lambda first, second: Call("list_append", (first, second)), _list, _list)),
    st.builds(Remove, paths),
    st.builds(Add, paths, st.sampled_from((":n", ":ss", ":ns")).map(Value)),
    st.builds(Delete, paths, st.sampled_from((":ss", ":ns")).map(Value)),
)


def _in_sections(actions: list[Action]) -> tuple[Action, ...]:
    """A section is in one piece in the text, so its actions are in one piece in the tree."""
    order = (Set, Remove, Add, Delete)
    return tuple(sorted(actions, key=lambda action: order.index(type(action))))


updates: st.SearchStrategy[tuple[Action, ...]] = st.lists(_actions, min_size=1, max_size=3).map(_in_sections)


def spell_path(path: Path) -> str:
    first, *rest = path.parts
    return f"{first}" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in rest)


def spell_operand(operand: Operand | Arithmetic) -> str:
    match operand:
        case Path():
            return spell_path(operand)
        case Value():
            return operand.placeholder
        case Call():
            return f"{operand.function}({', '.join(map(spell_operand, operand.arguments))})"
        case Arithmetic():
            return f"{spell_operand(operand.left)} {operand.operator} {spell_operand(operand.right)}"


def spell_condition(tree: Condition) -> str:
    match tree:
        case Comparison():
            return f"{spell_operand(tree.left)} {tree.operator} {spell_operand(tree.right)}"
        case Between():
            return f"{spell_operand(tree.operand)} BETWEEN {spell_operand(tree.low)} AND {spell_operand(tree.high)}"
        case Membership():
            return f"{spell_operand(tree.operand)} IN ({', '.join(map(spell_operand, tree.choices))})"
        case Call():
            return spell_operand(tree)
        case Not():
            return f"NOT {_spell_part(tree.condition)}"
        case Junction():
            return f" {tree.operator} ".join(map(_spell_part, tree.conditions))


def _spell_part(tree: Condition) -> str:
    return f"({spell_condition(tree)})" if isinstance(tree, Junction) else spell_condition(tree)


def spell_update(actions: tuple[Action, ...]) -> str:
    sections: dict[str, list[str]] = {}
    for action in actions:
        spelled = spell_path(action.path)
        match action:
            case Set():
                spelled += f" = {spell_operand(action.value)}"
            case Add() | Delete():
                spelled += f" {action.value.placeholder}"
        sections.setdefault(type(action).__name__.upper(), []).append(spelled)
    return " ".join(f"{section} {', '.join(spelled)}" for section, spelled in sections.items())
