"""Functions made for one class, from source: what differs between classes is looked at once, and not for each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def generate_function(parameters: Sequence[str], expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """A function of these parameters that returns an expression, in which `names` are known."""
    namespace = dict(names)
    exec(f"def made({', '.join(parameters)}):\n    return {expression}", namespace)
    made: Callable[..., Any] = namespace["made"]
    return made
