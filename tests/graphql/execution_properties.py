"""Any valid document: the compiled execution answers, byte for byte, as graphql-core's own executor does."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from graphql import parse, validate
from hypothesis import event, given
from hypothesis import strategies as st

from sortkey.graphql.compiled import condition_variables
from sortkey.graphql.endpoint import answer_of
from sortkey.graphql.operation import Operation
from sortkey.graphql.schema import Asked
from tests.graphql.bookshop import SCHEMA, Caller, Shop

# The fields of each type, with the type of those that have fields themselves.
TYPES: dict[str, dict[str, str | None]] = {
    "Author": {"name": None, "born": None},
    "Book": {
        **dict.fromkeys(("id", "title", "genre", "price", "discount", "published", "tags", "inPrint")),
        "author": "Author",
    },
    "BookEdge": {"cursor": None, "node": "Book"},
    "PageInfo": dict.fromkeys(("hasNextPage", "hasPreviousPage", "startCursor", "endCursor")),
    "BookConnection": {"edges": "BookEdge", "nodes": "Book", "pageInfo": "PageInfo"},
}
UNCOMPILED: dict[str, str | None] = {"shout": None}
"""Its resolver can only be called by graphql-core."""
VARIABLES = {"yes": True, "no": False}
NUMBERS = ("1", "2", "3", "1", "2", "3", "4", "5", "missing", "bad")
SHELVES = ("all", "all", "empty", "broken", "full", "secret")

DIRECTIVES = st.sampled_from(
    ["", "", "", "@include(if: $yes)", "@include(if: $no)", "@skip(if: $no)", "@skip(if: $yes)", "@skip(if: false)"]
)


@st.composite
def selections(draw: st.DrawFn, type_: str, depth: int = 5) -> str:
    """Names are repeated on purpose; an alias belongs to one field, so that all of them can be merged."""
    parts = [draw(st.sampled_from(["__typename", *TYPES[type_]])) for _ in range(draw(st.integers(1, 4)))]
    return f"{{ {' '.join(draw(_part(type_, name, depth)) for name in parts)} }}"


@st.composite
def _part(draw: st.DrawFn, type_: str, name: str, depth: int) -> str:
    if depth and draw(st.integers(0, 5)) == 0:
        condition = draw(st.sampled_from(["", f"on {type_}"]))
        return f"... {condition} {draw(DIRECTIVES)} {draw(selections(type_, depth - 1))}"
    if type_ in ("Book", "Author") and draw(st.integers(0, 5)) == 0:
        return f"...{type_}Parts {draw(DIRECTIVES)}"
    if type_ == "Book" and draw(st.integers(0, 60)) == 0:
        name = "shout"
    alias = draw(st.sampled_from(["", "", f"one_{name}: ", f"two_{name}: "]))
    inner = {**TYPES[type_], **UNCOMPILED}.get(name)
    return f"{alias}{name} {draw(DIRECTIVES)} {'' if inner is None else draw(selections(inner, max(depth - 1, 0)))}"


@st.composite
def documents(draw: st.DrawFn) -> str:
    roots = []
    mutation = draw(st.integers(0, 4)) == 0
    for _ in range(draw(st.integers(1, 4))):
        number, shelf = draw(st.sampled_from(NUMBERS)), draw(st.sampled_from(SHELVES))
        if mutation:
            roots.append(f'add_{number}: add(ids: ["{number}", "x"]) {draw(DIRECTIVES)} {draw(selections("Book"))}')
        elif draw(st.booleans()):
            roots.append(f'book_{number}: book(number: "{number}") {draw(DIRECTIVES)} {draw(selections("Book"))}')
        else:
            asked = f'books(shelf: "{shelf}", first: $size)'
            roots.append(f"books_{shelf}: {asked} {draw(DIRECTIVES)} {draw(selections('BookConnection'))}")
    if draw(st.booleans()):
        roots.append("__typename")
    kind = "mutation" if mutation else "query"
    return (
        f"{kind} Asked($yes: Boolean!, $no: Boolean!, $size: Int) {{ {' '.join(roots)} }} "
        f"fragment AuthorParts on Author {{ name born }} fragment BookParts on Book {draw(_plain_book())}"
    )


@st.composite
def _plain_book(draw: st.DrawFn) -> str:
    """A selection without spreads, which would be cycles."""
    names = draw(st.lists(st.sampled_from(["id", "title", "price", "tags", "author { name }"]), min_size=1, max_size=3))
    return f"{{ {' '.join(names)} }}"


async def both(text: str, variables: dict[str, Any]) -> tuple[bytes, bytes, list[str], list[str]]:
    document = parse(text)
    node: Any = document.definitions[0]
    shops = Shop(), Shop()
    operation = Operation(SCHEMA, document, node, condition_variables(document))
    coerced = await operation.coerced(variables)
    assert isinstance(coerced, dict)
    compiled = await operation.execute(Asked(shops[0], Caller()), variables, coerced)
    general = await operation.execute_generally(Asked(shops[1], Caller()), variables)
    encoded = [msgspec.json.encode(answer_of(result)) for result in (compiled, general)]
    return encoded[0], encoded[1], shops[0].calls, shops[1].calls


@pytest.mark.every_python
@pytest.mark.slow
@given(documents(), st.sampled_from([None, 1, 2]))
def test_the_compiled_execution_answers_as_graphql_core(text: str, size: int | None) -> None:
    # What is declared and not used, or empty by fragments, is another rule's matter than execution's.
    errors = validate(SCHEMA, parse(text))
    assert [each.message for each in errors if "never used" not in each.message] == []
    compiled, general, compiled_calls, general_calls = asyncio.run(both(text, {**VARIABLES, "size": size}))
    assert compiled == general
    assert compiled_calls == general_calls
    event("with errors" if b'"errors"' in general else "without errors")
