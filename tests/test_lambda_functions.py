"""The functions of a stack, with events as AWS sends them; the store is a folder, our endpoint's engine."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.server import ThreadedMotoServer

import sortkey as sk
from sortkey import lambda_functions
from sortkey.feeds.shards.dead_letter import as_json
from sortkey.server import lambda_app, tokens
from sortkey.services.interface import BadSettings
from sortkey_services.favourites.model import Favourite
from sortkey_services.pricing.model import CHANGES

# As a function URL with AuthType AWS_IAM sends it, but for the ids.
URL_EVENT = """
{
  "version": "2.0",
  "routeKey": "$default",
  "rawPath": "%(path)s",
  "rawQueryString": "%(query)s",
  "headers": {
    "x-amzn-tls-cipher-suite": "TLS_AES_128_GCM_SHA256",
    "x-amzn-tls-version": "TLSv1.3",
    "x-amz-date": "20261118T090000Z",
    "x-forwarded-proto": "https",
    "x-forwarded-port": "443",
    "x-forwarded-for": "203.0.113.7",
    "accept": "*/*",
    "x-amzn-trace-id": "Root=1-691c3b10-0d6c4f1b2f6b0f2d5f8e7a11",
    "host": "abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-west-1.on.aws",
    "user-agent": "curl/8.5.0"
  },
  "requestContext": {
    "accountId": "123456789012",
    "apiId": "abcdefghijklmnopqrstuvwxyz012345",
    "authorizer": {
      "iam": {
        "accessKey": "ASIAEXAMPLE",
        "accountId": "123456789012",
        "callerId": "AROAEXAMPLE:ada",
        "cognitoIdentity": null,
        "principalOrgId": "o-example",
        "userArn": "arn:aws:sts::123456789012:assumed-role/shop/ada",
        "userId": "AROAEXAMPLE:ada"
      }
    },
    "domainName": "abcdefghijklmnopqrstuvwxyz012345.lambda-url.eu-west-1.on.aws",
    "domainPrefix": "abcdefghijklmnopqrstuvwxyz012345",
    "http": {
      "method": "%(method)s",
      "path": "%(path)s",
      "protocol": "HTTP/1.1",
      "sourceIp": "203.0.113.7",
      "userAgent": "curl/8.5.0"
    },
    "requestId": "e1506fd5-9e7b-434f-bd42-4f8fa224b599",
    "routeKey": "$default",
    "stage": "$default",
    "time": "18/Nov/2026:09:00:00 +0000",
    "timeEpoch": 1795338000000
  },
  "isBase64Encoded": false
}
"""


class Context:
    """Lambda's, of which handlers need the time that is left."""

    def __init__(self, seconds: float = 20.0) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self._seconds * 1000)


def url_event(line: str, body: Any = None, *, base64: bool = False) -> dict[str, Any]:
    method, _, target = line.partition(" ")
    path, _, query = target.partition("?")
    event: dict[str, Any] = json.loads(URL_EVENT % {"method": method, "path": path, "query": query})
    if body is not None:
        text = json.dumps(body)
        event |= {"body": b64encode(text.encode()).decode() if base64 else text, "isBase64Encoded": base64}
        event["headers"]["content-type"] = "application/json"
    return event


def send(line: str, body: Any = None, **more: Any) -> tuple[int, Any]:
    return answered(url_event(line, body, **more))


def answered(event: dict[str, Any]) -> tuple[int, Any]:
    answer = lambda_functions.http(event, Context())
    assert not answer["isBase64Encoded"]
    return answer["statusCode"], json.loads(answer["body"]) if answer["body"] else None


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in ("TOKENS", "SETTINGS", "FEED"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("STORE", f"file:{tmp_path / 'data'}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    yield monkeypatch
    lambda_functions.close()


@pytest.fixture
def favourites(environment: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    environment.setenv("SERVICE", "favourites")
    return environment


class Streams:
    """The records of a table's stream, as Lambda delivers them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def event(self, table: str) -> dict[str, Any]:
        return asyncio.run(self._event(table))

    async def _event(self, table: str) -> dict[str, Any]:
        async with sk.async_client(self._folder) as client:
            (stream,) = (await client.list_streams(TableName=table))["Streams"]
            arn = stream["StreamArn"]
            (shard,) = (await client.describe_stream(StreamArn=arn))["StreamDescription"]["Shards"]
            start = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = (await client.get_shard_iterator(**start))["ShardIterator"]
            records = (await client.get_records(ShardIterator=iterator))["Records"]
        window = {"start": "2026-11-18T09:00:00Z", "end": "2026-11-18T09:01:00Z"}
        return {
            "Records": [json.loads(as_json(each)) for each in records],
            "shardId": shard["ShardId"],
            "eventSourceARN": arn,
            "window": window,
            "state": {},
            "isFinalInvokeForWindow": False,
            "isWindowTerminatedEarly": False,
        }


@pytest.fixture
def streams(tmp_path: Path) -> Streams:
    return Streams(tmp_path / "data")


@pytest.mark.usefixtures("favourites")
def test_requests_are_answered_as_by_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    status, marked = send("PUT /favourites/ada/r0001")
    assert (status, marked["favourite"]) == (200, True)
    assert send("GET /favourites/ada/r0001")[1]["favourite"]
    assert send("GET /favourites/ada?first=1")[1]["items"][0]["restaurant"] == "r0001"
    assert send("GET /favourites/ada?first=no")[0] == 400
    assert send("GET /nowhere")[1]["error"]["code"] == "not_found"
    answer = lambda_functions.http(url_event("HEAD /favourites/ada/r0001"), Context())
    assert (answer["statusCode"], answer["body"]) == (200, "")
    logged = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert logged[-1]["id"] == answer["headers"]["x-request-id"]
    assert logged[0]["token"] == "arn:aws:sts::123456789012:assumed-role/shop/ada"


# A function URL leaves the path as it was sent, an HTTP API decodes it. Neither may change which favourite is meant.
@pytest.mark.usefixtures("favourites")
def test_a_path_means_the_same_encoded_and_decoded() -> None:
    assert send("PUT /favourites/caf%C3%A9%20no%201/100%25")[0] == 200
    decoded = url_event("GET /")
    decoded["rawPath"] = "/favourites/café no 1/100%"
    assert answered(decoded)[1]["favourite"]
    asked = url_event("GET /")
    asked["rawPath"] = "/favourites/ada/what?first=1"
    assert answered(asked)[1] == {"favourite": False}


@pytest.mark.usefixtures("favourites")
def test_the_stage_of_an_http_api_is_not_part_of_the_path() -> None:
    event = url_event("GET /prod/favourites/ada/r0001")
    event["requestContext"]["stage"] = "prod"
    assert answered(event) == (200, {"favourite": False})


def test_a_body_may_be_base64(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("SERVICE", "social")
    given = {"name": "Ada Lovelace", "city": "London"}
    assert send("PUT /social/users/ada", given, base64=True)[0] == 200
    assert send("GET /social/users/ada")[1]["name"] == "Ada Lovelace"


# A function URL that somebody has opened to all must not serve a service that asks for no tokens.
@pytest.mark.usefixtures("favourites")
def test_without_tokens_iam_must_know_the_caller() -> None:
    event = url_event("PUT /favourites/ada/r0001")
    del event["requestContext"]["authorizer"]
    event["headers"]["x-sortkey-iam-caller"] = "arn:aws:iam::123456789012:user/forged"
    status, answer = answered(event)
    assert (status, answer["error"]["code"]) == (403, "forbidden")
    assert send("GET /favourites/ada/r0001")[1] == {"favourite": False}


def test_with_tokens_their_holders_may_call(favourites: pytest.MonkeyPatch) -> None:
    token, entry = tokens.create("reader", ["favourites:read"])
    favourites.setenv("TOKENS", entry)
    assert send("GET /favourites/ada/r0001")[0] == 401
    event = url_event("GET /favourites/ada/r0001")
    event["headers"]["authorization"] = f"Bearer {token}"
    assert answered(event)[0] == 200
    event["requestContext"]["http"]["method"] = "PUT"
    assert answered(event)[0] == 403


@pytest.mark.usefixtures("favourites")
def test_an_answer_that_is_late_or_too_large_is_an_error_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = lambda_functions.http(url_event("GET /favourites/ada"), Context(0.0))
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (503, "store_unavailable")
    monkeypatch.setattr(lambda_app, "ANSWER_BYTES", 10)
    assert send("GET /favourites/ada")[1]["error"]["code"] == "too_large"


@pytest.mark.slow
def test_graphql_is_served_too(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("SERVICE", "pricing")
    status, answer = send("POST /graphql", {"query": "{ __typename }"})
    assert (status, answer) == (200, {"data": {"__typename": "Query"}})
    page = lambda_functions.http(url_event("GET /docs"), Context())
    assert page["headers"]["content-type"].startswith("text/html")
    assert page["body"].startswith("<!")


# Delivered twice, as Lambda may, each mark still counts once.
def test_the_counts_follow_the_stream(favourites: pytest.MonkeyPatch, streams: Streams) -> None:
    for user in ("ada", "bob", "cy"):
        send(f"PUT /favourites/{user}/r0001")
    send("DELETE /favourites/bob/r0001")
    favourites.setenv("FEED", "favourite-counts")
    event = streams.event(Favourite.__table__.name)
    for _ in range(2):
        assert lambda_functions.feed(event, Context()) == {"batchItemFailures": [], "state": {}}
    final = event | {"Records": [], "isFinalInvokeForWindow": True}
    assert lambda_functions.feed(final, Context()) == {"batchItemFailures": [], "state": {}}
    assert send("GET /restaurants/r0001/favourites")[1]["count"] == 2


# Without a window Lambda does not tell the shard, and an aggregate cannot count exactly once: nothing may be lost.
def test_without_the_window_an_aggregate_refuses(favourites: pytest.MonkeyPatch, streams: Streams) -> None:
    send("PUT /favourites/ada/r0001")
    favourites.setenv("FEED", "favourite-counts")
    records = streams.event("favourites")["Records"]
    answer = lambda_functions.feed({"Records": records}, Context())
    assert answer["batchItemFailures"] == [{"itemIdentifier": records[0]["dynamodb"]["SequenceNumber"]}]


@pytest.mark.slow
def test_prices_take_effect_by_schedules(environment: pytest.MonkeyPatch, streams: Streams) -> None:
    environment.setenv("SERVICE", "pricing")
    environment.setenv("FEED", "price-transitions")
    environment.setenv("DUE_ARN", "arn:aws:lambda:eu-west-1:123456789012:function:due")
    environment.setenv("ROLE_ARN", "arn:aws:iam::123456789012:role/scheduler")
    environment.setenv("DEAD_LETTERS_ARN", "arn:aws:sqs:eu-west-1:123456789012:dead-letters")
    environment.setenv("GROUP", "prices")
    with mock_aws():
        scheduler: Any = boto3.client("scheduler", "eu-west-1")
        scheduler.create_schedule_group(Name="prices")
        changed = {"store": "12345", "product": "P1", "amount": "1.50"}
        assert send("POST /pricing/changes", changed)[0] == 202
        assert lambda_functions.schedules(streams.event(CHANGES.name), Context())["batchItemFailures"] == []
        (listed,) = scheduler.list_schedules(GroupName="prices")["Schedules"]
        target = scheduler.get_schedule(Name=listed["Name"], GroupName="prices")["Target"]
    assert target["DeadLetterConfig"]["Arn"].endswith("dead-letters")
    assert lambda_functions.due(json.loads(target["Input"]), Context()) == {"handled": True}
    history = send("GET /pricing/stores/12345/products/P1/history")[1]["items"]
    assert [each["amount"] for each in history] == [1.5]


@pytest.mark.slow
def test_maintenance_runs_until_the_time_is_nearly_over(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("SERVICE", "goals")
    send("GET /goals/nobody")  # creates the tables
    assert lambda_functions.maintenance({}, Context(6.2)) == {}
    lambda_functions.close()
    environment.setenv("SERVICE", "favourites")
    with pytest.raises(BadSettings, match="'favourites' has no maintenance"):
        lambda_functions.maintenance({}, Context())


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("SERVICE", "", "the function needs SERVICE in its environment"),
        ("SERVICE", "favorites", "there is no service 'favorites'"),
        ("SETTINGS", "{", "SETTINGS is not JSON"),
        ("SETTINGS", "[]", "SETTINGS is an object of JSON"),
        ("SETTINGS", '{"timezone": "Mars"}', "timezone"),
        ("FEED", "favourite-count", "no ChangeFeed 'favourite-count'; those that it has: favourite-counts"),
    ],
)
def test_a_wrong_environment_is_told(
    name: str, value: str, message: str, favourites: pytest.MonkeyPatch, streams: Streams
) -> None:
    send("PUT /favourites/ada/r0001")
    event = streams.event("favourites")
    lambda_functions.close()
    favourites.setenv("FEED", "favourite-counts")
    favourites.setenv(name, value)
    with pytest.raises(BadSettings, match=message):
        lambda_functions.feed(event, Context())


# The async client, through the network, as in Lambda; moto is the DynamoDB.
@pytest.mark.slow
def test_the_functions_use_aws(favourites: pytest.MonkeyPatch) -> None:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        favourites.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        favourites.setenv("STORE", f"http://{host}:{port}?store=aws")
        assert send("PUT /favourites/ada/r0001")[1]["favourite"]
        assert send("GET /favourites/ada")[1]["items"][0]["restaurant"] == "r0001"
        lambda_functions.close()
    finally:
        server.stop()
