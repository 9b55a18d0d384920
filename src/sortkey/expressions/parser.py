"""Text to tokens to tree, by recursive descent.

    condition   := conjunction (OR conjunction)*             AND binds tighter than OR, NOT tighter than AND
    conjunction := negation (AND negation)*
    negation    := NOT* predicate
    predicate   := "(" condition ")" | call | operand (comparator operand | BETWEEN … AND … | IN (…))
    operand     := path | :value | call | "(" operand ")"
    update      := (SET set, … | REMOVE path, … | ADD path :value, … | DELETE path :value, …)+
    projection  := path, …

Whether a parenthesis opens a condition or an operand is known only after the first operand inside it.

Nesting is bounded, so that no text can exhaust the interpreter's stack: each level of parentheses that is not redundant
contains an operator, each call and each NOT is one, and at most 300 operators are allowed. A level takes at most two
calls here, and a node of the tree one call in the functions that walk it (`tree_checks`, `condition`, `update`). With 4
KB of text, that makes 650 calls at most; the interpreter allows 1000.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, cast

from sortkey import limits
from sortkey.expressions import tree_checks
from sortkey.expressions.errors import InvalidExpression, too_many_operators
from sortkey.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Between,
    Call,
    Comparator,
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

_COMPARATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">="})
_SECTIONS: Final = ("SET", "REMOVE", "ADD", "DELETE")
_REDUNDANT: Final = "The expression has redundant parentheses;"


def parse_condition(text: str) -> Condition:
    parser = _Parser(text)
    condition = parser.condition()
    parser.expect("end")
    tree_checks.check_condition(condition)
    return condition


def parse_update(text: str) -> tuple[Action, ...]:
    return _Parser(text).update()


def parse_projection(text: str) -> tuple[Path, ...]:
    parser = _Parser(text)
    paths = [parser.path()]
    while parser.accept(","):
        paths.append(parser.path())
    parser.expect("end")
    for path in paths:
        tree_checks.check_path(path)
    return tuple(paths)


class _Parser:
    """One pass over one text; every method leaves `_position` after what it has read."""

    def __init__(self, text: str) -> None:
        if not text:
            raise InvalidExpression("The expression can not be empty;")
        if len(text) > limits.EXPRESSION_BYTES:
            raise InvalidExpression(
                f"Expression size has exceeded the maximum allowed size; expression size: {len(text)}"
            )
        self._text = text
        self._tokens = tokens(text)
        self._position = 0
        self._depth = 0
        """Parentheses and calls that are open."""
        self._negations = 0
        """NOTs that are open."""
        self._last_group = (-1, -1)
        """Start and end of the group that closed last; a group around just that one is redundant."""

    # reading tokens

    @property
    def _token_type(self) -> str:
        return self._tokens[self._position].type

    def accept(self, token_type: str) -> bool:
        if self._token_type != token_type:
            return False
        self._position += 1
        return True

    def expect(self, token_type: str) -> str:
        if self._token_type != token_type:
            raise self._syntax_error()
        self._position += 1
        return self._tokens[self._position - 1].text

    def _syntax_error(self) -> InvalidExpression:
        token = self._tokens[self._position]
        near = vicinity(self._text, self._tokens, self._position)
        return InvalidExpression(f'Syntax error; token: "{token.text}", near: "{near}"')

    # conditions

    def condition(self) -> Condition:
        return self._require_condition(self._condition_or_operand())

    def _condition_or_operand(self) -> Condition | Operand:
        """A condition, or an operand if no comparison follows it."""
        first = self._negation()
        if self._token_type not in ("AND", "OR") or isinstance(first, Path | Value):
            return first
        disjuncts: list[Condition] = []
        conjuncts: list[Condition] = [first]
        while self._token_type in ("AND", "OR"):
            if self.accept("OR"):
                disjuncts.append(_junction("AND", conjuncts))
                conjuncts = []
            else:
                self._position += 1
            conjuncts.append(self._require_condition(self._negation()))
        disjuncts.append(_junction("AND", conjuncts))
        return _junction("OR", disjuncts)

    def _require_condition(self, parsed: Condition | Operand) -> Condition:
        if isinstance(parsed, Path | Value):
            raise self._syntax_error()
        return parsed

    def _negation(self) -> Condition | Operand:
        negations = 0
        while self.accept("NOT"):
            negations += 1
        self._negations += negations
        if self._negations > limits.EXPRESSION_OPERATORS:
            raise too_many_operators()
        left: Condition | Operand
        if self._token_type == "(":
            opened = self._open()
            left = self._condition_or_operand()
            self._close(opened)
        else:
            left = self.operand()
        predicate = self._predicate(left)
        self._negations -= negations
        if not negations:
            return predicate
        condition = self._require_condition(predicate)
        for _ in range(negations):
            condition = Not(condition)
        return condition

    def _predicate(self, left: Condition | Operand) -> Condition | Operand:
        """The comparison that `left` begins; `left` itself if there is none."""
        if not isinstance(left, Operand):
            return left
        comparator = self._token_type
        if comparator in _COMPARATORS:
            self._position += 1
            return Comparison(cast(Comparator, comparator), left, self.operand())
        if self.accept("BETWEEN"):
            low = self.operand()
            self.expect("AND")
            return Between(left, low, self.operand())
        if self.accept("IN"):
            self.expect("(")
            return Membership(left, self._operands())
        return left

    # operands

    def operand(self) -> Operand:
        match self._token_type:
            case "name" if self._tokens[self._position + 1].type == "(":
                function = self.expect("name")
                self.expect("(")
                self._deepen()
                arguments = self._operands()
                self._depth -= 1
                return Call(function, arguments)
            case "name" | "#name":
                return self.path()
            case ":value":
                return Value(self.expect(":value"))
            case "(":
                opened = self._open()
                inside = self.operand()
                self._close(opened)
                return inside
            case _:
                raise self._syntax_error()

    def _operands(self) -> tuple[Operand, ...]:
        operands = [self.operand()]
        while self.accept(","):
            operands.append(self.operand())
        self.expect(")")
        return tuple(operands)

    def path(self) -> Path:
        parts: list[str | int] = [self._name()]
        while True:
            if self.accept("."):
                parts.append(self._name())
            elif self.accept("["):
                parts.append(int(self.expect("index")))
                self.expect("]")
            else:
                return Path(tuple(parts))

    def _name(self) -> str:
        return self.expect("#name" if self._token_type == "#name" else "name")

    # groups

    def _open(self) -> int:
        self.expect("(")
        self._deepen()
        return self._position

    def _close(self, opened: int) -> None:
        encloses_just_a_group = self._last_group == (opened + 1, self._position)
        self.expect(")")
        self._depth -= 1
        if encloses_just_a_group:
            raise InvalidExpression(_REDUNDANT)
        self._last_group = (opened, self._position)

    def _deepen(self) -> None:
        self._depth += 1
        if self._depth > limits.EXPRESSION_OPERATORS:
            doubled = self._tokens[self._position - 2].type == "("
            raise InvalidExpression(_REDUNDANT) if doubled else too_many_operators()

    # updates

    def update(self) -> tuple[Action, ...]:
        sections: list[str] = []
        actions: list[Action] = []
        while self._token_type != "end" or not sections:
            section = self._token_type
            if section not in _SECTIONS:
                raise self._syntax_error()
            self._position += 1
            sections.append(section)
            actions.append(self._action(section))
            while self.accept(","):
                actions.append(self._action(section))
        tree_checks.check_update(actions)
        for section in _SECTIONS:
            if sections.count(section) > 1:
                raise InvalidExpression(f'The "{section}" section can only be used once in an update expression;')
        return tuple(actions)

    def _action(self, section: str) -> Action:
        path = self.path()
        match section:
            case "SET":
                self.expect("=")
                return Set(path, self._assigned())
            case "REMOVE":
                return Remove(path)
            case "ADD":
                return Add(path, Value(self.expect(":value")))
            case _:
                return Delete(path, Value(self.expect(":value")))

    def _assigned(self) -> Operand | Arithmetic:
        left: Operand | Arithmetic
        if self._token_type == "(":
            opened = self._open()
            left = self._assigned()
            self._close(opened)
        else:
            left = self.operand()
        if self._token_type not in ("+", "-") or isinstance(left, Arithmetic):
            return left
        operator = cast(Literal["+", "-"], self._token_type)
        self._position += 1
        return Arithmetic(operator, left, self.operand())


def _junction(operator: Literal["AND", "OR"], conditions: list[Condition]) -> Condition:
    return conditions[0] if len(conditions) == 1 else Junction(operator, tuple(conditions))


KEYWORDS: Final = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
_TOKEN: Final = re.compile(
    r"""
      (?P<space>[ \t\r\n\f]+)
    | (?P<name>[A-Za-z][A-Za-z0-9_]*)
    | (?P<alias>\#[A-Za-z0-9_]+)
    | (?P<value>:[A-Za-z0-9_]+)
    | (?P<index>0|[1-9][0-9]*)
    | (?P<sign><=|>=|<>|[=<>+\-.,()\[\]])
    | (?P<unknown>.)
    """,
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """A token's type is "name", "#name", ":value", "index", "end" or "unknown" (a character that no expression may
    have). For keywords and signs it is the word itself in upper case."""

    type: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The tokens of a text; the last has the type "end"."""
    found = [
        Token(_type(match.lastgroup, match.group()), match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastgroup != "space"
    ]
    found.append(Token("end", "<EOF>", len(text), len(text)))
    return found


def _type(group: str | None, word: str) -> str:
    match group:
        case "name":
            upper = word.upper()
            return upper if upper in KEYWORDS else "name"
        case "alias":
            return "#name"
        case "value":
            return ":value"
        case "index":
            return "index"
        case "sign":
            return word
        case _:
            return "unknown"


def vicinity(text: str, found: list[Token], position: int) -> str:
    """The text around a token as error messages quote it: from the token before to the token after."""
    start = found[position - 1].start if position else 0
    last = min(position + 1, len(found) - 1)
    return text[start : found[last].end]
