"""HTTP/1.1 spoken with a real server, byte by byte where it matters."""

from __future__ import annotations

import gzip
import json
import socket
import time
from threading import Thread
from zlib import crc32

import pytest

from sortkey.wire.metrics import HOT_PARTITIONS
from tests.wire.conftest import Serve
from tests.wire.serving import RawClient, ServerProcess, item, raw_request, request, table

LIST = request("ListTables", {})


def test_many_requests_on_one_connection(client: RawClient) -> None:
    for _ in range(20):
        client.send(LIST)
        assert client.answer().status == 200


def test_many_requests_at_once_are_answered_in_order(client: RawClient) -> None:
    client.call("CreateTable", **table("pipelined"))
    writes = [request("PutItem", {"TableName": "pipelined", "Item": item(number)}) for number in range(200)]
    reads = [request("GetItem", {"TableName": "pipelined", "Key": item(number)}) for number in range(200)]
    client.send(b"".join(piece for pair in zip(writes, reads, strict=True) for piece in pair))
    for number in range(200):
        assert client.answer().json() == {}
        assert client.answer().json() == {"Item": item(number)}


# A head with a session token often needs two packets; the second brings the body along.
@pytest.mark.parametrize("size", [10_000, 100_000, 300_000])
def test_a_head_in_two_packets(client: RawClient, size: int) -> None:
    body = b'{"TableName":"absent","Key":{"pk":{"S":"%b"}}}' % (b"x" * size)
    data = raw_request("GetItem", body, "X-Amz-Security-Token: " + "A" * 1500)
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.send(data[:1448])
    time.sleep(0.05)
    client.send(data[1448:])
    assert client.answer().status == 400
    client.send(LIST)
    assert client.answer().status == 200


@pytest.mark.parametrize("data", [b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", LIST])
def test_5000_requests_at_once(client: RawClient, data: bytes) -> None:
    sender = Thread(target=client.send, args=[data * 5000])
    sender.start()
    assert {client.answer().status for _ in range(5000)} == {200}
    sender.join()


def test_a_chunked_body(client: RawClient) -> None:
    head, _, body = LIST.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked").partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n" + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n")
    assert "TableNames" in client.answer().json()


def test_a_client_that_waits_for_100_continue(client: RawClient) -> None:
    whole = request("ListTables", {"Limit": 1}, "Expect: 100-continue")
    head, _, body = whole.partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n")
    assert client.answer().status == 100
    client.send(body)
    assert client.answer().status == 200


def test_a_compressed_request_and_a_compressed_answer(client: RawClient) -> None:
    client.call("CreateTable", **table("packed"))
    large = item(1, text={"S": "abc" * 1000})
    body = gzip.compress(json.dumps({"TableName": "packed", "Item": large}).encode())
    client.send(raw_request("PutItem", body, "Content-Encoding: gzip"))
    assert client.answer().status == 200
    client.send(request("GetItem", {"TableName": "packed", "Key": item(1)}, "Accept-Encoding: gzip"))
    answer = client.answer()
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["x-amz-crc32"]) == crc32(answer.body)
    assert json.loads(gzip.decompress(answer.body)) == {"Item": large}


@pytest.mark.parametrize("path", ["/", "/health"])
def test_health(client: RawClient, path: str) -> None:
    client.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    answer = client.answer()
    assert (answer.status, answer.body) == (200, b"healthy: dynamodb.local\n")


def test_head_has_no_body(client: RawClient) -> None:
    client.send(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n" + LIST)
    assert client.answer(bodiless=True).status == 200
    assert client.answer().status == 200


@pytest.mark.parametrize(
    ("start", "status"),
    [(b"GET /nowhere", 404), (b"DELETE /", 405), (b"OPTIONS /", 405)],
)
def test_what_is_not_there(client: RawClient, start: bytes, status: int) -> None:
    client.send(start + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.answer().status == status


def test_http_1_0_closes(client: RawClient) -> None:
    client.send(b"GET / HTTP/1.0\r\n\r\n")
    assert client.answer().headers["connection"] == "close"
    assert client.at_end()


def test_a_body_that_is_too_long_is_rejected_before_it_is_sent(client: RawClient) -> None:
    client.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n")
    assert client.answer().status == 413
    assert client.at_end()


# The client is still sending when the answer is ready; a hard close would take the answer with it.
def test_a_client_in_the_middle_of_sending_reads_its_error(client: RawClient) -> None:
    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    client.send(head + (b"100000\r\n" + bytes(1 << 20) + b"\r\n") * 17)
    assert client.answer().status == 413


def test_16_mib_are_read(client: RawClient) -> None:
    body = b'{"RequestItems": {"missing": [{"DeleteRequest": {"Key": {"pk": {"S": "a"}}}}]}}'
    client.send(raw_request("BatchWriteItem", body.ljust(16 * 1024 * 1024)))
    assert b"ResourceNotFoundException" in client.answer().body


# Only batches need more than 4 MiB, and decoding keeps other threads from running.
def test_other_operations_have_smaller_bodies(client: RawClient) -> None:
    client.send(raw_request("ListTables", b"{}".ljust(4 * 1024 * 1024)))
    assert client.answer().status == 200
    client.send(raw_request("ListTables", b"{}".ljust(4 * 1024 * 1024 + 1)))
    assert client.answer().status == 413


@pytest.mark.parametrize(
    ("target", "body", "kind"),
    [
        ("DynamoDB_20120810.Nonsense", b"{}", "com.amazon.coral.service#UnknownOperationException"),
        ("DynamoDB_20120810.GetRecords", b"{}", "com.amazon.coral.service#UnknownOperationException"),
        ("DynamoDBStreams_20120810.GetItem", b"{}", "com.amazon.coral.service#UnknownOperationException"),
        ("", b"{}", "com.amazon.coral.service#UnknownOperationException"),
        ("DynamoDB_20120810.GetItem", b"{", "com.amazon.coral.service#SerializationException"),
        ("DynamoDB_20120810.GetItem", b"\xff", "com.amazon.coral.service#SerializationException"),
        ("DynamoDB_20120810.GetItem", b'{"TableName": 1}', "com.amazon.coral.service#SerializationException"),
        ("DynamoDB_20120810.GetItem", b"{}", "com.amazon.coral.validate#ValidationException"),
        (
            "DynamoDB_20120810.GetItem",
            b'{"TableName": "missing", "Key": {"pk": {"S": "a"}}}',
            "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        ),
    ],
)
def test_errors(client: RawClient, target: str, body: bytes, kind: str) -> None:
    head = f"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: {target}\r\nContent-Length: {len(body)}\r\n\r\n"
    client.send(head.encode() + body)
    answer = client.answer()
    assert (answer.status, answer.json()["__type"]) == (400, kind)
    assert answer.headers["content-type"] == "application/x-amz-json-1.0"
    assert int(answer.headers["x-amz-crc32"]) == crc32(answer.body)
    assert len(answer.headers["x-amzn-requestid"]) == 52


def test_unicode_and_binary_survive(client: RawClient) -> None:
    client.call("CreateTable", **table("exact"))
    exact = item(1, **{"ключ ☃": {"S": '"\\ \u0000 😀 \u2028'}, "b": {"B": "AP8="}, "bs": {"BS": ["AA=="]}})
    client.call("PutItem", TableName="exact", Item=exact)
    assert client.call("GetItem", TableName="exact", Key=item(1)) == {"Item": exact}


# A web page may not read or write data of this machine; SDKs never send `Origin`.
def test_web_pages_are_kept_out(client: RawClient) -> None:
    client.send(request("ListTables", {}, "Origin: https://evil.example"))
    assert client.answer().json()["__type"] == "com.amazon.coral.service#AccessDeniedException"


def test_metrics(server: ServerProcess) -> None:
    # Only this test counts on a connection of its own; the shared server has counted for others before.
    client = RawClient(server.url)
    client.call("CreateTable", **table("metered"))
    client.call("PutItem", TableName="metered", Item=item(1, text={"S": "a" * 1500}))
    client.call("GetItem", TableName="metered", Key=item(1))
    client.call("GetItem", TableName="metered", Key=item(1), ConsistentRead=True, ReturnConsumedCapacity="TOTAL")
    client.send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    lines = client.answer().body.decode().splitlines()
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert samples['sortkey_capacity_units_total{table="metered",kind="write"}'] == "2"
    assert samples['sortkey_capacity_units_total{table="metered",kind="read"}'] == "1.5"
    assert int(samples['sortkey_requests_total{operation="GetItem",outcome="ok"}']) >= 2
    assert int(samples["sortkey_commits_total"]) >= 2
    assert int(samples["sortkey_connections"]) >= 1
    hot = [series for series in samples if series.startswith('sortkey_hot_partition_units_per_second{table="')]
    assert 0 < len(hot) <= 2 * HOT_PARTITIONS
    client.close()


# The capacity is counted for all requests, and answered only to those that ask.
def test_capacity_is_answered_if_asked_for(client: RawClient) -> None:
    client.call("CreateTable", **table("asked"))
    assert client.call("PutItem", TableName="asked", Item=item(1)) == {}
    assert client.call("PutItem", TableName="asked", Item=item(1), ReturnConsumedCapacity="NONE") == {}
    answer = client.call("PutItem", TableName="asked", Item=item(1), ReturnConsumedCapacity="TOTAL")
    assert answer == {"ConsumedCapacity": {"TableName": "asked", "CapacityUnits": 1.0}}


# Each was committed, never answered, and kept its connection for ever.
@pytest.mark.slow
def test_numbers_beyond_64_bits_are_rejected_and_leave_nothing_behind(serve: Serve) -> None:
    server = serve("--memory")
    other = RawClient(server.url)
    other.call("CreateTable", **table("other"))
    before = server.descriptors()
    for number in range(50):
        client = RawClient(server.url)
        client.send(
            request("CreateTable", table(f"large{number}", OnDemandThroughput={"MaxReadRequestUnits": 2**64}))
            + request("UpdateTable", {"TableName": "other", "WarmThroughput": {"ReadUnitsPerSecond": 2**64}})
        )
        other.call("PutItem", TableName="other", Item=item(number))
        assert [client.answer().status, client.answer().status] == [400, 400]
        client.close()
    assert other.call("ListTables")["TableNames"] == ["other"]
    assert "Table" in other.call("DescribeTable", TableName="other")
    # The last may not have been noticed yet.
    assert server.descriptors() <= before + 1
    other.close()
    assert server.stop() == 0
