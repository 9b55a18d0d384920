"""Mutated requests of everything that is served: each gets its answer, and none of them a 5xx.

`make fuzz N=1000000 SEED=2` runs more of them, and prints the smallest request of each failure.
"""

from __future__ import annotations

import gc
from functools import _lru_cache_wrapper
from random import Random
from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.requests import OPERATIONS
from sortkey.engine.tables.core import Settings
from sortkey.errors import DynamoDBError
from tests.faults.fuzz import corpus, mutations, signing
from tests.faults.fuzz.__main__ import summary
from tests.faults.fuzz.campaign import Campaign
from tests.faults.fuzz.case import Case, Message, Stream
from tests.faults.fuzz.json_text import Spot, encode
from tests.faults.fuzz.operations import Operations, message
from tests.faults.fuzz.servers import Servers
from tests.faults.fuzz.shrink import shrink, shrink_sequence
from tests.faults.fuzz.signatures import meaning
from tests.faults.fuzz.warming import fill_caches

CASES = 20_000
SEED = 20_260_824
ABSENT = {
    "CreateGlobalTable",
    "DescribeExport",
    "DescribeGlobalTable",
    "DescribeGlobalTableSettings",
    "DescribeImport",
    "DisableKinesisStreamingDestination",
    "EnableKinesisStreamingDestination",
    "UpdateGlobalTable",
    "UpdateGlobalTableSettings",
    "UpdateKinesisStreamingDestination",
    "UpdateTableReplicaAutoScaling",
}
"""Operations about what no table has; their valid requests are answered with an error."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_mutated_request_gets_its_answer() -> None:
    with Servers() as servers:
        result = Campaign(servers, SEED).run(CASES)
    assert result.failures == [], summary(result, SEED)
    # It gets through: a good part is accepted, and by the services, too. Only campaigns, on one of ten routes, get 202.
    assert result.statuses[200] > CASES / 10
    assert result.statuses[202] > CASES / 10_000


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> corpus.Requests:
    """The corpus, each request of which is valid in the state that the corpus begins with."""
    database = Database(None, settings=Settings(buckets=tmp_path_factory.mktemp("buckets")))
    corpus.lay_out(database.call, set())
    found = corpus.requests(database.call)
    for number, (operation, _) in enumerate(found):
        corpus.requests(database.call)
        # A backup can be restored when it is whole.
        database.janitor.sweep()
        try:
            database.call(*corpus.requests(database.call)[number])
        except DynamoDBError:
            assert operation in ABSENT, found[number]
        corpus.lay_out(database.call, set())
    database.close()
    return found


# Six changes that each multiply a text took all memory of the machine.
@pytest.mark.parametrize("change", mutations.MUTATIONS, ids=lambda change: change.__name__)
def test_a_change_adds_only_so_much(change: mutations.Mutation) -> None:
    for seed in range(50):
        tree = {"a": "x" * mutations.LARGEST}
        change(Random(seed), Spot(tree, "a"), [{"b": "x"}])
        assert len(encode(tree)) <= 3 * mutations.LARGEST


def test_there_is_a_valid_request_of_every_operation(requests: corpus.Requests) -> None:
    assert {operation for operation, _ in requests} == OPERATIONS.keys()


CACHES = ("_program", "_compiled", "parse_projection")


# A text that is rejected before it is compiled would fill no cache.
def test_caches_of_expressions_are_full_before_the_first_case() -> None:
    def call(operation: str, members: dict[str, Any]) -> dict[str, Any]:
        try:
            return database.call(operation, members)
        except DynamoDBError:
            return {}

    database = Database(None)
    corpus.lay_out(call, set())
    fill_caches(call)
    database.close()
    # `get_objects` leaves out what was frozen after the tests were collected.
    gc.unfreeze()
    # Other tests leave caches of callables that have no name.
    caches = [each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper)]
    compiled = [each.cache_info() for each in caches if getattr(each, "__name__", "") in CACHES]
    assert len(compiled) == 8
    assert all(cache.currsize == cache.maxsize for cache in compiled)


def test_a_seed_always_makes_the_same_requests(requests: corpus.Requests) -> None:
    first, second = (
        [Operations(requests).make(Random(f"7/{number}")).encode() for number in range(50)] for _ in range(2)
    )
    assert first == second
    assert len(set(first)) > 45


def test_a_failing_request_is_made_small() -> None:
    members = {"TableName": "orders", "Item": {"a": {"SS": ["x"] * 60 + [1]}, "b": {"L": [{"N": "1"}] * 9}}, "Limit": 3}

    def fails(case: Case) -> bool:
        return b'"x",1' in case.encode()

    smallest = shrink(message("PutItem", members), fails)
    assert isinstance(smallest, Message)
    assert smallest.body == {"Item": {"a": {"SS": ["x", 1]}}}
    assert smallest.headers == (("Host", "localhost"),)


def test_failing_bytes_are_made_few() -> None:
    stream = Stream("endpoint", "http", (b"GET / HTTP/1.1\r\n", b"Host: x\r\nBad\r\n", b"\r\n"))
    assert shrink(stream, lambda case: b"Bad" in case.encode()).encode() == b"Bad"


def test_a_failing_sequence_is_made_short() -> None:
    assert shrink_sequence(range(500), lambda numbers: {17, 401} <= set(numbers)) == [17, 401]


# The signer shares no code with the verifier, so that a mistake of one is not a mistake of both.
def test_changed_signatures_differ_from_genuine_ones_in_meaning() -> None:
    signed = signing.Request((("Host", "x"), ("Authorization", "A b=c, d=e")), b"{}")
    spaced = signing.Request((("host", " x "), ("Authorization", "A  b=c,,d=e")), b"{}")
    assert meaning(signed) == meaning(spaced)
    assert meaning(signed) != meaning(signing.Request(signed.headers, b"{ }"))
