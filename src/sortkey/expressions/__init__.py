"""DynamoDB's expressions: parsed once per text, compiled to closures per request. Pure: no IO, no clock.

    bindings = Bindings(names, values)
    test = condition("#s = :v AND size(tags) < :n", bindings, "ConditionExpression")
    bindings.check_all_used()
    test(item)

`lexer` makes tokens, `parser` a tree, `semantics` refuses what no request could mean; then `condition`, `projection`,
`update` and `key_condition` bind the tree to one request. `legacy` builds the same trees from the older parameters.
"""

from __future__ import annotations

from sortkey.expressions.bindings import Bindings
from sortkey.expressions.condition import Condition, condition
from sortkey.expressions.key_condition import (
    KeyAttribute,
    KeyAttributes,
    KeyCondition,
    KeyRange,
    key_condition,
    usual_form,
)
from sortkey.expressions.paths import refuse_nested_keys
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
    "Update",
    "condition",
    "key_condition",
    "projection",
    "refuse_nested_keys",
    "update",
    "usual_form",
]
