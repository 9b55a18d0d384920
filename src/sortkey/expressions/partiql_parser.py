"""PartiQL: text to tokens to a statement, by recursive descent; expressions by the precedence of their operators.

    select := SELECT (* | path, …) FROM source [WHERE expression] [ORDER BY name [ASC | DESC], …]
    insert := INSERT INTO source VALUE {'name': expression, …}
    update := UPDATE source (SET path = expression, … | REMOVE path)+ [WHERE expression] [RETURNING …]
    delete := DELETE FROM source [WHERE expression] [RETURNING ALL OLD *]
    exists := EXISTS(select)
    source := name | name.name

What DynamoDB lacks of PartiQL is rejected with its messages. A text that is no PartiQL at all is rejected with AWS's
first words; what follows them is ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, cast

from sortkey.errors import ValidationException
from sortkey.expressions import errors
from sortkey.expressions.compilation import cached_by_text
from sortkey.expressions.partiql_lexer import Token, check_unicode, not_well_formed, place, tokens
from sortkey.expressions.partiql_tree import (
    MIXED_SET,
    Delete,
    Exists,
    Insert,
    ListTemplate,
    MapTemplate,
    Order,
    Parameter,
    Returning,
    Scalar,
    Select,
    SetTemplate,
    Statement,
    Template,
    Update,
)
from sortkey.expressions.tree import (
    Action,
    Add,
    Arithmetic,
    Between,
    Call,
    Comparator,
    Comparison,
    Condition,
    Junction,
    Membership,
    Not,
    Operand,
    Path,
    Predicate,
    Remove,
    Set,
    Value,
)
from sortkey.expressions.tree import Delete as DeleteElements
from sortkey.expressions.tree_checks import PREDICATES, UPDATE_FUNCTIONS

DEEPEST: Final = 100
"""Parentheses, calls, lists and NOTs that are open. A level takes three calls here, and one where trees are walked."""

_SET_FUNCTIONS: Final[dict[str, type[Add] | type[DeleteElements]]] = {"set_add": Add, "set_delete": DeleteElements}
_FUNCTIONS: Final = PREDICATES | UPDATE_FUNCTIONS | _SET_FUNCTIONS.keys() | {"size"}
_SIZE: Final = frozenset({"size"})
_LITERALS: Final = {"TRUE": {"BOOL": True}, "FALSE": {"BOOL": False}, "NULL": {"NULL": True}}
_VALUES: Final = _LITERALS.keys() | {"string", "number", "ion", "?", "(", "[", "{", "<<", "MISSING", "NOT"}
"""Tokens that begin an expression other than a path or a call."""
_COMPARATORS: Final[dict[str, Comparator]] = {
    "=": "=",
    "<>": "<>",
    "!=": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY = range(1, 7)
_PRECEDENCE: Final = {
    "OR": _OR,
    "AND": _AND,
    **dict.fromkeys((*_COMPARATORS, "IN", "BETWEEN", "IS", "LIKE", "NOT"), _COMPARE),
    **dict.fromkeys(("+", "-", "||"), _ADD),
    **dict.fromkeys(("*", "/", "%"), _MULTIPLY),
}
_RETURNING: Final[dict[tuple[str, str], Returning]] = {
    ("ALL", "OLD"): "ALL_OLD",
    ("ALL", "NEW"): "ALL_NEW",
    ("MODIFIED", "OLD"): "UPDATED_OLD",
    ("MODIFIED", "NEW"): "UPDATED_NEW",
}
LARGEST_INDEX: Final = 2**31 - 1
"""Of a list in a statement; expressions may have larger ones."""
_EMPTY_COMPONENT: Final = "Path component cannot be an empty string"
_INDEX_DIGITS: Final = len(str(LARGEST_INDEX))
_NAME: Final = re.compile(r"[a-zA-Z0-9_.-]{3,255}")
_ARN: Final = "arn:"
_BARE_POINT: Final = re.compile(r"\.(?=[eE]|$)")
_NOT_BOOLEAN: Final = "WHERE clause must contain an expression that resolves to a boolean"
_NO_CHOICES: Final = (
    "IN operator must have a left hand argument of type Variable Reference and right hand argument of type Seq "
    "with at least one member"
)

Node = Condition | Operand | Arithmetic | Template


@cached_by_text
def parse_statement(text: str) -> Statement:
    """Raises ValidationException; SerializationException for what is no Unicode."""
    try:
        return _Parser(text).statement()
    except errors.InvalidExpression as error:
        raise ValidationException(str(error)) from None


class _Parser:
    """One pass over one text; every method leaves `_position` after what it has read."""

    def __init__(self, text: str) -> None:
        check_unicode(text)
        self._text = text
        self._tokens = tokens(text)
        self._position = 0
        self._depth = 0
        self._parameters = 0
        self._names: dict[str, str] = {}
        self._values: dict[str, Template] = {}
        self._updates = False
        """Whether expressions are values to set, not conditions."""

    # reading tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._position]

    @property
    def _next(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def _take(self) -> Token:
        if self._token.type == "end":
            raise self._unexpected()
        self._position += 1
        return self._tokens[self._position - 1]

    def _accept(self, token_type: str) -> bool:
        if self._token.type != token_type:
            return False
        self._position += 1
        return True

    def _expect(self, *token_types: str) -> Token:
        for token_type in token_types:
            if self._token.type != token_type:
                raise self._unexpected()
            self._position += 1
        return self._tokens[self._position - 1]

    def _unexpected(self) -> ValidationException:
        token = self._token
        if token.type == "end":
            return not_well_formed("Unexpected end of statement")
        return not_well_formed(f"Unexpected token {self._text[token.start : token.end]} {place(self._text, token)}")

    # statements

    def statement(self) -> Statement:
        body: Select | Exists | Insert | Update | Delete
        match self._token.type:
            case "SELECT":
                source, body = self._select()
            case "INSERT":
                source, body = self._insert()
            case "UPDATE":
                source, body = self._update()
            case "DELETE":
                source, body = self._delete()
            case "EXISTS":
                self._take()
                self._expect("(")
                source, select = self._select()
                self._expect(")")
                body = Exists(select)
            case "CREATE" | "DROP" if self._next.type in ("TABLE", "INDEX"):
                verb, thing = self._take().value.capitalize(), self._take().value.capitalize()
                raise ValidationException(f"Unsupported operation: {verb}{thing}")
            case "NOT" if self._next.type == "EXISTS":
                raise ValidationException("Unsupported operation in transaction.")
            case "name" if self._next.type == "end":
                raise ValidationException("Unsupported operation: VariableReference")
            case "end":
                raise self._unexpected()
            case _:
                raise not_well_formed("Expected data manipulation")
        self._accept(";")
        self._expect("end")
        spot = (source.start, source.end)
        return Statement(self._text, source.value, spot, body, self._names, self._values)

    def _select(self) -> tuple[Token, Select]:
        self._expect("SELECT")
        if self._token.type == "DISTINCT":
            raise ValidationException("Unsupported token in expression: DISTINCT")
        if self._token.type in ("VALUE", "PIVOT"):
            raise ValidationException("Select projection doesn't support value or pivot keywords")
        paths = None if self._accept("*") else self._selected()
        self._expect("FROM")
        source, index = self._source()
        if self._token.type == ",":
            raise ValidationException("Only select from a single table or index is supported.")
        where = self._where()
        order = self._order()
        if self._token.type == "GROUP":
            raise ValidationException("Unsupported clause: GROUP BY")
        if self._token.type in ("HAVING", "LIMIT"):
            clause = self._take().type
            raise ValidationException(f"Unsupported clause: {clause} {place(self._text, self._token)}")
        if order and where is None:
            raise ValidationException("Must have WHERE clause in the statement when using ORDER BY clause.")
        return source, Select(index, paths, where, order)

    def _selected(self) -> tuple[Path, ...]:
        paths = [self._selected_path()]
        while self._accept(","):
            paths.append(self._selected_path())
        shown: set[str] = set()
        for path in paths:
            name = shown_name(path, self._names)
            if name in shown:
                raise ValidationException(f"Duplicate identifiers in select clause: {name}")
            shown.add(name)
        return tuple(paths)

    def _selected_path(self) -> Path:
        token = self._token
        calls = self._next.type == "(" and not token.quoted
        if token.type != "name" or calls:
            raise self._not_a_path(token) if calls or token.type in _VALUES else self._unexpected()
        path = self._path()
        if self._token.type in ("+", "-", "*", "/", "%", "||"):
            raise self._not_a_path(self._token)
        if self._token.type == "AS" or (self._token.type == "name" and self._next.type in ("FROM", ",")):
            raise ValidationException("Aliasing is not supported")
        return path

    def _not_a_path(self, token: Token) -> ValidationException:
        return ValidationException(f"Unexpected path component {place(self._text, token)}")

    def _source(self) -> tuple[Token, str | None]:
        """The token of the table's name, and the name of the index."""
        if self._token.type in ("string", "(", "MISSING", "NULL", "?"):
            raise ValidationException("Unexpected from source")
        parts = [self._expect("name")]
        while self._accept("."):
            parts.append(self._expect("name"))
        if len(parts) > 2:
            raise ValidationException("A path may contain at most 2 components in the FROM clause")
        for part in parts:
            _check_name(part.value)
        if self._token.type == "AS" or (self._token.type == "name" and self._next.type not in ("name", "number")):
            raise ValidationException("Aliasing is not supported")
        return parts[0], parts[1].value if len(parts) > 1 else None

    def _where(self) -> Condition | None:
        if not self._accept("WHERE"):
            return None
        self._updates = False
        node = self._expression(_OR)
        if not _is_condition(node):
            raise ValidationException(_NOT_BOOLEAN)
        return cast(Condition, node)

    def _order(self) -> tuple[Order, ...]:
        if not self._accept("ORDER"):
            return ()
        self._expect("BY")
        keys = [self._order_key()]
        while self._accept(","):
            keys.append(self._order_key())
        return tuple(keys)

    def _order_key(self) -> Order:
        name = self._expect("name").value
        forward = not self._accept("DESC")
        if forward:
            self._accept("ASC")
        return Order(name, forward)

    def _insert(self) -> tuple[Token, Insert]:
        self._expect("INSERT", "INTO")
        source, index = self._source()
        if index is not None:
            raise ValidationException(
                "FROM clause may only contain a single table name in data manipulation statements"
            )
        self._expect("VALUE")
        first = self._token
        item = self._expression(_OR) if first.type in ("{", "(") else None
        if not isinstance(item, MapTemplate):
            raise ValidationException(
                "Unsupported format in item expression. Please use struct format {...} to express item values for "
                f"insert statement. {place(self._text, first)}"
            )
        if self._token.type == "RETURNING":
            raise ValidationException("RETURNING is not supported in INSERT")
        return source, Insert(item)

    def _update(self) -> tuple[Token, Update]:
        self._expect("UPDATE")
        source = self._table()
        actions: list[Action] = []
        while self._token.type in ("SET", "REMOVE") or not actions:
            if self._accept("REMOVE"):
                actions.append(Remove(self._path()))
                continue
            self._expect("SET")
            actions.append(self._assignment())
            while self._accept(","):
                actions.append(self._assignment())
        where = self._where()
        return source, Update(tuple(actions), where, self._returning())

    def _delete(self) -> tuple[Token, Delete]:
        self._expect("DELETE", "FROM")
        source = self._table()
        where = self._where()
        start = self._token.start
        returning = self._returning()
        if returning not in (None, "ALL_OLD"):
            clause = self._text[start : self._tokens[self._position - 1].end]
            raise ValidationException(
                f"Invalid returning clause: {clause}. Only RETURNING ALL OLD * is allowed in DELETE statements."
            )
        return source, Delete(where, returning)

    def _table(self) -> Token:
        source, index = self._source()
        if index is not None:
            raise ValidationException("This operation is not supported on an index")
        return source

    def _returning(self) -> Returning | None:
        if not self._accept("RETURNING"):
            return None
        which = self._token.type, self._next.type
        if which not in _RETURNING:
            raise self._unexpected()
        self._position += 2
        if self._token.type == "name":
            raise ValidationException("Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause")
        self._expect("*")
        return _RETURNING[which]

    # values to set

    def _assignment(self) -> Action:
        self._updates = True
        path = self._path()
        self._expect("=")
        node = self._expression(_OR)
        if isinstance(node, Call) and node.function in _SET_FUNCTIONS:
            return self._change_of_set(path, node)
        return Set(path, self._assigned(node))

    def _change_of_set(self, path: Path, call: Call) -> Action:
        name = call.function.upper()
        if len(call.arguments) != 2:
            raise errors.operand_count(call.function, len(call.arguments))
        first, second = call.arguments
        if first != path:
            raise ValidationException(f"The first argument to {name} must equal the assignment value")
        if not isinstance(second, Value):
            raise ValidationException(f"The second argument to {name} must be a value with type SET")
        return _SET_FUNCTIONS[call.function](path, second)

    def _assigned(self, node: Node) -> Operand | Arithmetic:
        return node if isinstance(node, Arithmetic) else self._operand(node)

    # expressions

    def _expression(self, least: int) -> Node:
        """An expression of operators that bind at least so tightly."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise errors.too_many_operators()
        left = self._prefix()
        while (precedence := _PRECEDENCE.get(self._token.type, 0)) >= least:
            if self._token.type == "NOT" and self._next.type not in ("IN", "BETWEEN", "LIKE"):
                break
            left = self._infix(left, precedence)
        self._depth -= 1
        return left

    def _prefix(self) -> Node:
        token = self._token
        match token.type:
            case "name" | "SIZE" if self._next.type == "(" and not token.quoted:
                return self._call()
            case "name":
                return self._path()
            case "string":
                return Scalar({"S": self._take().value})
            case "number":
                return self._number("")
            case "TRUE" | "FALSE" | "NULL":
                return Scalar(_LITERALS[self._take().type])
            case "?":
                self._take()
                self._parameters += 1
                return Parameter(self._parameters - 1)
            case "-" | "+":
                return self._signed()
            case "[":
                return ListTemplate(tuple(self._elements("[", "]", self._constant)))
            case "<<":
                return self._set_literal()
            case "{":
                return self._map()
            case "(":
                return self._group()
            case "NOT":
                return self._negation()
            case "SELECT":
                raise ValidationException(f"Unsupported token in expression: SELECT {place(self._text, token)}")
            case "EXISTS" if self._next.type == "(":
                self._take()
                self._take()
                return self._prefix()
            case "MISSING":
                raise ValidationException("MISSING must be compared using IS operator")
            case "ion":
                raise ValidationException(f"Ion Literals are not supported {place(self._text, token)}")
            case _:
                raise self._unexpected()

    def _number(self, sign: str) -> Scalar:
        text = _BARE_POINT.sub("", self._expect("number").value)
        return Scalar({"N": f"{sign}0{text}" if text[0] == "." else sign + text})

    def _signed(self) -> Node:
        sign = self._take().type
        if self._token.type == "number":
            return self._number(sign.replace("+", ""))
        self._expression(_MULTIPLY)
        raise errors.operand_count(sign, 1)

    def _elements(self, opening: str, closing: str, element: Callable[[], Template]) -> list[Template]:
        self._expect(opening)
        found: list[Template] = []
        while not self._accept(closing):
            if found:
                self._expect(",")
            found.append(element())
        return found

    def _constant(self) -> Template:
        """What a list, a set or a map may have: no attributes, and nothing that is computed."""
        token = self._token
        if token.type == "MISSING":
            raise ValidationException(f"Unsupported data type: MISSING {place(self._text, token)}")
        node = self._expression(_OR)
        if not isinstance(node, Template):
            found = "VariableReference" if isinstance(node, Path) else self._text[token.start : token.end]
            raise ValidationException(f"Unsupported data type: {found} {place(self._text, token)}")
        return node

    def _set_literal(self) -> SetTemplate:
        token = self._token
        elements = tuple(self._elements("<<", ">>", self._set_element))
        if not elements:
            raise ValidationException(f"Empty bags are not supported {place(self._text, token)}")
        return SetTemplate(elements)

    def _set_element(self) -> Template:
        start, token = self._position, self._token
        element = self._constant()
        is_element = isinstance(element, Scalar) and element.value.keys() <= {"S", "N"}
        if not is_element and not isinstance(element, Parameter):
            is_first = self._tokens[start - 1].type == "<<"
            raise ValidationException(f"{MIXED_SET} {place(self._text, token)}" if is_first else MIXED_SET)
        return element

    def _map(self) -> MapTemplate:
        self._expect("{")
        members: dict[str, Template] = {}
        while not self._accept("}"):
            if members:
                self._expect(",")
            token = self._take()
            if token.type == "name":
                raise ValidationException(
                    f"Tuple keys must be of type String. Actual type: VariableReference {place(self._text, token)}"
                )
            if token.type != "string":
                self._position -= 1
                raise self._unexpected()
            if not token.value:
                raise ValidationException(_EMPTY_COMPONENT)
            if token.value in members:
                raise ValidationException(f"Duplicate keys in tuple. Key: {token.value} {place(self._text, token)}")
            self._expect(":")
            members[token.value] = self._constant()
        return MapTemplate(members)

    def _group(self) -> Node:
        """An expression in parentheses; several of them are a list, for IN."""
        self._expect("(")
        first = self._expression(_OR)
        if self._token.type != ",":
            self._expect(")")
            return first
        found = [first]
        while self._accept(","):
            found.append(self._expression(_OR))
        self._expect(")")
        constants = [node for node in found if isinstance(node, Template)]
        if len(constants) < len(found):
            raise ValidationException("Unsupported data type: VariableReference")
        return ListTemplate(tuple(constants))

    def _negation(self) -> Node:
        self._expect("NOT")
        node = self._expression(_NOT)
        if not _is_condition(node):
            raise ValidationException("The argument to NOT must be a Type or Expression")
        return Not(cast(Condition, node))

    def _call(self) -> Call:
        name = self._take().value
        function = name.lower()
        if function not in _FUNCTIONS:
            raise ValidationException(f"Unrecognized function: {name}")
        for_updates = function in UPDATE_FUNCTIONS or function in _SET_FUNCTIONS
        if for_updates is not self._updates:
            kind = "an update" if self._updates else "a condition"
            raise ValidationException(f"The function is not allowed in {kind} expression; function: {function}")
        self._expect("(")
        arguments: list[Operand] = []
        while not self._accept(")"):
            if arguments:
                self._expect(",")
            arguments.append(self._operand(self._expression(_OR)))
        return Call(function, tuple(arguments))

    def _operand(self, node: Node) -> Operand:
        match node:
            case Path() | Value():
                return node
            case Call() if node.function in (UPDATE_FUNCTIONS if self._updates else _SIZE):
                return node
            case Call():
                raise ValidationException(
                    f"The function is not allowed to be used this way in an expression; function: {node.function}"
                )
            case Arithmetic():
                raise self._unsupported(node.operator)
            case Scalar() | Parameter() | ListTemplate() | MapTemplate() | SetTemplate():
                placeholder = f":{len(self._values)}"
                self._values[placeholder] = node
                return Value(placeholder)
            case _:
                raise ValidationException("The operands of an expression must not be conditions")

    def _unsupported(self, operator: str) -> ValidationException:
        kind = "Update" if self._updates else "Condition"
        return ValidationException(f"Unsupported operator in {kind} Expression. Operator: {operator}")

    def _infix(self, left: Node, precedence: int) -> Node:
        sign = self._take().type
        if self._updates and precedence not in (_ADD, _MULTIPLY):
            raise self._unsupported(sign.lower())
        match sign:
            case "AND" | "OR":
                return self._junction(sign, left, self._expression(precedence + 1))
            case "NOT":
                return Not(cast(Predicate, self._infix(left, precedence)))
            case "IS":
                return self._type_test(left)
            case "IN":
                return self._membership(left)
            case "BETWEEN":
                low = self._operand(self._expression(_ADD))
                self._expect("AND")
                return Between(self._operand(left), low, self._operand(self._expression(_ADD)))
            case "+" | "-" if self._updates:
                right = self._expression(precedence + 1)
                return Arithmetic(sign, self._assigned(left), self._assigned(right))
            case sign if sign in _COMPARATORS:
                operands = self._operand(left), self._operand(self._expression(_ADD))
                return Comparison(_COMPARATORS[sign], *operands)
            case _:
                self._expression(precedence + 1)
                raise self._unsupported(sign.lower())

    def _junction(self, operator: Literal["AND", "OR"], left: Node, right: Node) -> Junction:
        parts: list[Condition] = []
        for node in (left, right):
            if not _is_condition(node):
                raise ValidationException(_NOT_BOOLEAN)
            condition = cast(Condition, node)
            same = isinstance(condition, Junction) and condition.operator == operator
            parts += cast(Junction, condition).conditions if same else (condition,)
        return Junction(operator, tuple(parts))

    def _type_test(self, left: Node) -> Condition:
        negated = self._accept("NOT")
        if not isinstance(left, Path):
            raise ValidationException(
                "The left hand side argument to IS must be a Variable Reference, Literal, or Path"
            )
        if self._accept("MISSING"):
            return Call("attribute_exists" if negated else "attribute_not_exists", (left,))
        self._expect("NULL")
        is_null = Call("attribute_type", (left, self._operand(Scalar({"S": "NULL"}))))
        return Not(is_null) if negated else is_null

    def _membership(self, left: Node) -> Condition:
        first = self._token.type
        choices = self._expression(_ADD)
        if first == "(" and isinstance(choices, Scalar | Parameter):
            choices = ListTemplate((choices,))
        if not isinstance(choices, ListTemplate | SetTemplate) or not choices.elements:
            raise ValidationException(_NO_CHOICES)
        return Membership(self._operand(left), tuple(map(self._operand, choices.elements)))

    # paths

    def _path(self) -> Path:
        parts: list[str | int] = [self._name(self._expect("name"))]
        while True:
            if self._accept("."):
                if self._token.type == "*":
                    raise ValidationException("Changing item's hierarchy while reading isn't supported")
                parts.append(self._name(self._expect("name")))
            elif self._accept("["):
                parts.append(self._step())
                self._expect("]")
            else:
                return Path(tuple(parts))

    def _step(self) -> str | int:
        """An index of a list, or a name in quotes."""
        negative = self._accept("-")
        token = self._take()
        if token.type == "string" and not negative:
            return self._name(token)
        if token.type != "number" or not token.value.isdecimal():
            raise self._not_a_path(token)
        digits = f"-{token.value}" if negative else token.value
        # Longer ones Python refuses to convert.
        if negative or len(digits) > _INDEX_DIGITS or int(digits) > LARGEST_INDEX:
            raise errors.InvalidExpression(
                f"List index is not within the allowable range; index: [{digits}] {place(self._text, token)}"
            )
        return int(digits)

    def _name(self, token: Token) -> str:
        name = token.value
        if not name:
            raise ValidationException(_EMPTY_COMPONENT)
        if name[0] != "#":
            return name
        # In a path, that would be a placeholder.
        placeholder = f"#{len(self._names)}"
        self._names[placeholder] = name
        return placeholder


def _is_condition(node: Node) -> bool:
    if isinstance(node, Call):
        return node.function in PREDICATES
    return isinstance(node, Condition)


def _check_name(name: str) -> None:
    if not name:
        raise ValidationException(_EMPTY_COMPONENT)
    if not name.startswith(_ARN) and not _NAME.fullmatch(name):
        raise ValidationException(
            "Table name should be within the length [3, 255] and only contain 'a-z', 'A-Z', '0-9', '-', '_', '.'."
        )


def shown_name(path: Path, names: Mapping[str, str]) -> str:
    """The attribute under which a SELECT shows what is at a path: its last name, and the indexes behind that."""
    last = max(place for place, part in enumerate(path.parts) if isinstance(part, str))
    name = str(path.parts[last])
    return names.get(name, name) + "".join(f"[{part}]" for part in path.parts[last + 1 :])
