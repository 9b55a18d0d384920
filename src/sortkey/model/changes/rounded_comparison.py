"""Comparisons of numbers that are shown rounded: `Annotated[datetime, sk.epoch]`, whose numbers other programs store
with fractions, and floats.

Rounding keeps the order, and leaves the numbers that Sortkey writes as they are. So a stored number shows one below
`c` for sure if it is not above the neighbour below `c`; and it cannot show one unless it is below `c`.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from sortkey.model.changes.condition import Condition
from sortkey.model.changes.own_form import RoundedForm
from sortkey.model.changes.placeholders import Placeholders, any_of
from sortkey.model.fields.converter import Value
from sortkey.model.items.schema import Schema

Operand = Callable[[Schema[Any], str], Value]
"""The value that a field is compared with, encoded by the field."""

_SURELY: Final = {
    "<": "{name} <= {lower}",
    "<=": "{name} <= {value}",
    ">": "{name} >= {higher}",
    ">=": "{name} >= {value}",
    "=": "{name} = {value}",
    "<>": "({name} <= {lower} OR {name} >= {higher})",
}
_POSSIBLY: Final = {
    "<": "{name} < {value}",
    "<=": "{name} < {higher}",
    ">": "{name} > {value}",
    ">=": "{name} > {lower}",
    "=": "({name} > {lower} AND {name} < {higher})",
    "<>": "{name} <> {value}",
}


class RoundedComparison(Condition):
    """A comparison with a value, as the store can test it: true only where that is right, or, with `otherwise`, false
    only where that is right."""

    def __init__(self, exact: Condition, operator: str, value: Operand, form: RoundedForm, otherwise: bool) -> None:
        self.exact = exact
        self.operator = operator
        self.value = value
        self.form = form
        self.otherwise = otherwise
        self.if_absent = self.if_null = otherwise and operator == "<>"

    def render(self, schema: Schema[Any], field: str, placeholders: Placeholders) -> str:
        name = placeholders.name(schema.codec.by_name[field].attribute)
        wanted = self.value(schema, field)
        lower, higher = self.form.neighbours(Decimal(wanted["N"]))
        text = (_POSSIBLY if self.otherwise else _SURELY)[self.operator]
        operands = {"value": wanted, "lower": lower, "higher": higher}
        used = {each: placeholders.value(operand) for each, operand in operands.items() if f"{{{each}}}" in text}
        test = text.format(name=name, **used)
        if not (self.otherwise and self.form.is_text_read):
            return test
        # A text is not less than a number, and not equal to one.
        return any_of(test, f"attribute_type({name}, {placeholders.value({'S': 'S'})})")

    def holds(self, schema: Schema[Any], field: str, shown: Value | None) -> bool:
        return self.exact.holds(schema, field, shown)
