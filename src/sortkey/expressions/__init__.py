"""DynamoDB's expressions: compiled to closures once per text, then bound to each request. Pure: no IO, no clock.

    bindings = Bindings(names, values)
    test = condition("#s = :v AND size(tags) < :n", bindings, "ConditionExpression")
    bindings.check_all_used()
    test(item)

`parser` makes a tree of a text, and `tree_checks` rejects trees that are wrong for every request.
`condition`, `projection`, `update` and `key_condition` compile the tree and cache it by its text; `compilation`
collects the checks that each request must pass. `legacy` builds the same trees from the older parameters, and
`partiql_parser` from statements.
"""

from __future__ import annotations

from sortkey.expressions.bindings import Bindings
from sortkey.expressions.condition import Condition, condition
from sortkey.expressions.key_condition import (
    KeyAttribute,
    KeyAttributes,
    KeyCondition,
    KeyRange,
    fast_form,
    key_condition,
)
from sortkey.expressions.partiql_keys import ShownPaths
from sortkey.expressions.paths import reject_nested_keys
from sortkey.expressions.projection import Projection, projection
from sortkey.expressions.update import Update, update

__all__ = [
    "Bindings",
    "Condition",
    "KeyAttribute",
    "KeyAttributes",
    "KeyCondition",
    "KeyRange",
    "Projection",
    "ShownPaths",
    "Update",
    "condition",
    "fast_form",
    "key_condition",
    "projection",
    "reject_nested_keys",
    "update",
]
