"""Condition and filter expressions, compiled to one closure over an item and a request's bindings.

A comparison with a missing value, or with a value of another type, is false; only `<>` is then true. A condition never
raises because of an item: its errors are the same for every item and are raised when it is bound.
"""

from __future__ import annotations

import operator
from binascii import a2b_base64
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from sortkey import limits
from sortkey.expressions import errors
from sortkey.expressions.bindings import Bindings
from sortkey.expressions.compilation import Check, Compilation, CompiledOperand, Getter, cached_by_text, compile_operand
from sortkey.expressions.errors import InvalidExpression
from sortkey.expressions.parser import parse_condition
from sortkey.expressions.tree import Between, Call, Comparison, Junction, Membership, Not, Operand, Predicate
from sortkey.expressions.tree import Condition as Tree
from sortkey.values.attribute import ORDERED_TYPES, PREFIX_TYPES, AttributeValue, Item, compare, type_of
from sortkey.values.errors import InvalidRequest

Test = Callable[[Item, Bindings], bool]
# In the order of DynamoDB's messages.
_TYPES: Final = ("N", "BS", "L", "B", "NULL", "M", "S", "SS", "NS", "BOOL")
_ANY_TYPE: Final = "{HD,DICT,INT,SS,BS,S,INTSET,FLOAT,HDS,NS,BOOL,B,N,DOUBLESET,DECIMALSET,L,M,DOUBLE,FS,DECIMAL,NULL}"
_TEXT: Final = frozenset({"S"})
_GROUP: Final = 4
"""Letters of base64 for three bytes."""
_ELEMENT_TYPES: Final = {"SS": "S", "NS": "N", "BS": "B"}
Parameter = Literal["ConditionExpression", "FilterExpression", "KeyConditionExpression", "SearchConditionExpression"]
_ORDERINGS: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class CompiledCondition(NamedTuple):
    """A compiled condition, shared by all requests with the same text."""

    test: Test
    checks: tuple[Check, ...]
    checks_content: bool
    """Whether a check looks at what a value contains; the others look at its type."""
    roots: frozenset[str]
    nested: frozenset[str]
    tree: Tree
    leaves: Mapping[Tree, Test]
    """The tests of the tree's comparisons, memberships and functions."""
    evaluations: int

    def bind(self, bindings: Bindings) -> Condition:
        for check in self.checks:
            check(bindings)
        return Condition(self, bindings)


class Condition:
    """Whether an item satisfies an expression; a missing item is the empty one."""

    __slots__ = ("_bindings", "_program", "_test", "remembered")

    def __init__(self, program: CompiledCondition, bindings: Bindings) -> None:
        self._program = program
        self._test = program.test
        self._bindings = bindings
        self.remembered: tuple[bytes, bool] | None = None

    def __call__(self, item: Item) -> bool:
        return self._test(item, self._bindings)

    def with_bindings(self, bindings: Bindings) -> Condition | None:
        """The same with bindings that have the same names, and values of the same types. None if these are to be
        checked."""
        return None if self._program.checks_content else Condition(self._program, bindings)

    def steps(self, item: Item) -> Generator[None, None, bool]:
        """The same, operator by operator: yields before each."""
        return self._steps(self._program.tree, item)

    def _steps(self, tree: Tree, item: Item) -> Generator[None, None, bool]:
        match tree:
            case Not():
                return not (yield from self._steps(tree.condition, item))
            case Junction():
                decides = tree.operator == "OR"
                for part in tree.conditions:
                    if (yield from self._steps(part, item)) is decides:
                        return decides
                return not decides
        yield
        return self._program.leaves[tree](item, self._bindings)

    def remember(self, fingerprint: bytes, verdict: bool) -> None:
        """Keep what it says of the item with this fingerprint."""
        self.remembered = fingerprint, verdict

    @property
    def evaluations(self) -> int:
        """The number of operators and functions, and of attributes to compare with."""
        return self._program.evaluations

    @property
    def tree(self) -> Tree:
        return self._program.tree

    @property
    def attributes(self) -> frozenset[str]:
        """The top-level attributes that the condition reads."""
        return self._bindings.attributes(self._program.roots)

    @property
    def nested(self) -> frozenset[str]:
        """The top-level attributes that it reads a part of, by a longer path."""
        return self._bindings.attributes(self._program.nested)


def condition(text: str, bindings: Bindings, parameter: Parameter) -> Condition:
    try:
        return _program(text).bind(bindings)
    except InvalidExpression as error:
        raise InvalidRequest(f"Invalid {parameter}: {error}") from None


@cached_by_text
def _program(text: str) -> CompiledCondition:
    return compile_condition(parse_condition(text))


def compile_condition(tree: Tree) -> CompiledCondition:
    compilation = Compilation()
    compiler = _Compiler(compilation)
    test: Test = _never
    try:
        test = compiler.test(tree)
    except InvalidExpression as error:
        compilation.reject(error)
    return CompiledCondition(
        test,
        tuple(compilation.checks),
        compilation.checks_content,
        compilation.roots,
        compilation.nested,
        tree,
        compiler.leaves,
        compilation.evaluations,
    )


def _never(_item: Item, _bindings: Bindings) -> bool:
    """The test of a condition that is invalid for every request: a check raises before this is called."""
    raise AssertionError


class _Compiler:
    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self.leaves: dict[Tree, Test] = {}

    def test(self, tree: Tree) -> Test:
        match tree:
            case Not():
                negated = self.test(tree.condition)
                self._compilation.count_operator()
                return lambda item, bindings: not negated(item, bindings)
            case Junction():
                # `map`, because a comprehension would be another call for each level of nesting.
                return self._junction(tree.operator, tuple(map(self.test, tree.conditions)))
            case _:
                leaf = self.leaves[tree] = self._leaf(tree)
                return leaf

    def _leaf(self, tree: Predicate) -> Test:
        match tree:
            case Comparison():
                return self._comparison(tree)
            case Between():
                return self._between(tree)
            case Membership():
                return self._membership(tree)
            case Call():
                return self._predicate(tree)

    def _junction(self, operator: Literal["AND", "OR"], tests: tuple[Test, ...]) -> Test:
        for _ in tests[1:]:
            self._compilation.count_operator()
        if len(tests) == 2:
            first, second = tests
            if operator == "AND":
                return lambda item, bindings: first(item, bindings) and second(item, bindings)
            return lambda item, bindings: first(item, bindings) or second(item, bindings)
        together = all if operator == "AND" else any
        return lambda item, bindings: together(test(item, bindings) for test in tests)

    def _operands(self, operands: Iterable[Operand]) -> list[CompiledOperand]:
        compiled = [compile_operand(operand, self._compilation) for operand in operands]
        self._compilation.count_operator()
        return compiled

    def _comparison(self, tree: Comparison) -> Test:
        left, right = self._operands(tree.operands)
        if tree.operator in _ORDERINGS:
            self._require_order(tree.operator, left, right)
        self._require_distinct(tree.operator, left, right)
        return _compare(tree.operator, left, right)

    def _between(self, tree: Between) -> Test:
        operand, low, high = self._operands(tree.operands)
        self._require_order("BETWEEN", operand, low, high)
        self._require_distinct("BETWEEN", operand, low, high)
        if low.value is not None and high.value is not None:
            least, most = low.value.placeholder, high.value.placeholder
            self._compilation.check_content(
                lambda bindings: _check_bounds(bindings.values[least], bindings.values[most])
            )
        above, below = _compare(">=", operand, low), _compare("<=", operand, high)
        return lambda item, bindings: above(item, bindings) and below(item, bindings)

    def _membership(self, tree: Membership) -> Test:
        operand, *choices = self._operands(tree.operands)
        if len(choices) > limits.EXPRESSION_IN_OPERANDS:
            raise InvalidExpression(
                f"The IN operator is provided with too many operands; number of operands: {len(choices)}"
            )
        self._require_distinct("IN", operand, *choices)
        get = operand.get
        constants = tuple(choice.value.placeholder for choice in choices if choice.value is not None)
        getters = tuple(choice.get for choice in choices if choice.value is None)
        self._compilation.evaluations += len(getters)

        def is_member(item: Item, bindings: Bindings) -> bool:
            value = get(item, bindings)
            if value is None:
                return False
            return value in bindings.members(constants) or any(value == choice(item, bindings) for choice in getters)

        return is_member

    def _predicate(self, tree: Call) -> Test:
        arguments = self._operands(tree.arguments)
        predicate = FUNCTIONS[tree.function]
        if len(arguments) != predicate.operands:
            raise errors.operand_count(tree.function, len(arguments))
        test = predicate.compile(arguments, self._compilation)
        self._require_distinct(tree.function, *arguments)
        return test

    def _require_order(self, operator: str, *operands: CompiledOperand) -> None:
        for operand in operands:
            operand.require_type(self._compilation, ORDERED_TYPES, operator)

    def _require_distinct(self, operator: str, first: CompiledOperand, *rest: CompiledOperand) -> None:
        path, others = first.path, [operand.path for operand in rest if operand.path is not None]
        if path is not None and others:
            self._compilation.require_distinct(path, others, operator)


def _compare(comparator: str, left: CompiledOperand, right: CompiledOperand) -> Test:
    """Values are canonical, so equal values are equal dictionaries."""
    a, b = left.get, right.get
    if comparator == "=":
        if right.value is not None:
            placeholder = right.value.placeholder
            return lambda item, bindings: a(item, bindings) == bindings.values[placeholder]
        return lambda item, bindings: (value := a(item, bindings)) is not None and value == b(item, bindings)
    if comparator == "<>":
        return lambda item, bindings: (value := a(item, bindings)) is None or value != b(item, bindings)
    holds = _ORDERINGS[comparator]

    def is_ordered(item: Item, bindings: Bindings) -> bool:
        x, y = a(item, bindings), b(item, bindings)
        if x is None or y is None:
            return False
        order = compare(x, y)
        return order is not None and holds(order, 0)

    return is_ordered


def _check_bounds(low: AttributeValue, high: AttributeValue) -> None:
    order = compare(low, high)
    if order is None:
        rule = "same data type for lower and upper bounds"
    elif order > 0:
        rule = "upper bound to be greater than or equal to lower bound"
    else:
        return
    raise InvalidExpression(
        f"The BETWEEN operator requires {rule}; "
        f"lower bound operand: AttributeValue: {_spell_value(low)}, "
        f"upper bound operand: AttributeValue: {_spell_value(high)}"
    )


def _spell_value(value: AttributeValue) -> str:
    ((tag, content),) = value.items()
    return f"{{{tag}:{content}}}"


class Function(NamedTuple):
    """A function that is a condition."""

    operands: int
    compile: Callable[[Sequence[CompiledOperand], Compilation], Test]


def _attribute_exists(arguments: Sequence[CompiledOperand], _compilation: Compilation) -> Test:
    get = _require_path("attribute_exists", arguments[0])
    return lambda item, bindings: get(item, bindings) is not None


def _attribute_not_exists(arguments: Sequence[CompiledOperand], _compilation: Compilation) -> Test:
    get = _require_path("attribute_not_exists", arguments[0])
    return lambda item, bindings: get(item, bindings) is None


def _require_path(function: str, operand: CompiledOperand) -> Getter:
    if operand.path is None:
        raise errors.not_a_path(function)
    return operand.get


def _attribute_type(arguments: Sequence[CompiledOperand], compilation: Compilation) -> Test:
    operand, wanted = arguments
    if wanted.value is None:
        raise errors.operand_type("attribute_type", wanted.type or _ANY_TYPE)
    compilation.require_type(wanted.value, _TEXT, "attribute_type")
    placeholder, get = wanted.value.placeholder, operand.get
    compilation.check_content(lambda bindings: _check_type_name(bindings.values[placeholder]["S"]))

    def has_type(item: Item, bindings: Bindings) -> bool:
        value = get(item, bindings)
        return value is not None and bindings.values[placeholder]["S"] in value

    return has_type


def _check_type_name(tag: str) -> None:
    if tag not in _TYPES:
        raise InvalidExpression(f"Invalid attribute type name found; type: {tag}, valid types: {{{','.join(_TYPES)}}}")


def _begins_with(arguments: Sequence[CompiledOperand], compilation: Compilation) -> Test:
    for operand in arguments:
        operand.require_type(compilation, PREFIX_TYPES, "begins_with")
    whole, start = arguments[0].get, arguments[1].get

    def begins_with(item: Item, bindings: Bindings) -> bool:
        value, prefix = whole(item, bindings), start(item, bindings)
        if value is None or prefix is None:
            return False
        if "S" in value and "S" in prefix:
            text: str = value["S"]
            return text.startswith(prefix["S"])
        if "B" in value and "B" in prefix:
            return _begins_with_binary(value["B"], prefix["B"])
        return False

    return begins_with


def _begins_with_binary(text: str, prefix: str) -> bool:
    """Whole groups of three bytes are compared as text; only the last group is decoded."""
    whole = max(len(prefix) // _GROUP - 1, 0) * _GROUP
    last = slice(whole, whole + _GROUP)
    return text[:whole] == prefix[:whole] and a2b_base64(text[last]).startswith(a2b_base64(prefix[last]))


def _contains(arguments: Sequence[CompiledOperand], _compilation: Compilation) -> Test:
    container, part = arguments
    raw_container, raw_part = _raw(container), _raw(part)

    def contains(item: Item, bindings: Bindings) -> bool:
        whole, wanted = container.get(item, bindings), part.get(item, bindings)
        if whole is None or wanted is None:
            return False
        if "B" in whole and "B" in wanted:
            return raw_part(wanted, bindings) in raw_container(whole, bindings)
        return _holds(whole, wanted)

    return contains


def _raw(operand: CompiledOperand) -> Callable[[AttributeValue, Bindings], bytes]:
    """Decodes the operand's binary. A request's value is decoded once; an item's, once while it is evaluated."""
    if operand.value is None:
        return lambda value, _bindings: _decoded(value["B"])
    placeholder = operand.value.placeholder
    return lambda _value, bindings: bindings.raw(placeholder)


_decoded = lru_cache(maxsize=8)(a2b_base64)
"""Few: the same object is looked up again and again, which compares no bytes, while one item is evaluated."""


def _holds(whole: AttributeValue, wanted: AttributeValue) -> bool:
    tag, wanted_tag = type_of(whole), type_of(wanted)
    content, sought = whole[tag], wanted[wanted_tag]
    if tag == "L":
        return wanted in content
    if tag in _ELEMENT_TYPES:
        return wanted_tag == _ELEMENT_TYPES[tag] and sought in content
    return tag == wanted_tag == "S" and sought in content


FUNCTIONS: Final = {
    "attribute_exists": Function(1, _attribute_exists),
    "attribute_not_exists": Function(1, _attribute_not_exists),
    "attribute_type": Function(2, _attribute_type),
    "begins_with": Function(2, _begins_with),
    "contains": Function(2, _contains),
}
