"""PartiQL at the endpoint: whether a request reads or writes is known only when it is decoded."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.request import urlopen

import pytest

from tests.wire.serving import RawClient, ServerProcess, item, request, table


@pytest.fixture
def filled(client: RawClient) -> Iterator[RawClient]:
    client.call("CreateTable", **table("statements"))
    for number in range(3):
        client.call("PutItem", TableName="statements", Item=item(number))
    yield client
    client.call("DeleteTable", TableName="statements")


def capacity(server: ServerProcess, kind: str) -> float:
    wanted = f'sortkey_capacity_units_total{{table="statements",kind="{kind}"}} '
    with urlopen(f"{server.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next((float(line.removeprefix(wanted)) for line in lines if line.startswith(wanted)), 0.0)


def test_units_count_as_read_or_written(server: ServerProcess, filled: RawClient) -> None:
    read, written = capacity(server, "read"), capacity(server, "write")
    select = "SELECT * FROM statements WHERE pk = 'p' AND sk = '000001'"
    assert filled.call("ExecuteStatement", Statement=select) == {"Items": [item(1)]}
    assert (capacity(server, "read") - read, capacity(server, "write") - written) == (0.5, 0.0)
    insert = "INSERT INTO statements VALUE {'pk': 'p', 'sk': 'new'}"
    assert filled.call("ExecuteStatement", Statement=insert) == {"Items": []}
    assert (capacity(server, "read") - read, capacity(server, "write") - written) == (0.5, 1.0)


# A select sees the write before it on its connection.
def test_statements_of_a_connection_keep_their_order(filled: RawClient) -> None:
    where = "WHERE pk = 'p' AND sk = '000001'"
    statements = [f"UPDATE statements SET n = 1 {where}", f"SELECT n FROM statements {where}"] * 5
    filled.send(b"".join(request("ExecuteStatement", {"Statement": each}) for each in statements))
    answers = [filled.answer() for _ in statements]
    assert [answer.json()["Items"] for answer in answers] == [[], [{"n": {"N": "1"}}]] * 5


def test_large_statements_go_to_the_thread(filled: RawClient) -> None:
    text = {"S": "x" * 390_000}
    insert = "INSERT INTO statements VALUE {'pk': 'p', 'sk': ?, 't': ?}"
    inserts = [{"Statement": insert, "Parameters": [{"S": f"l{number}"}, text]} for number in range(12)]
    answer = filled.call("BatchExecuteStatement", Statements=inserts)
    assert answer["Responses"] == [{"TableName": "statements"}] * 12
    found = filled.call("ExecuteStatement", Statement="SELECT sk FROM statements WHERE t = ?", Parameters=[text])
    assert len(found["Items"]) == 3
    assert "NextToken" in found
