"""Documents made to cost much: each is refused, and after little work.

Work is counted in calls of functions, which do not depend on the machine. The usual document of a page, as a measure,
takes about 7,000; no document takes more than twenty times as much, also one that uses the limits fully.
"""

from __future__ import annotations

import asyncio
import sys
from types import FrameType
from typing import Any

import pytest

from sortkey.graphql.endpoint import GraphQLEndpoint, GraphQLRequest
from tests.graphql.bookshop import Caller, endpoint

PAGE = """query Page($shelf: String!, $first: Int, $after: String) {
  books(shelf: $shelf, first: $first, after: $after) {
    edges { cursor node { id title genre price discount published author { name born } tags inPrint } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}"""
MOST_CALLS = 150_000


def chain(fragments: int, last: str, spreads: int = 1) -> str:
    """Each fragment spreads the next, so many times."""
    links = [f"fragment F{number} on Book {{ {f'...F{number + 1} ' * spreads} }}" for number in range(fragments - 1)]
    return " ".join(["{ book { ...F0 } }", *links, f"fragment F{fragments - 1} on Book {{ {last} }}"])


HOSTILE = {
    "deep": ("{ book " * 5_000 + "}" * 5_000, "SIZE_LIMIT"),
    "deep within the size": ("{a" * 900, "DEPTH_LIMIT"),
    "deep fields": ("{ book " + "{ author " * 20 + "{ name }" + "}" * 21, "DEPTH_LIMIT"),
    "deep list": ("{ books(shelf: " + "[" * 900 + "]" * 900 + ") { nodes { id } } }", "DEPTH_LIMIT"),
    "deep object": ("{ books(shelf: " + "{a:" * 400 + "1" + "}" * 400 + ") { nodes { id } } }", "DEPTH_LIMIT"),
    "braces in no strings": ('{ book { a: id(x: "' + "{" * 900 + '") ' + "{a " * 40, "DEPTH_LIMIT"),
    "large": ("{ book { id } }" + " " * 1_000_000, "SIZE_LIMIT"),
    "a comment": ("{ book { id } } #" + "x" * 1_000_000, "SIZE_LIMIT"),
    "commas": ("," * 1_000_000 + "{ book { id } }", "SIZE_LIMIT"),
    "a large string": ('{ book(number: "' + "x" * 100_000 + '") { id } }', "SIZE_LIMIT"),
    "half of a string": ('{ book(number: "' + '\\"' * 7_000, "GRAPHQL_PARSE_FAILED"),
    "half of a block": ('{ book(number: """' + '"" ' * 5_000, "GRAPHQL_PARSE_FAILED"),
    "quotation marks": ('"' * 16_000, "SIZE_LIMIT"),
    "many tokens": ("{ book { " + "id " * 2_500 + "} }", "SIZE_LIMIT"),
    "aliases": ("{ " + " ".join(f"a{number}: book {{ id }}" for number in range(300)) + " }", "ALIAS_LIMIT"),
    "aliases of fields": ("{ book { " + " ".join(f"a{n}: id" for n in range(400)) + " } }", "ALIAS_LIMIT"),
    "repeated fields": ("{ book { " + "id " * 900 + "} }", "ALIAS_LIMIT"),
    "repeated objects": ("{ " + "book { author { name } } " * 150 + "}", "ALIAS_LIMIT"),
    "repeated pages": ("{ " + "books { nodes { id } } " * 150 + "}", "ALIAS_LIMIT"),
    "repeated by fragments": (chain(3, "id " * 300, 3), "SIZE_LIMIT"),
    "repeated inline": ("{ book { " + "... on Book { id } " * 200 + "} }", "ALIAS_LIMIT"),
    "spread twice, thirty times": (chain(30, "id", 2), "SIZE_LIMIT"),
    "spread in a ring": (chain(5, "...F0"), "GRAPHQL_VALIDATION_FAILED"),
    "spread in itself": ("{ book { ...A } } fragment A on Book { id ...A }", "GRAPHQL_VALIDATION_FAILED"),
    "spread in itself, deeper": (
        "{ book { ...A } } fragment A on Book { author { ...B } } fragment B on Author { name ...C } "
        "fragment C on Author { ... { ...B } }",
        "GRAPHQL_VALIDATION_FAILED",
    ),
    "a ring that nobody spreads": ("{ book { id } } fragment A on Book { ...A }", "GRAPHQL_VALIDATION_FAILED"),
    "many fragments": (chain(200, "id"), "SIZE_LIMIT"),
    "many operations": (" ".join(f"query A{n} {{ book {{ id }} }}" for n in range(200)), "SIZE_LIMIT"),
    "many variables": (
        "query(" + " ".join(f"$a{n}: Int" for n in range(400)) + ") { book { id } }",
        "GRAPHQL_VALIDATION_FAILED",
    ),
    "many directives": ("{ book { id " + "@include(if: true) " * 250 + "} }", "GRAPHQL_VALIDATION_FAILED"),
    "many arguments": ("{ book(" + 'number: "1" ' * 400 + ") { id } }", "GRAPHQL_VALIDATION_FAILED"),
    "many unknown fields": (
        "{ book { " + " ".join(f"titel{n}" for n in range(900)) + " } }",
        "GRAPHQL_VALIDATION_FAILED",
    ),
    "large pages": (
        "{ " + " ".join(f"a{n}: books(first: 2048) {{ nodes {{ id title }} }}" for n in range(30)) + " }",
        "COST_LIMIT",
    ),
    "large pages of which nothing is shown": (
        "{ " + " ".join(f"a{n}: books(first: 2048) {{ pageInfo {{ endCursor }} }}" for n in range(30)) + " }",
        "COST_LIMIT",
    ),
    "types of types": (
        "{ __schema { types { " + "fields { type { " * 5 + "name" + " } }" * 5 + " } } }",
        "GRAPHQL_VALIDATION_FAILED",
    ),
    "types of types by fragments": (
        "{ __schema { types { ...A } } } fragment A on __Type { fields { type { ...B } } } "
        "fragment B on __Type { fields { type { ...C } } } fragment C on __Type { fields { type { ...D } } } "
        "fragment D on __Type { fields { type { name } } }",
        "GRAPHQL_VALIDATION_FAILED",
    ),
}

AT_THE_LIMITS = {
    "repeats": "{ book { " + "id " * 33 + " } }",
    "repeated objects": "{ " + "book { author { name born } title } " * 33 + "}",
    "repeats within repeats": "{ " + ("book { " + "author { name } " * 4 + "} ") * 8 + "}",
    "fields": "{ "
    + " ".join(f"a{n}: book {{ id title genre price discount published inPrint }}" for n in range(32))
    + " }",
    "fragments": chain(32, "id title"),
    "tokens": "{ book { " + "id @include(if: true) " * 33 + "} }",
}


def work(asked: GraphQLEndpoint, query: str) -> tuple[int, Any]:
    """How many functions are called to answer, and the answer."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    async def answered() -> Any:
        sys.setprofile(count)
        try:
            return await asked.answer(GraphQLRequest(query, variables={"shelf": "all"}), Caller())
        finally:
            sys.setprofile(None)

    answer = asyncio.run(answered())
    return calls, answer


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused_after_little_work(name: str) -> None:
    query, code = HOSTILE[name]
    calls, answer = work(endpoint(), query)
    assert {error["extensions"]["code"] for error in answer.errors} == {code}
    assert calls < MOST_CALLS


@pytest.mark.parametrize("name", AT_THE_LIMITS)
def test_a_document_at_the_limits_takes_little_work(name: str) -> None:
    calls, answer = work(endpoint(), AT_THE_LIMITS[name])
    assert not answer.errors
    assert calls < MOST_CALLS


# It is known from the second time on, also if it was rejected.
@pytest.mark.parametrize("query", [PAGE, HOSTILE["many unknown fields"][0]])
def test_a_known_document_is_not_read_again(query: str) -> None:
    asked = endpoint()
    first, _ = work(asked, query)
    second, _ = work(asked, query)
    assert second * 5 < first
