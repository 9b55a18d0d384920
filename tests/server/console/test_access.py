"""Who may see and edit what, and what keeps other pages out."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sortkey.clock import SystemClock
from sortkey.engine.operations.policies import PolicyBook
from sortkey.server import tokens
from sortkey.server.console.access import KeyAccess
from sortkey.server.tokens import BadTokens, KnownTokens
from sortkey.wire.authentication import Key, KeyAuthentication
from tests.server.console.consoles import OPEN_ACCESS, Opened, Order, Page, Secret, opened, run, with_tokens

SERVICES = ("shop", "vault")
ROUTES = (
    "about",
    "overview",
    "overview/history",
    "findings",
    "tables",
    "model",
    "examples",
    "plan",
    "page",
    "item",
    "price",
    "run",
    "put",
    "delete",
    "code",
    "paths",
    "heat",
    "feeds",
    "letters",
    "letters/act",
    "timers",
    "live",
)


def tokens_of(folder: Path, **scopes: list[str]) -> tuple[KnownTokens, dict[str, str]]:
    file = folder / "tokens.toml"
    made = {name: tokens.create(name, each) for name, each in scopes.items()}
    file.write_text("\n".join(entry for _, entry in made.values()))
    file.chmod(0o600)
    return tokens.load(file, SERVICES), {name: f"Bearer {token}" for name, (token, _) in made.items()}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_needs_a_token(tmp_path: Path, route: str) -> None:
    known, made = tokens_of(tmp_path, good=["console:read"], other=["shop:read", "shop:write"])

    async def use(shop: Opened) -> None:
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer sk_wrong"}, 401),
            ({"authorization": made["other"]}, 403),
        ):
            answer = await shop.page.post(route, **headers)
            assert (answer.status, answer.error["code"]) == (status, "unauthorized" if status == 401 else "forbidden")

    run(use, access=with_tokens(known))


def test_the_page_and_how_to_log_in_need_no_token(tmp_path: Path) -> None:
    known, _ = tokens_of(tmp_path, good=["console:read"])

    async def use(shop: Opened) -> None:
        assert (await shop.page.get("/")).status == 200
        assert (await shop.page.get("/console/api/open")).json() == {"product": "sortkey", "auth": "token"}

    run(use, access=with_tokens(known))


def test_a_reader_edits_nothing(tmp_path: Path) -> None:
    known, made = tokens_of(tmp_path, reader=["console:read"], writer=["console:write"])

    async def use(shop: Opened) -> None:
        reader = {"authorization": made["reader"]}
        assert (await shop.page.post("about", **reader)).json()["you"] == {"name": "reader", "read": "all", "write": []}
        item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
        for name, body in (
            ("put", {"table": "shop", "item": item, "seen": None, "dryRun": True}),
            ("delete", {"table": "shop", "rows": [{"key": item, "seen": "x"}]}),
            ("letters/act", {"service": "shop", "ids": ["a/b/c"], "action": "drop"}),
        ):
            answer = await shop.page.post(name, body, **reader)
            # Without feeds there are no letters to act on, nor a route for them.
            assert answer.status == 403, name
        assert (await shop.page.post("about", authorization=made["writer"])).status == 403

    run(use, access=with_tokens(known))


def test_a_token_for_a_service_sees_that_service(tmp_path: Path) -> None:
    known, made = tokens_of(tmp_path, shop=["console:read:shop", "console:write:shop", "console:write:vault"])

    async def use(shop: Opened) -> None:
        await shop.session.put(Secret(id="s"))
        await shop.session.put(Order(customer="ada", number=1))
        token = {"authorization": made["shop"]}

        async def ask(name: str, **body: object) -> object:
            answer = await shop.page.post(name, body, **token)
            return answer.json() if answer.status == 200 else answer.status

        tables = await ask("tables")
        assert isinstance(tables, dict)
        assert {each["name"] for each in tables["tables"]} == {"shop", "scores"}
        about = await ask("about")
        assert isinstance(about, dict)
        assert (about["you"]["write"], [each["name"] for each in about["services"]]) == (["shop"], ["shop"])
        assert await ask("item", table="secrets", key={"pk": {"S": "s"}}) == 403
        assert await ask("run", operation="Scan", request={"TableName": "secrets"}) == 403
        assert await ask("price", operation="Scan", request={"TableName": "secrets"}) == 404
        assert await ask("page", path="Secret.key", fields={"id": "s"}) == 404
        assert await ask("examples", path="Secret.key") == 404
        assert await ask("put", table="secrets", item={"pk": {"S": "s"}}, seen=None) == 403
        assert await ask("findings") == 403
        for name, hidden in (("model", "Secret"), ("paths", "Secret"), ("overview", "vault"), ("heat", "secrets")):
            assert hidden not in str(await ask(name))
        live, _ = await shop.page.send(
            "POST", "/console/api/live", {"topics": [], "changes": {"table": "secrets"}}, token
        )
        assert live is not None
        assert live.status == 404

    run(use, access=with_tokens(known))


def test_scopes_of_unknown_services_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(BadTokens, match="names no service"):
        tokens_of(tmp_path, typo=["console:read:shp"])


# A table may be named by its ARN, which must not be a way around a token's scopes.
def test_an_arn_is_no_way_around(tmp_path: Path) -> None:
    known, made = tokens_of(tmp_path, shop=["console:read:shop"])
    arn = "arn:aws:dynamodb:local:000000000000:table/secrets"

    async def use(shop: Opened) -> None:
        token = {"authorization": made["shop"]}
        run_ = await shop.page.post("run", {"operation": "Scan", "request": {"TableName": arn}}, **token)
        item = await shop.page.post("item", {"table": arn, "key": {"pk": {"S": "s"}}}, **token)
        assert (run_.status, item.status) == (400, 403)
        for table, status in (("secrets", 403), (arn, 400), ("shop", 200)):
            select = {"operation": "ExecuteStatement", "request": {"Statement": f'SELECT * FROM "{table}"'}}
            assert (await shop.page.post("run", select, **token)).status == status

    run(use, access=with_tokens(known))


KEYS = {
    "OWNER": Key("secret-1"),
    "READER": Key("secret-2", tables={"shop": "read"}),
    "WRITER": Key("secret-3", tables={"shop": "readwrite"}),
}


def test_keys_have_their_rights() -> None:
    async def whole() -> None:
        async with opened() as shop:
            database = shop.session.client.database
            assert database is not None
            access = KeyAccess(KeyAuthentication(KEYS, SystemClock()), PolicyBook(database))
            shop.page.console._access = access
            await check_keys(shop.page)

    asyncio.run(whole())


async def check_keys(page: Page) -> None:
    item = {"pk": {"S": "a"}, "sk": {"S": "b"}}
    put = {"table": "shop", "item": item, "seen": None, "dryRun": True}

    async def status(key: str, name: str, body: object = None) -> int:
        return (await page.post(name, body, authorization=f"Bearer {key}")).status

    assert await status("OWNER:wrong", "tables") == 401
    assert await status("NOBODY:secret-1", "tables") == 401
    for key, edits in (("OWNER:secret-1", 200), ("READER:secret-2", 403), ("WRITER:secret-3", 200)):
        assert await status(key, "put", put) == edits
        assert await status(key, "run", {"operation": "Scan", "request": {"TableName": "shop"}}) == 200
        select = {"operation": "ExecuteStatement", "request": {"Statement": "SELECT * FROM shop"}}
        assert await status(key, "run", select) == 200
    assert await status("READER:secret-2", "run", {"operation": "Scan", "request": {"TableName": "secrets"}}) == 403
    select = {"operation": "ExecuteStatement", "request": {"Statement": "SELECT * FROM secrets"}}
    assert await status("READER:secret-2", "run", select) == 403
    tables = (await page.post("tables", authorization="Bearer READER:secret-2")).json()["tables"]
    assert [(each["name"], each["editable"]) for each in tables] == [("shop", False)]
    assert await status("READER:secret-2", "findings") == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"host": "evil.example"},
    ],
)
def test_pages_of_other_sites_are_kept_out(headers: dict[str, str]) -> None:
    async def use(shop: Opened) -> None:
        answer, _ = await shop.page.send("POST", "/console/api/tables", {}, headers)
        assert answer is not None
        assert (answer.status, answer.error["code"]) == (403, "forbidden")
        live, _ = await shop.page.send("POST", "/console/api/live", {}, headers)
        assert live is not None
        assert live.status == 403

    run(use)


# The page itself would tell another name's owner nothing, but a name that leads here has no business with it.
def test_the_page_is_shown_to_names_of_this_machine() -> None:
    async def use(shop: Opened) -> None:
        assert (await shop.page.get("/", host="evil.example")).status == 403
        assert (await shop.page.get("/", host="localhost:8080")).status == 200

    run(use)


def test_a_form_cannot_call() -> None:
    async def use(shop: Opened) -> None:
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            answer = await shop.page.post("tables", **{"content-type": kind})
            assert answer.status == 415
        got = await shop.page.get("/console/api/tables")
        assert (got.status, got.headers["allow"]) == (405, "POST")

    run(use)


def test_own_pages_may_call() -> None:
    async def use(shop: Opened) -> None:
        own = {"origin": "http://localhost", "sec-fetch-site": "same-origin"}
        answer, _ = await shop.page.send("POST", "/console/api/tables", {}, own)
        assert answer is not None
        assert answer.status == 200

    run(use)
    assert OPEN_ACCESS.auth == "none"
