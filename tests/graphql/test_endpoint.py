"""Requests and their answers: data, errors with codes, persisted queries, introspection, rights, limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from graphql import get_introspection_query
from graphql.execution.values import get_variable_values
from msgspec import UNSET

from sortkey.graphql.endpoint import GraphQLEndpoint, GraphQLRequest
from sortkey.graphql.operation import SLICE, Operation
from sortkey.graphql.settings import Limits
from tests.graphql.bookshop import Caller, Shop, endpoint

TITLE = "{ book { title } }"
PERSISTED = {"persistedQuery": {"version": 1, "sha256Hash": sha256(TITLE.encode()).hexdigest()}}

Ask = Callable[..., Any]


def asking(asked: GraphQLEndpoint, caller: Caller | None = None) -> Ask:
    """Answers as a client reads them."""

    def ask(query: str | None, **request: Any) -> Any:
        answer = asyncio.run(asked.answer(GraphQLRequest(query, **request), caller or Caller()))
        return json.loads(msgspec.json.encode(answer))

    return ask


@pytest.fixture
def ask() -> Ask:
    return asking(endpoint())


def code(answer: Any) -> str:
    (error,) = answer["errors"]
    found: str = error["extensions"]["code"]
    return found


# The first one is compiled; graphql-core calls the resolvers of the second one itself.
@pytest.mark.parametrize("query", ["{ whoAsks }", "{ whoAsks book { shout } }"])
def test_resolvers_know_who_asks(query: str) -> None:
    caller = Caller()
    caller.name = "till"
    assert asking(endpoint(), caller)(query)["data"]["whoAsks"] == "till"
    assert asking(endpoint())(query)["data"]["whoAsks"] is None


def test_data_is_written_as_the_schema_says(ask: Ask) -> None:
    book = ask('{ book(number: "2") { id title genre price discount published author { name born } tags inPrint } }')
    assert book == {
        "data": {
            "book": {
                "id": "2",
                "title": "",
                "genre": "ATLAS",
                "price": "0.00",
                "discount": "5.00",
                "published": "2026-08-24T12:00:00Z",
                "author": {"name": "", "born": None},
                "tags": [],
                "inPrint": True,
            }
        }
    }


def test_a_connection_has_edges_nodes_and_page_info(ask: Ask) -> None:
    answer = ask(
        "{ books(first: 2) { edges { cursor node { id } } nodes { id } "
        "pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"
    )
    assert answer["data"]["books"] == {
        "edges": [{"cursor": "after 1", "node": {"id": "1"}}, {"cursor": "after 2", "node": {"id": "2"}}],
        "nodes": [{"id": "1"}, {"id": "2"}],
        "pageInfo": {
            "hasNextPage": True,
            "hasPreviousPage": False,
            "startCursor": "after 1",
            "endCursor": "after 2",
        },
    }


# Otherwise the comparison with graphql-core's execution would compare it with itself.
@pytest.mark.parametrize(
    "query",
    [
        TITLE,
        "query A($yes: Boolean! = true) { ...Q @include(if: $yes) } fragment Q on Query { books { nodes { id } } }",
        "{ __typename books { __typename edges { __typename cursor n: node { ... on Book { author { name } } } } } }",
        'mutation { one: add(ids: ["a"]) { id } two: add(ids: []) { title } }',
        "{ book { tags discount } }",
    ],
)
def test_usual_documents_are_executed_by_the_compiled_execution(
    ask: Ask, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Operation, "execute_generally", None)
    assert "errors" not in ask(query)


# graphql-core completes what the compiled execution cannot write; the resolvers are not called for that again.
@pytest.mark.parametrize(
    "query",
    [
        '{ books(shelf: "broken") { nodes { title } } }',
        '{ book(number: "secret") { title } }',
        "{ book { title shout } }",
    ],
)
def test_resolvers_are_called_once(query: str) -> None:
    shop = Shop()
    asking(endpoint(shop))(query)
    assert len(shop.calls) == 1


@pytest.mark.parametrize(
    ("number", "extensions", "message"),
    [
        ("bad", {"code": "BAD_REQUEST", "details": ["[3].id: bad"]}, "the id is bad"),
        ("cursor", {"code": "BAD_REQUEST"}, "invalid cursor"),
        ("missing", {"code": "NOT_FOUND"}, "there is no such book"),
        ("full", {"code": "CONFLICT", "reason": "full"}, "the shelf is full"),
        ("late", {"code": "OVERLOADED"}, "The store is overloaded or did not answer in time; try again."),
        ("away", {"code": "OVERLOADED"}, "The store is overloaded or did not answer in time; try again."),
        ("secret", {"code": "INTERNAL"}, "Internal error; see the server's log."),
    ],
)
def test_errors_of_the_service_have_codes(ask: Ask, number: str, extensions: Any, message: str) -> None:
    answer = ask("query($number: String!) { one: book(number: $number) { id } }", variables={"number": number})
    assert answer == {
        "errors": [
            {
                "message": message,
                "locations": [{"line": 1, "column": 27}],
                "path": ["one"],
                "extensions": extensions,
            }
        ],
        "data": {"one": None},
    }


def test_a_null_where_the_schema_has_none_is_an_error_in_its_place(ask: Ask) -> None:
    answer = ask('{ book(number: "4") { id title } books(first: 1) { nodes { id } } }')
    assert answer["data"] == {"book": None, "books": {"nodes": [{"id": "1"}]}}
    assert (code(answer), answer["errors"][0]["path"]) == ("INTERNAL", ["book", "title"])


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"query": "{"}, "GRAPHQL_PARSE_FAILED"),
        ({"query": ""}, "GRAPHQL_PARSE_FAILED"),
        ({"query": "{ nothing }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "fragment A on Book { id }"}, "GRAPHQL_VALIDATION_FAILED"),
        ({"query": "subscription { book { id } }"}, "BAD_REQUEST"),
        ({"query": None}, "BAD_REQUEST"),
        ({"query": "query A { book { id } } query B { book { id } }"}, "BAD_REQUEST"),
        ({"query": "query A { book { id } }", "operation_name": "C"}, "BAD_REQUEST"),
        ({"query": "query($n: Int!) { books(first: $n) { nodes { id } } }"}, "BAD_REQUEST"),
        ({"query": "query($n: Int) { books(first: $n) { nodes { id } } }", "variables": {"n": "x"}}, "BAD_REQUEST"),
    ],
    ids=str,
)
def test_a_request_that_cannot_be_executed_is_refused(ask: Ask, request_: dict[str, Any], expected: str) -> None:
    # Twice: the second time, the document is known.
    answers = [ask(**request_), ask(**request_)]
    assert answers[0] == answers[1]
    assert (code(answers[0]), "data" in answers[0]) == (expected, False)


def test_the_operation_is_chosen_by_its_name(ask: Ask) -> None:
    query = "query A { book { id } } query B { book { title } }"
    assert ask(query, operation_name="B") == {"data": {"book": {"title": "A title"}}}


# Apollo's protocol: the hash alone; then, if it is not known, the hash with the query; from then on the hash alone.
def test_a_persisted_query_is_sent_once(ask: Ask) -> None:
    unknown = ask(None, extensions=PERSISTED)
    assert (code(unknown), unknown["errors"][0]["message"]) == ("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound")
    assert ask(TITLE, extensions=PERSISTED) == {"data": {"book": {"title": "A title"}}}
    assert ask(None, extensions=PERSISTED) == {"data": {"book": {"title": "A title"}}}


@pytest.mark.parametrize(
    "persisted",
    [
        {"version": 2, "sha256Hash": "x"},
        {"version": 1},
        {"version": 1, "sha256Hash": 3},
        {"version": 1, "sha256Hash": "x"},
    ],
)
def test_a_hash_of_another_query_keeps_nothing(ask: Ask, persisted: dict[str, Any]) -> None:
    assert code(ask(TITLE, extensions={"persistedQuery": persisted})) == "BAD_REQUEST"
    assert "errors" in ask(None, extensions={"persistedQuery": persisted})


# An invalid document would take the place of a good one.
def test_an_invalid_document_is_not_persisted(ask: Ask) -> None:
    text = "{ nothing }"
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": sha256(text.encode()).hexdigest()}}
    assert code(ask(text, extensions=extensions)) == "GRAPHQL_VALIDATION_FAILED"
    assert code(ask(None, extensions=extensions)) == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    ("setting", "address", "allowed"),
    [
        ("loopback", "127.0.0.1", True),
        ("loopback", "127.9.9.9", True),
        ("loopback", "::1", True),
        ("loopback", "192.168.0.7", False),
        ("loopback", "", False),
        ("always", "192.168.0.7", True),
        ("never", "127.0.0.1", False),
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        get_introspection_query(),
        '{ __type(name: "Book") { name } }',
        "{ ...A } fragment A on Query { __schema { types { name } } }",
    ],
    ids=["tools", "type", "fragment"],
)
def test_introspection_is_for_this_machine_unless_configured(
    setting: Any, address: str, allowed: bool, query: str
) -> None:
    answer = asking(endpoint(introspection=setting), Caller(address))(query)
    assert ("data" in answer) == allowed
    if not allowed:
        assert code(answer) == "INTROSPECTION_DISABLED"


def test_the_name_of_a_type_is_no_introspection() -> None:
    answer = asking(endpoint(), Caller("192.168.0.7"))("{ __typename book { __typename } }")
    assert answer == {"data": {"__typename": "Query", "book": {"__typename": "Book"}}}


def test_a_mutation_needs_the_right_to_write() -> None:
    shop, reader = Shop(), Caller("127.0.0.1", "read")
    ask = asking(endpoint(shop), reader)
    assert ask("query A { book { id } }")["data"] == {"book": {"id": "1"}}
    with pytest.raises(PermissionError, match="write"):
        ask('query A { book { id } } mutation B { add(ids: ["x"]) { id } }', operation_name="B")
    assert shop.calls == ["1"]


def test_mutations_follow_each_other_and_end_at_the_first_failure() -> None:
    shop = Shop()
    answer = asking(endpoint(shop))(
        'mutation { a: add(ids: ["a"]) { id } b: add(ids: ["full"]) { id } c: add(ids: ["c"]) { id } }'
    )
    assert (answer["data"], code(answer)) == (None, "CONFLICT")
    assert shop.calls == ["a", "full"]


ADD = "mutation($ids: [String!]!) { add(ids: $ids) { id } }"
ADD_TWICE = "mutation($ids: [String!]!) { a: add(ids: $ids) { id } b: add(ids: $ids) { id } }"
SPREAD = (
    "mutation($ids: [String!]!) { ...F b: add(ids: []) { id } } fragment F on Mutation { a: add(ids: $ids) { id } }"
)


# One variable under many aliases is sent once, and would be carried out many times.
@pytest.mark.parametrize(
    ("query", "variables", "changes"),
    [
        (ADD, {"ids": ["x"] * 7}, 7),
        (ADD_TWICE, {"ids": ["x"] * 7}, 14),
        (SPREAD, {"ids": ["x"] * 7}, 8),
        ('mutation { a: add(ids: ["a", "b"]) { id } b: add(ids: "c") { id } c: add(ids: []) { id } }', {}, 4),
        ('mutation($ids: [String!]! = ["a", "b"]) { add(ids: $ids) { id } }', {}, 2),
        ('mutation($id: String!) { add(ids: [$id, "b", $id]) { id } }', {"id": "a"}, 3),
    ],
)
def test_the_mutations_of_a_request_have_one_limit(query: str, variables: dict[str, Any], changes: int) -> None:
    shop = Shop()
    assert "errors" not in asking(endpoint(shop, limits=Limits(changes=changes)))(query, variables=variables)
    done = len(shop.calls)
    answer = asking(endpoint(shop, limits=Limits(changes=changes - 1)))(query, variables=variables)
    assert code(answer) == "COST_LIMIT"
    assert f"would make {changes} changes; at most {changes - 1}" in answer["errors"][0]["message"]
    assert len(shop.calls) == done


def test_lists_that_a_mutation_answers_cost_as_much_as_it_changes() -> None:
    shop = Shop()
    query = "mutation($ids: [String!]!) { add(ids: $ids) { id title tags } }"
    assert "errors" not in asking(endpoint(shop, limits=Limits(cost=31)))(query, variables={"ids": ["x"] * 10})
    answer = asking(endpoint(shop, limits=Limits(cost=30)))(query, variables={"ids": ["x"] * 10})
    assert code(answer) == "COST_LIMIT"
    assert len(shop.calls) == 10


# A mutation that has begun goes on to its end; those behind it are not begun.
def test_a_client_that_has_gone_ends_what_was_not_begun() -> None:
    caller = Caller()

    shop = Shop()
    shop.calls = Leaving(caller)
    answer = asking(endpoint(shop), caller)(
        'mutation { a: add(ids: ["a"]) { id } b: add(ids: ["b"]) { id } c: add(ids: ["c"]) { id } }'
    )
    assert shop.calls == ["a", "b"]
    assert answer["errors"][0]["message"] == "Not begun, because the client has closed its connection."
    assert answer["errors"][0]["path"] == ["c"]


class Leaving(list[str]):
    """Calls of a shop whose client leaves while the book "b" is added."""

    def __init__(self, caller: Caller) -> None:
        super().__init__()
        self._caller = caller

    def extend(self, ids: Iterable[str]) -> None:
        super().extend(ids)
        self._caller.gone = "b" in self


# Ten thousand elements take half a second to coerce: other requests have their turn.
def test_long_lists_are_coerced_in_slices() -> None:
    async def turns(count: int) -> int:
        answering = asyncio.ensure_future(
            endpoint().answer(GraphQLRequest(ADD, variables={"ids": ["x"] * count}), Caller())
        )
        made = 0
        while not answering.done():
            await asyncio.sleep(0)
            made += 1
        assert (await answering).data is not UNSET
        return made

    assert asyncio.run(turns(10 * SLICE)) >= asyncio.run(turns(SLICE)) + 9


@pytest.mark.parametrize("wrong", [0, SLICE - 1, SLICE, 3 * SLICE + 7])
@pytest.mark.parametrize("value", [None, 7, ["x"], " at 'ids[1]"])
def test_what_is_wrong_in_a_long_list_is_named_by_its_place(wrong: int, value: Any) -> None:
    ids: list[Any] = ["x"] * (4 * SLICE)
    ids[wrong] = value
    known = endpoint()._documents.operation(ADD, None).operation
    expected = get_variable_values(known._schema, known.node.variable_definitions, {"ids": ids})
    found = asyncio.run(known.coerced({"ids": ids}))
    assert found == expected or [str(each) for each in found] == [str(each) for each in expected]


# Each value of a variable is coerced, so there is a limit before that.
def test_variables_have_a_limit() -> None:
    ask = asking(endpoint(limits=Limits(variable_values=10)))
    query = "mutation($ids: [String!]!) { add(ids: $ids) { id } }"
    assert "data" in ask(query, variables={"ids": ["x"] * 9})
    assert code(ask(query, variables={"ids": ["x"] * 10})) == "SIZE_LIMIT"
    assert code(ask(query, variables={"ids": [], "other": {"a": [{"b": [1, 2, 3, 4]}, {"c": [5, 6]}]}})) == "SIZE_LIMIT"


@pytest.mark.parametrize(
    ("query", "variables", "allowed"),
    [
        ("{ books { nodes { id } } }", {}, True),
        ("{ books(first: 100) { edges { cursor node { id title } } } }", {}, True),
        ("{ books(first: 101) { edges { cursor node { id title } } } }", {}, False),
        ("query($n: Int) { books(last: $n) { edges { cursor node { id title } } } }", {"n": 101}, False),
        ("query($n: Int = 101) { books(last: $n) { edges { cursor node { id title } } } }", {}, False),
        (
            "{ a: books(first: 60) { nodes { id title } } b: books(first: 60) { nodes { ...F } } } "
            "fragment F on Book { id title }",
            {},
            True,
        ),
        ("{ a: books(first: 99) { nodes { id title } } b: books(first: 102) { nodes { id title } } }", {}, False),
        ("{ books(first: 202) { nodes { ...F ...F } } } fragment F on Book { id }", {}, False),
        ("{ books(first: 100) { pageInfo { endCursor } } }", {}, True),
        ("{ a: books(first: 100) { pageInfo { endCursor } } b: books(first: 100) { __typename } }", {}, False),
    ],
)
def test_the_cost_counts_the_rows_and_the_fields_of_every_node(
    query: str, variables: dict[str, Any], allowed: bool
) -> None:
    answer = asking(endpoint(limits=Limits(cost=902)))(query, variables=variables)
    assert ("data" in answer) == allowed
    if not allowed:
        assert code(answer) == "COST_LIMIT"
