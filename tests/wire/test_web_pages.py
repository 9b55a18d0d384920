"""Browsers: an endpoint without keys keeps web pages out but those it was told; one with keys answers as AWS does."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from pathlib import Path

import boto3
import pytest

from sortkey.cli.arguments import origin
from sortkey.wire.protocol import Responses
from tests.wire.conftest import Serve
from tests.wire.serving import RawClient, request

ORIGIN = "http://localhost:5173"
PREFLIGHT = (
    "OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: {}\r\nAccess-Control-Request-Method: POST\r\n"
    "Access-Control-Request-Headers: authorization,content-type,x-amz-target\r\n\r\n"
)
ALLOWED = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization,content-type,x-amz-target",
    "access-control-max-age": "172800",
}
EXPOSED = {"access-control-expose-headers": "x-amzn-requestid,x-amzn-errortype,x-amzn-errormessage,date"}


def ask(client: RawClient, page: str) -> tuple[int, dict[str, str]]:
    """The status and the CORS headers of a preflight's answer."""
    client.send(PREFLIGHT.format(page).encode())
    answer = client.answer()
    return answer.status, cors(answer.headers)


def cors(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.startswith("access-control-")}


@pytest.mark.slow
def test_only_pages_of_allowed_origins(serve: Serve) -> None:
    client = RawClient(serve("--memory", "--allow-origin", ORIGIN).url)
    allowed = {"access-control-allow-origin": ORIGIN} | EXPOSED
    assert ask(client, ORIGIN) == (200, ALLOWED | allowed)
    assert ask(client, "https://evil.example") == (403, {})
    client.send(request("ListTables", {}, f"Origin: {ORIGIN}"))
    answer = client.answer()
    assert (answer.status, cors(answer.headers), answer.headers["vary"]) == (200, allowed, "Origin")
    client.send(request("ListTables", {}, "Origin: https://evil.example"))
    answer = client.answer()
    assert (answer.status, cors(answer.headers)) == (400, {})
    assert answer.json()["__type"].endswith("#AccessDeniedException")
    client.close()


# A browser shows a page an error only if its answer has the headers.
@pytest.mark.slow
def test_any_page_with_a_key(serve: Serve, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"AKID": {"secret": "secret"}}))
    keys.chmod(0o600)
    url = serve("--memory", "--keys", keys).url
    client = RawClient(url)
    every = {"access-control-allow-origin": "*"} | EXPOSED
    assert ask(client, ORIGIN) == (200, ALLOWED | every)
    client.send(request("ListTables", {}, f"Origin: {ORIGIN}"))
    answer = client.answer()
    assert (answer.status, cors(answer.headers)) == (400, every)
    client.close()
    dynamodb = boto3.client(
        "dynamodb", "eu-west-1", endpoint_url=url, aws_access_key_id="AKID", aws_secret_access_key="secret"
    )
    dynamodb.meta.events.register("before-sign.*.*", lambda request, **_: request.headers.add_header("Origin", ORIGIN))
    assert cors(dynamodb.list_tables()["ResponseMetadata"]["HTTPHeaders"]) == every


def test_no_headers_without_an_origin(client: RawClient) -> None:
    client.send(request("ListTables", {}))
    assert cors(client.answer().headers) == {}


def test_answers_without_a_request_have_none() -> None:
    responses = Responses("A" * 36, 0.0, lambda _origin: b"*")
    assert b"Access-Control" not in responses.answer(None, 400, b"")


@pytest.mark.parametrize("text", ["*", "localhost:5173", "http://a/b", "null"])
def test_an_origin_is_one_origin(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="is not an origin"):
        origin(text)
