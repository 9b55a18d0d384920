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


def generate_list_function(parameters: Sequence[str], expression: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """A function with `rows` and these parameters that returns the list of the expression's values, for each `row`.

    In a comprehension, the variables that an expression assigns would be cells, which are slower.
    """
    namespace = dict(names)
    exec(
        f"def made({', '.join(('rows', *parameters))}):\n"
        "    found = []\n"
        "    append = found.append\n"
        "    for row in rows:\n"
        f"        append({expression})\n"
        "    return found",
        namespace,
    )
    made: Callable[..., Any] = namespace["made"]
    return made
