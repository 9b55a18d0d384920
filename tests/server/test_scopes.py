"""Scopes for a part of a service: a tenant, or a path. Nothing leads around them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from litestar import asgi, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody
from litestar.types import ControllerRouterHandler, Receive, Scope, Send

import sortkey as sk
from sortkey.cli.main import main
from sortkey.cli.token import scopes_of
from sortkey.graphql.endpoint import graphql_routes
from sortkey.server import tokens
from sortkey.server.app import app_of
from sortkey.server.idempotency import Idempotency
from sortkey.server.tokens import BadTokens, KnownTokens
from sortkey_services.boosts.service import BoostsService
from sortkey_services.boosts.tenants import read_settings
from tests.graphql.bookshop import endpoint
from tests.server.calling import Answer, call

Caller = NamedDependency[sk.services.Caller]


class Shops:
    """Routes with tenants, and without, by every path of the server."""

    name = "shops"
    feeds: Sequence[sk.feeds.ChangeFeed[Any]] = ()

    async def start(self) -> None:
        pass

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        def by(path: str, **options: Any) -> list[Any]:
            @get(f"/{path}/{{tenant:str}}/prices/{{product:str}}", **options)
            async def show(tenant: FromPath[str], product: FromPath[str]) -> list[str]:
                return [tenant, product]

            @post(f"/{path}/{{tenant:str}}/search", status_code=200, scope="read", **options)
            async def search(tenant: FromPath[str], caller: Caller, data: JSONBody[list[str]]) -> list[str]:
                if "write" in data:
                    caller.require("write")
                return [tenant]

            @get(f"/{path}/all", **options)
            async def everything() -> list[str]:
                return ["all"]

            return [show, search, everything]

        @asgi("/raw-all", copy_scope=False, scope="read")
        async def raw(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"raw", "more_body": False})

        return [*by("fast", fast=True), *by("general"), raw]


class Untenanted(Shops):
    name = "plain"

    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        @get("/plain")
        async def plain() -> str:
            return "plain"

        return [plain]


def known(path: Path, *scopes: str, services: Sequence[str] = ("shops", "boosts", "plain")) -> tuple[KnownTokens, str]:
    token, entry = tokens.create("holder", scopes)
    file = path / "tokens.toml"
    file.write_text(entry)
    file.chmod(0o600)
    return tokens.load(file, services), token


def ask(path: Path, scopes: Sequence[str], method: str, target: str, body: object = None) -> Answer:
    loaded, token = known(path, *scopes)
    app = app_of([Shops()], tokens=loaded)
    return asyncio.run(call(app, method, target, body, authorization=f"Bearer {token}"))


ALLOWED = [
    ("shops:read:de", "/fast/de/prices/p"),
    ("shops:read:de", "/general/de/prices/p"),
    ("shops:read:de", "/general/de/prices/p/"),
    ("shops:read:de", "/fast/d%65/prices/p"),
    ("shops:read:Köln", "/fast/K%C3%B6ln/prices/p"),
    ("shops:read:Köln", "/general/K%C3%B6ln/prices/p"),
    ("shops:read:/fast/de", "/fast/de/prices/p"),
    ("shops:read:/general/de/prices", "/general/de/prices/p"),
    ("shops:read:/general/de/prices/p", "/general/de/prices/p"),
    ("shops:read:/general/de/prices/p", "/general/de/prices/p/"),
    ("shops:read:/raw-all", "/raw-all"),
    ("shops:read:/fast/all", "/fast/all"),
    ("shops:read", "/fast/all"),
]
REFUSED = [
    # another tenant, by any spelling
    ("shops:read:de", "/fast/gr/prices/p"),
    ("shops:read:de", "/general/gr/prices/p"),
    ("shops:read:de", "/fast/DE/prices/p"),
    ("shops:read:de", "/general/de%20/prices/p"),
    ("shops:read:de", "/general/de%00/prices/p"),
    ("shops:read:de", "/general/d/prices/p"),
    ("shops:read:de", "/general/gr/prices/p?tenant=de"),
    # what names no tenant
    ("shops:read:de", "/fast/all"),
    ("shops:read:de", "/general/all"),
    ("shops:read:de", "/raw-all"),
    ("shops:read:all", "/fast/all"),
    # another right
    ("shops:write:de", "/fast/de/prices/p"),
    # paths: whole segments, as they are
    ("shops:read:/fast/de", "/fast/deu/prices/p"),
    ("shops:read:/fast/de", "/fast/DE/prices/p"),
    ("shops:read:/general/de", "/general/gr/prices/p"),
    ("shops:read:/general/de", "/general/all"),
    ("shops:read:/general/de/prices/p", "/general/de/prices/q"),
    ("shops:read:/raw", "/raw-all"),
    ("shops:read:/general/de", "//general/gr/prices/p"),
]
"""Of these, the router finds a route, so that only the scope is in the way."""
NOWHERE = [
    ("shops:read:de", "/general/de%2F..%2Fgr/prices/p"),
    ("shops:read:de", "/general/de/../gr/prices/p"),
    ("shops:read:/general/de", "/general/de/../gr/prices/p"),
    ("shops:read:/general/de", "/general/de%2F..%2Fgr/prices/p"),
    ("shops:read:/general/de", "/general/de/..%2F../general/gr/prices/p"),
    ("shops:read:/general/de", "/./general/gr/prices/p"),
    ("shops:read:de", "/general//prices/p"),
]


@pytest.mark.parametrize(("scope", "target"), ALLOWED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_is_in_the_scope(tmp_path: Path, scope: str, target: str, method: str) -> None:
    assert ask(tmp_path, [scope], method, target).status == 200


@pytest.mark.parametrize(("scope", "target"), REFUSED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_is_beyond_the_scope(tmp_path: Path, scope: str, target: str, method: str) -> None:
    assert ask(tmp_path, [scope], method, target).status == 403


# Dots and slashes in disguise: a route that took them for another tenant would be a way around.
@pytest.mark.parametrize(("scope", "target"), NOWHERE)
def test_what_leads_nowhere(tmp_path: Path, scope: str, target: str) -> None:
    assert ask(tmp_path, [scope], "GET", target).status in (403, 404)


def test_the_answer_says_what_the_token_is_good_for(tmp_path: Path) -> None:
    answer = ask(tmp_path, ["shops:read:de", "shops:read:/fast/at"], "GET", "/fast/gr/prices/p")
    assert answer.error["message"] == "The token 'holder' has the scope 'shops:read' only for de, /fast/at."


def test_several_scopes_add_up(tmp_path: Path) -> None:
    for tenant, status in (("de", 200), ("at", 200), ("gr", 403)):
        scopes = ["shops:read:de", "shops:read:/fast/at", "shops:write:gr"]
        assert ask(tmp_path, scopes, "GET", f"/fast/{tenant}/prices/p").status == status


# A handler whose body decides asks for another right; it is bound to the same tenant.
@pytest.mark.parametrize("path", ["fast", "general"])
@pytest.mark.parametrize(
    ("scopes", "status"),
    [
        (["shops:read:de", "shops:write:de"], 200),
        (["shops:read:de", "shops:write:gr"], 403),
        (["shops:read:de", "shops:write:/fast/gr", "shops:write:/general/gr"], 403),
        (["shops:read:de", "shops:write"], 200),
    ],
)
def test_rights_that_a_handler_asks_for(tmp_path: Path, path: str, scopes: list[str], status: int) -> None:
    assert ask(tmp_path, scopes, "POST", f"/{path}/de/search", ["write"]).status == status


class WithGraphQL(Shops):
    @property
    def routes(self) -> Sequence[ControllerRouterHandler]:
        return [*super().routes, *graphql_routes(endpoint())]


# One path for everything: a query may ask about any tenant.
@pytest.mark.parametrize(
    ("scopes", "query", "mutation"),
    [
        (["shops:read:de", "shops:write:de"], 403, 403),
        (["shops:read:/fast", "shops:write:/graphql"], 403, 403),
        (["shops:read:/graphql", "shops:write:de"], 200, 403),
        (["shops:read:/graphql", "shops:write:/fast"], 200, 403),
        (["shops:read:/graphql", "shops:write:/graphql"], 200, 200),
    ],
)
@pytest.mark.parametrize("path", ["/graphql", "/graphql/"])
def test_graphql(tmp_path: Path, scopes: list[str], query: int, mutation: int, path: str) -> None:
    loaded, token = known(tmp_path, *scopes)
    app = app_of([WithGraphQL()], tokens=loaded)
    for sent, status in (("{ book { title } }", query), ('mutation { add(ids: ["7"]) { id } }', mutation)):
        answer = asyncio.run(call(app, "POST", path, {"query": sent}, authorization=f"Bearer {token}"))
        assert answer.status == status


# The body of a request may name tenants, too.
@pytest.mark.parametrize("tenants", [["gr"], ["de", "gr"], [None, "gr"]])
def test_events_of_another_tenant_in_a_body(tmp_path: Path, tenants: list[str | None]) -> None:
    loaded, token = known(tmp_path, "boosts:write:de", "boosts:read")
    event = {
        "eventId": "e",
        "campaignId": "c",
        "partnerId": "p",
        "areas": ["*"],
        "score": 1.5,
        "daysOfWeek": ["Monday"],
        "timeSlots": ["all-day"],
        "status": "ACTIVE",
        "updatedAt": "2026-08-24T12:00:00Z",
    }
    events = [event if tenant is None else {**event, "tenant": tenant} for tenant in tenants]

    async def whole() -> None:
        async with sk.async_connect("memory:") as session:
            boosts = BoostsService(session, read_settings({}))
            await boosts.start()
            app = app_of([boosts], tokens=loaded, idempotency=Idempotency(session))
            bearer = f"Bearer {token}"
            sent = await call(app, "POST", "/boosts/de/campaigns", events, authorization=bearer)
            assert (sent.status, "differs from 'de'" in sent.error["message"]) == (400, True)
            assert (await call(app, "POST", "/boosts/gr/campaigns", events[-1], authorization=bearer)).status == 403
            for tenant in ("de", "gr"):
                shown = await call(app, "GET", f"/boosts/{tenant}/partners/p", authorization=bearer)
                assert shown.status == 404

    asyncio.run(whole())


# Such a token could do nothing; whoever made it meant something else.
def test_a_tenant_of_a_service_without_tenants(tmp_path: Path) -> None:
    loaded, _ = known(tmp_path, "plain:read:de")
    with pytest.raises(BadTokens, match="'holder' has the scope plain:read:de, but no route of plain names a tenant"):
        app_of([Untenanted()], tokens=loaded)
    # It may be meant for another server.
    app_of([Shops()], tokens=loaded)


@pytest.mark.parametrize(
    ("scope", "message"),
    [
        ("shops:read:", "has no tenant"),
        ("shops:read:a b", "has no tenant"),
        ("shops:read:a/b", "has no tenant"),
        ('shops:read:a"b', "has no tenant"),
        ("shops:read:" + "x" * 257, "has no tenant"),
        ("shops:read:/", "has no path"),
        ("shops:read://a", "has no path"),
        ("shops:read:/a/", "has no path"),
        ("shops:read:/a/../b", "has no path"),
        ("shops:read:/a/./b", "has no path"),
        ("shops:read:/a%2Fb", "has no path"),
        ("shops:read:/a?b=c", "has no path"),
        ("shops:admin:de", "unknown scope"),
        ("shop:read:de", "unknown scope"),
        ("shops", "unknown scope"),
    ],
)
def test_a_scope_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, scope: str, message: str
) -> None:
    with pytest.raises(BadTokens, match=message):
        tokens.read_scopes([scope], ["shops"])
    monkeypatch.setattr("sortkey.cli.token.registered_names", lambda: ["shops"])
    assert main(["token", "holder", scope, "--tokens", str(tmp_path / "tokens.toml")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert not (tmp_path / "tokens.toml").exists()


def test_scopes_on_the_command_line() -> None:
    assert scopes_of(["boosts:write:de", "boosts:read:/boosts/de"]) == ["boosts:write:de", "boosts:read:/boosts/de"]
    module = "tests.server.notes:DEFINITION"
    assert scopes_of([f"{module}:read", f"{module}:write:de"]) == ["notes:read", "notes:write:de"]
