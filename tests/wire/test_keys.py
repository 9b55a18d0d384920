"""A server with keys: only what they signed, and only what they may."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.wire.serving import RawClient, ServerProcess, item, request, table
from tests.wire.signing import signed

KEYS = {
    "AKIDADMIN": {"secret": "s1"},
    "AKIDREADER": {"secret": "s2", "region": "eu-west-1", "tables": {"orders*": "read"}},
}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    path.write_text(json.dumps(KEYS))
    path.chmod(0o600)
    # With keys, any address may be bound.
    server = ServerProcess("--memory", "--keys", Path(path), "--host", "0.0.0.0")
    server.url = server.url.replace("0.0.0.0", "127.0.0.1")
    sdk(server, "AKIDADMIN", "s1").create_table(**table("orders"))
    yield server
    assert server.stop() == 0


def sdk(server: ServerProcess, key_id: str, secret: str, region: str = "eu-west-1") -> Any:
    return boto3.client(
        "dynamodb",
        endpoint_url=server.url,
        region_name=region,
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


def code(caught: pytest.ExceptionInfo[ClientError]) -> str:
    return str(caught.value.response["Error"]["Code"])


def test_the_right_key_opens(keyed: ServerProcess) -> None:
    client = sdk(keyed, "AKIDADMIN", "s1")
    client.put_item(TableName="orders", Item=item(1))
    assert sdk(keyed, "AKIDREADER", "s2").get_item(TableName="orders", Key=item(1))["Item"] == item(1)


@pytest.mark.parametrize(
    ("key_id", "secret", "region", "expected"),
    [
        ("AKIDADMIN", "wrong", "eu-west-1", "InvalidSignatureException"),
        ("AKIDNOBODY", "s1", "eu-west-1", "UnrecognizedClientException"),
        ("AKIDREADER", "s2", "us-east-1", "InvalidSignatureException"),
    ],
)
def test_wrong_keys_do_not(keyed: ServerProcess, key_id: str, secret: str, region: str, expected: str) -> None:
    with pytest.raises(ClientError) as caught:
        sdk(keyed, key_id, secret, region).list_tables()
    assert code(caught) == expected


def test_unsigned_requests_do_not(keyed: ServerProcess) -> None:
    client = RawClient(keyed.url)
    client.send(request("ListTables", {}))
    answer = client.answer()
    assert answer.json()["__type"] == "com.amazon.coral.service#MissingAuthenticationTokenException"
    client.close()


def test_rights_end_where_they_end(keyed: ServerProcess) -> None:
    with pytest.raises(ClientError) as caught:
        sdk(keyed, "AKIDREADER", "s2").put_item(TableName="orders", Item=item(1))
    assert code(caught) == "AccessDeniedException"
    assert caught.value.response["Error"]["Message"].startswith(
        "User: arn:aws:iam::000000000000:user/AKIDREADER is not"
    )


# The signature is of head and body: a head that the server knows by now opens for no other body.
def test_a_head_that_came_before_is_no_key(keyed: ServerProcess) -> None:
    body = b'{"TableName": "orders"}'
    request_ = signed(body, key_id="AKIDADMIN", secret="s1", now=datetime.now(UTC))
    lines = [f"{name.decode()}: {value.decode()}" for name, value in request_.headers.items()]
    head = "\r\n".join(["POST / HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""]).encode()
    client = RawClient(keyed.url)
    codes = []
    for sent in (body, body, body, body.replace(b"orders", b"prices"), body):
        client.send(head + sent)
        answer = client.answer()
        codes.append(answer.json().get("__type", "").rpartition("#")[2])
    client.close()
    assert codes == ["ValidationException"] * 3 + ["InvalidSignatureException"] + ["ValidationException"]


# Load balancers and Prometheus have no keys.
@pytest.mark.slow
@pytest.mark.parametrize("path", ["/health", "/metrics"])
def test_health_and_metrics_are_open(keyed: ServerProcess, path: str) -> None:
    client = RawClient(keyed.url)
    client.send(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert client.answer().status == 200
    client.close()
