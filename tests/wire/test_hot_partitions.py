"""A partition that is too hot for DynamoDB: the endpoint logs it, and shows it in the metrics."""

from __future__ import annotations

import select

import pytest

from tests.wire.serving import RawClient, ServerProcess, item, table

LARGE = {"S": "x" * 390_000}


@pytest.mark.slow
def test_a_hot_partition_is_logged_and_shown() -> None:
    process = ServerProcess("--memory")
    client = RawClient(process.url)
    client.call("CreateTable", **table("votes"))
    errors = process.process.stderr
    assert errors is not None
    # Each is 390 units, and they are written until a second of them was seen.
    while not select.select([errors], [], [], 0)[0]:
        client.call("PutItem", TableName="votes", Item=item(1, text=LARGE))
    line = errors.readline()
    assert "table votes: the partition 'p' takes" in line
    assert "write units a second; DynamoDB serves 1,000 from one partition" in line
    client.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    series = 'sortkey_hot_partition_units_per_second{table="votes",index="",partition="p",kind="write"}'
    samples = dict(
        each.rsplit(" ", 1) for each in client.answer().body.decode().splitlines() if not each.startswith("#")
    )
    assert float(samples[series]) > 390
    client.close()
    assert process.stop() == 0
