"""The console of a real server of services: beside their routes, with their tokens, and without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sortkey.server import tokens
from tests.server.serving import Process, call

pytestmark = pytest.mark.slow


def test_it_shows_the_services_that_run() -> None:
    process = Process("serve", "notes", "--store", "memory:", "--demo")
    try:
        assert b"<!doctype html>" in process.call("GET", "/").body.lower()
        assert process.call("PUT", "/notes/s/a", {"text": "t"}).status == 200
        about = process.call("POST", "/console/api/about", {}).json()
        assert (about["command"], [each["name"] for each in about["services"]]) == ("serve", ["notes"])
        assert (about["services"][0]["demo"], about["has"]["feeds"], about["has"]["timers"]) == (True, True, False)
        tables = {each["name"]: each for each in process.call("POST", "/console/api/tables", {}).json()["tables"]}
        assert (tables["notes"]["service"], tables["sortkey-feeds"]["service"]) == ("notes", "sortkey")
        paths = process.call("POST", "/console/api/paths", {}).json()["paths"]
        assert next(each["calls"] for each in paths if each["path"] == "put Note") > 0
        search = {"method": "POST", "path": "/notes/demo/search", "body": {"names": ["0"]}}
        traced = process.call("POST", "/console/api/trace", {"requests": [search]}).json()
        assert traced["answers"][0]["calls"][0]["table"] == "notes"
        (feed,) = process.call("POST", "/console/api/feeds", {}).json()["feeds"]
        assert (feed["name"], feed["following"]) == ("note-copies", True)
        process.stop()
    finally:
        process.end()


def test_it_can_be_left_out() -> None:
    process = Process("serve", "notes", "--store", "memory:", "--no-console")
    try:
        assert process.call("GET", "/").status == 404
        assert process.call("POST", "/console/api/tables", {}).status == 404
        process.stop()
    finally:
        process.end()


# What somebody has done at the console is in the log, by the name of the token.
def test_calls_are_logged_with_the_token(tmp_path: Path) -> None:
    token, entry = tokens.create("ada", ["console:read", "console:write"])
    file, log = tmp_path / "tokens.toml", tmp_path / "log"
    file.write_text(entry)
    file.chmod(0o600)
    process = Process("serve", "notes", "--store", "memory:", "--tokens", file, log=str(log))
    try:
        client = process.client()
        assert call(client, "POST", "/console/api/tables", {}).status == 401
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        client.request("POST", "/console/api/tables", "{}", headers)
        assert client.getresponse().status == 200
        client.close()
        process.stop()
    finally:
        process.end()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    seen = [(each["path"], each["status"], each.get("token")) for each in lines if "console" in each["path"]]
    assert seen == [("/console/api/tables", 401, None), ("/console/api/tables", 200, "ada")]
