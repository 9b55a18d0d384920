"""The applications of docs/guides/web-frameworks.md answer as the page says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.testing import TestClient

from tests.docs.files import imported, write_files


@pytest.fixture
def modules(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    write_files("guides/web-frameworks.md", tmp_path)
    with imported(tmp_path, "app", "wsgi") as (app, wsgi):
        yield app, wsgi


@pytest.fixture
def client(modules: tuple[Any, Any]) -> Iterator[TestClient[Any]]:
    with TestClient(modules[0].app) as client:
        yield client


def create(client: TestClient[Any], name: str, **fields: Any) -> Any:
    return client.post("/notes", json={"owner": "ada", "id": name, "text": "first", **fields})


def test_items_are_request_and_response_types(client: TestClient[Any]) -> None:
    answer = create(client, "1")
    assert (answer.status_code, answer.json()) == (201, {"owner": "ada", "id": "1", "text": "first", "revision": 1})
    schemas = client.get("/schema/openapi.json").json()["components"]["schemas"]
    assert schemas["Note"]["properties"]["text"] == {"type": "string", "maxLength": 1000}


def test_limits_are_checked_in_bodies(client: TestClient[Any]) -> None:
    assert create(client, "1", text="x" * 1001).status_code == 400


def test_failed_conditions_are_conflicts(client: TestClient[Any]) -> None:
    create(client, "1")
    assert create(client, "1").status_code == 409
    edit = {"text": "second", "revision": 1}
    assert client.patch("/notes/ada/1", json=edit).json()["revision"] == 2
    assert client.patch("/notes/ada/1", json=edit).status_code == 409


def test_a_missing_item_is_not_found(client: TestClient[Any]) -> None:
    answer = client.patch("/notes/ada/1", json={"text": "second", "revision": 1})
    assert answer.status_code == 404
    assert "does not exist" in answer.json()["error"]


def test_cursors_lead_from_page_to_page(client: TestClient[Any]) -> None:
    for number in range(25):
        create(client, f"{number:02}")
    first = client.get("/notes/ada").json()
    # As it stands, without escaping.
    second = client.get(f"/notes/ada?after={first['end_cursor']}").json()
    assert [len(first["items"]), len(second["items"]), second["has_next"]] == [20, 5, False]


def test_a_cursor_of_another_owner_is_rejected(client: TestClient[Any]) -> None:
    for number in range(25):
        create(client, f"{number:02}")
    cursor = client.get("/notes/ada").json()["end_cursor"]
    assert client.get(f"/notes/bob?after={cursor}").status_code == 400


def test_errors_of_the_program_are_not_hidden(modules: tuple[Any, Any]) -> None:
    app, _ = modules
    with pytest.raises(app.sk.NoAccessPath):
        app.answer(None, app.sk.NoAccessPath("no key has it"))
    assert app.answer(None, app.sk.DeadlineExceeded("late")).status_code == 503


def test_items_are_request_and_response_types_of_fastapi(modules: tuple[Any, Any], tmp_path: Path) -> None:
    async def calls(app: Any) -> tuple[list[int], Any]:
        transport = httpx.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://t") as client,
        ):
            note = {"owner": "ada", "id": "1", "text": "first"}
            answers = [await client.post("/notes", json=body) for body in (note, note, {**note, "text": "x" * 1001})]
            return [each.status_code for each in answers], (await client.get("/notes/ada")).json()["items"]

    # It imports the module of the other application.
    assert modules
    with imported(tmp_path, "fastapi_app") as (module,):
        statuses, notes = asyncio.run(calls(module.app))
    assert statuses == [200, 409, 422]
    assert notes == [{"owner": "ada", "id": "1", "text": "first", "revision": 1}]


def test_threads_share_the_session_of_the_process(modules: tuple[Any, Any]) -> None:
    app, wsgi = modules
    statuses: list[str] = []

    def call(name: str) -> bytes:
        return b"".join(wsgi.application({"PATH_INFO": f"/ada/{name}"}, lambda status, _: statuses.append(status)))

    with ThreadPoolExecutor(8) as threads:
        sessions = set(threads.map(lambda _: wsgi.db(), range(8)))
        assert len(sessions) == 1
        wsgi.db().put(app.Note(owner="ada", id="1", text="first"))
        bodies = list(threads.map(call, ["1", "2"]))
    assert bodies == [b'{"owner":"ada","id":"1","text":"first","revision":1}', b""]
    assert sorted(statuses) == ["200 OK", "404 Not Found"]
    wsgi.db().close()
