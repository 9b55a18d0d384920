"""Reads and writes of items go the fast way; botocore repeats those without a complete answer, and callers see no
difference."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import orjson
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.client import BaseClient
from botocore.config import Config
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import BotoCoreError, ClientError

import sortkey as sk
from sortkey.client.fast_requests import host_of, signed
from sortkey.client.remote_formats import headers
from sortkey.model.calls.steps import Pacing
from tests.client.orders import EVERY_TYPE, ORDERS, key
from tests.wire.serving import ServerProcess


class Parcel(sk.Item, table="fast-parcels"):
    number: int
    key = sk.Key("PARCEL#{number}")


ITEM = {"Item": {"customer": {"S": "ada"}, "number": {"N": "1"}}}


class ScriptedAnswer(NamedTuple):
    status: int = 200
    body: dict[str, Any] = ITEM
    checksum: int | None = None
    """A wrong checksum, if any."""


THROTTLED = ScriptedAnswer(400, {"__type": "com.amazon.coral.availability#ThrottlingException", "message": "later"})
MISSING = ScriptedAnswer(400, {"__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException", "message": "no"})


class Script:
    """An endpoint that sends scripted answers, the last one repeatedly, and records the requests."""

    def __init__(self) -> None:
        self.answers: list[ScriptedAnswer | None] = []
        self.requests: list[dict[str, str]] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                script.requests.append({name.lower(): value for name, value in self.headers.items()})
                self.rfile.read(int(self.headers["Content-Length"]))
                answer = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
                if answer is None:
                    self.close_connection = True
                    return
                body = orjson.dumps(answer.body)
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("x-amzn-RequestId", "R1")
                self.send_header("x-amz-crc32", str(crc32(body) if answer.checksum is None else answer.checksum))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Not logged."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}?store=dynamodb-local"

    def serve_tls(self, certificate: Path) -> str:
        """Takes only TLS from now on. Returns the URL."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        return self.url.replace("http://127.0.0.1", "https://localhost")

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def script() -> Iterator[Script]:
    made = Script()
    yield made
    made.close()


def get(url: str) -> dict[str, Any]:
    with sk.client(url) as client:
        return client.get_item(TableName="orders", Key=key(1))


def get_async(url: str) -> dict[str, Any]:
    async def session() -> dict[str, Any]:
        async with sk.async_client(url) as client:
            return await client.get_item(TableName="orders", Key=key(1))

    return asyncio.run(session())


@contextmanager
def stopped(server: ServerProcess) -> Iterator[ServerProcess]:
    try:
        yield server
    finally:
        server.stop()


BOTH = pytest.mark.parametrize("read", [get, get_async])
Read = Callable[[str], dict[str, Any]]


@BOTH
def test_a_complete_answer_takes_one_request(script: Script, read: Read) -> None:
    script.answers = [ScriptedAnswer()]
    answer = read(script.url)
    assert answer["Item"] == ITEM["Item"]
    metadata = answer["ResponseMetadata"]
    assert (metadata["RequestId"], metadata["HTTPStatusCode"], metadata["RetryAttempts"]) == ("R1", 200, 0)
    assert metadata["HTTPHeaders"]["x-amzn-requestid"] == "R1"
    (request,) = script.requests
    assert request["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert request["user-agent"].startswith("Botocore/") or request["user-agent"].startswith("aiobotocore/")


# After throttling, a bad gateway, a broken connection or damaged bytes, botocore sends the read again.
@pytest.mark.parametrize("trouble", [THROTTLED, ScriptedAnswer(502, {}), None, ScriptedAnswer(checksum=1)])
@BOTH
@pytest.mark.slow
def test_botocore_repeats_other_reads(script: Script, read: Read, trouble: ScriptedAnswer | None) -> None:
    script.answers = [trouble, ScriptedAnswer()]
    assert read(script.url)["Item"] == ITEM["Item"]
    assert len(script.requests) == 2


@BOTH
def test_errors_are_botocores(script: Script, read: Read) -> None:
    script.answers = [MISSING]
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        read(script.url)


# A role has a session token, which is signed as well.
@BOTH
def test_signatures_have_the_token(script: Script, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    script.answers = [ScriptedAnswer()]
    read(script.url)
    assert script.requests[0]["x-amz-security-token"] == "token"
    assert "AKID" in script.requests[0]["authorization"]
    assert "x-amz-security-token" in script.requests[0]["authorization"]


# A proxy may serve an endpoint under a path, which the fast path would not sign.
@BOTH
def test_an_endpoint_under_a_path_is_botocores(script: Script, read: Read) -> None:
    script.answers = [ScriptedAnswer()]
    read(script.url.replace("?", "/below?"))
    assert "attempt=1" in script.requests[0]["amz-sdk-request"]


def put(url: str, config: Config | None = None) -> dict[str, Any]:
    with sk.client(url, config=config) as client:
        return client.put_item(TableName="orders", Item=EVERY_TYPE)


def put_async(url: str, config: Config | None = None) -> dict[str, Any]:
    async def session() -> dict[str, Any]:
        async with sk.async_client(url, config=config) as client:
            return await client.put_item(TableName="orders", Item=EVERY_TYPE)

    return asyncio.run(session())


WRITES = pytest.mark.parametrize("write", [put, put_async])


@WRITES
def test_a_write_takes_one_request(script: Script, write: Read) -> None:
    script.answers = [ScriptedAnswer(body={"Attributes": {"content": {"B": "AP8="}}})]
    answer = write(script.url)
    assert answer["Attributes"] == {"content": {"B": b"\0\xff"}}
    assert answer["ResponseMetadata"]["RequestId"] == "R1"
    (request,) = script.requests
    assert request["x-amz-target"] == "DynamoDB_20120810.PutItem"
    assert "amz-sdk-request" not in request


# It is botocore's decision which requests may be sent again: those that it would have sent again itself.
@pytest.mark.parametrize("trouble", [THROTTLED, ScriptedAnswer(502, {}), ScriptedAnswer(429, {}), None])
@WRITES
@pytest.mark.slow
def test_botocore_repeats_writes(script: Script, write: Read, trouble: ScriptedAnswer | None) -> None:
    script.answers = [trouble, ScriptedAnswer(body={})]
    write(script.url)
    first, second = script.requests
    assert "amz-sdk-request" not in first
    assert "attempt=1" in second["amz-sdk-request"]


# A linearizability checker found it: an ADD without retries, whose server was killed, was done twice.
@pytest.mark.parametrize("trouble", [ScriptedAnswer(500, {}), None])
@pytest.mark.parametrize("by", ["config", "environment"])
@WRITES
def test_a_client_without_retries_sends_a_write_once(
    script: Script, write: Any, trouble: ScriptedAnswer | None, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.answers = [trouble, ScriptedAnswer(body={})]
    if by == "environment":
        monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    config = Config(retries={"total_max_attempts": 1}) if by == "config" else None
    with pytest.raises((ClientError, BotoCoreError)):
        write(script.url, config)
    assert len(script.requests) == 1


UNMET = ScriptedAnswer(
    400,
    {
        "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "message": "The conditional request failed",
        "Item": {"content": {"B": "AP8="}},
    },
)


# The write was not made, and the error says all: to send it again would only cost.
@WRITES
def test_an_error_of_a_write_takes_one_request_and_is_botocores(script: Script, write: Read) -> None:
    script.answers = [UNMET]
    with pytest.raises(ClientError, match="ConditionalCheckFailedException") as found:
        write(script.url)
    assert len(script.requests) == 1
    ours: dict[str, Any] = dict(found.value.response)
    assert ours["Item"] == {"content": {"B": b"\0\xff"}}
    assert found.value.operation_name == "PutItem"
    assert type(found.value).__name__ == "ConditionalCheckFailedException"
    # Under a path, botocore sends it.
    with pytest.raises(ClientError) as found:
        write(script.url.replace("?", "/below?"))
    theirs: dict[str, Any] = dict(found.value.response)
    for response in (ours, theirs):
        del response["ResponseMetadata"]
    assert ours == theirs


def test_a_write_whose_answer_cannot_be_read_is_not_sent_again(script: Script) -> None:
    script.answers = [ScriptedAnswer(body={"Attributes": [1]}, checksum=1)]
    put(script.url)
    assert len(script.requests) == 1


# A session waits by itself, and adapts: botocore would wait in its place first.
def test_a_session_is_told_at_once_that_the_store_throttles(script: Script) -> None:
    no_fence = ScriptedAnswer(body={})
    script.answers = [no_fence, THROTTLED, ScriptedAnswer(body={})]
    with sk.connect(script.url, pacing=Pacing(first_pause=0.0)) as db:
        db.put(Parcel(number=1))
    assert [request.get("amz-sdk-request") for request in script.requests[1:]] == [None, None]


# The endpoint checks what was signed: a wrong signature would send every request a second time, through botocore.
@pytest.mark.slow
def test_every_request_on_an_endpoint_with_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    keys = tmp_path / "keys.json"
    keys.write_bytes(orjson.dumps({"AKID": {"secret": "secret"}}))
    keys.chmod(0o600)
    with stopped(ServerProcess("--memory", "--keys", keys)) as server, sk.client(server.url) as client:
        client.create_table(**ORDERS)
        # From here on botocore is not to be had.
        monkeypatch.setattr(BaseClient, "_make_api_call", None)
        client.put_item(TableName="orders", Item=EVERY_TYPE)
        assert client.get_item(TableName="orders", Key=key(1))["Item"] == EVERY_TYPE
        asked = {"RequestItems": {"orders": {"Keys": [key(1), key(2)]}}}
        assert client.batch_get_item(**asked)["Responses"] == {"orders": [EVERY_TYPE]}
        found = client.query(
            TableName="orders",
            KeyConditionExpression="customer = :c",
            ExpressionAttributeValues={":c": {"S": "ada"}},
            Limit=1,
        )
        assert found["Items"] == [EVERY_TYPE]
        assert found["LastEvaluatedKey"] == key(1)


MOMENT = "20260824T123000Z"


@pytest.mark.parametrize("token", [None, "a+token/="])
@pytest.mark.parametrize("url", ["http://127.0.0.1:8000/", "https://dynamodb.eu-west-1.amazonaws.com/"])
@pytest.mark.parametrize("body", [b"{}", '{"é": "\\u0000"}'.encode()])
def test_signatures_are_botocores(url: str, token: str | None, body: bytes) -> None:
    credentials = ReadOnlyCredentials("AKID", "secret/+", token)
    known = {**headers("GetItem"), "Host": host_of(url)}
    ours = signed(known, body, credentials, "eu-west-1", "dynamodb", MOMENT)
    request = AWSRequest(
        method="POST", url=url, headers={name: ours[name] for name in ours if name != "Authorization"}, data=body
    )
    request.context["timestamp"] = MOMENT
    theirs: Any = SigV4Auth(credentials, "dynamodb", "eu-west-1")
    text = theirs.string_to_sign(request, theirs.canonical_request(request))
    assert ours["Authorization"].endswith(f", Signature={theirs.signature(text, request)}")
    assert f"Credential={theirs.scope(request)}, " in ours["Authorization"]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8000/", "127.0.0.1:8000"),
        ("http://localhost:80/", "localhost"),
        ("https://db.example:443", "db.example"),
        ("https://db.example:80", "db.example:80"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://[::1]:80/", "[::1]"),
        ("https://db.example", "db.example"),
    ],
)
def test_hosts(url: str, host: str) -> None:
    assert host_of(url) == host
