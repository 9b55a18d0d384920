"""Functions generated from source for one class, so that its fields are looked up once and not for each row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def generate_function(parameters: Sequence[str], expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """A function with these parameters that returns the expression; `names` are its globals."""
    namespace = dict(names)
    exec(f"def made({', '.join(parameters)}):\n    return {expression}", namespace)
    made: Callable[..., Any] = namespace["made"]
    return made
