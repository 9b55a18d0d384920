"""Fast routes with query parameters and with the caller: they answer as Litestar's general path does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from litestar import Request, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

import sortkey as sk
from sortkey.server import tokens
from sortkey.server.app import app_of
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import KnownTokens, Tokens
from sortkey.services.pages import PAGE, AskedPage
from tests.server.calling import call

From = Annotated[str | None, QueryParameter(name="from")]
First = Annotated[int | None, QueryParameter(description="how many")]
Channel = Annotated[str, QueryParameter(description="of sales")]


class Asked:
    """Answers with what it was asked, by both paths."""

    name = "asked"

    @property
    def routes(self) -> list[Any]:
        def by(path: str, **options: Any) -> list[Any]:
            @get(f"/{path}/{{shelf:str}}", **options)
            async def show(
                shelf: FromPath[str], begin: From = None, first: First = None, channel: Channel = "ALL"
            ) -> list[str | int | None]:
                return [shelf, begin, first, channel]

            @post(f"/{path}", status_code=200, scope="read", **options)
            async def write(caller: NamedDependency[sk.services.Caller], data: JSONBody[list[str]]) -> list[str | None]:
                if "write" in data:
                    caller.require("write")
                return [caller.address, caller.name]

            @get(f"/{path}-page", scope="open", **options)
            async def page() -> list[str]:
                return ["shown"]

            return [show, write, page]

        return [*by("fast", fast=True), *by("general")]


def served(tokens: Tokens | None = None) -> Middleware:
    asked: Any = Asked()
    return app_of([asked], tokens=tokens)


# The fast path takes the usual queries, and leaves all others to Litestar; nobody can tell which it was.
@pytest.mark.parametrize(
    "query",
    [
        "",
        "?first=3",
        "?from=2026-08&first=64&channel=WEB",
        "?from=x&unknown=y",
        "?unknwon",
        "?channel=a%20b+c&from=%C3%A9",
        "?channel=",
        "?first=",
        "?first=-3",
        "?first=three",
        "?first=99999999999999999999",
        "?first=%D9%A3",
        "?first=1&first=2",
        "?channel=a&channel=b",
        "?&&first=1&",
    ],
)
def test_query_parameters_are_taken_as_litestar_takes_them(query: str) -> None:
    async def both() -> None:
        middleware = served()
        fast, general = [await call(middleware, "GET", f"/{path}/s{query}") for path in ("fast", "general")]
        assert (fast.status, fast.json()) == (general.status, general.json())

    asyncio.run(both())


@pytest.mark.parametrize("path", ["/fast", "/general"])
def test_the_caller_has_an_address_and_the_name_and_the_rights_of_its_token(path: str, tmp_path: Path) -> None:
    known, reader, writer = two_tokens(tmp_path / "tokens.toml")

    async def use() -> None:
        middleware = served(known)
        read = await call(middleware, "POST", path, ["read"], authorization=f"Bearer {reader}")
        assert (read.status, read.json()) == (200, ["127.0.0.1", "reader"])
        denied = await call(middleware, "POST", path, ["write"], authorization=f"Bearer {reader}")
        assert (denied.status, denied.error["message"]) == (403, "The token 'reader' lacks the scope 'asked:write'.")
        assert (await call(middleware, "POST", path, ["write"], authorization=f"Bearer {writer}")).status == 200
        assert (await call(served(), "POST", path, ["write"])).json() == ["127.0.0.1", None]

    asyncio.run(use())


@pytest.mark.parametrize("path", ["/fast-page", "/general-page"])
def test_an_open_route_needs_no_token(path: str, tmp_path: Path) -> None:
    known, _, _ = two_tokens(tmp_path / "tokens.toml")
    answer = asyncio.run(call(served(known), "GET", path))
    assert (answer.status, answer.json()) == (200, ["shown"])
    assert asyncio.run(call(served(known), "GET", path.replace("-page", "/s"))).status == 401


def two_tokens(file: Path) -> tuple[KnownTokens, str, str]:
    reader, read_entry = tokens.create("reader", ["asked:read"])
    writer, write_entry = tokens.create("writer", ["asked:read", "asked:write"])
    file.write_text(read_entry + write_entry)
    file.chmod(0o600)
    return tokens.load(file, ["asked"]), reader, writer


# A misspelt parameter would select everything.
@pytest.mark.parametrize("path", ["/fast", "/general"])
def test_an_unknown_query_parameter_is_named(path: str) -> None:
    async def ask(target: str) -> tuple[int, str]:
        answer = await call(served(), "GET", target)
        return answer.status, answer.error["message"]

    misspelt = asyncio.run(ask(f"{path}/s?chanel=WEB"))
    assert misspelt == (400, "There is no query parameter 'chanel'; did you mean 'channel'?")
    unlike = asyncio.run(ask(f"{path}/s?year=2026"))
    assert unlike == (400, "There is no query parameter 'year' (it has channel, first, from)")
    none = asyncio.run(ask(f"{path}-page?year=2026"))
    assert none == (400, "There is no query parameter 'year'; this route takes none")


@pytest.mark.parametrize("path", ["/fast", "/general"])
def test_an_unknown_query_parameter_is_named_to_those_who_may_ask(path: str, tmp_path: Path) -> None:
    known, _, _ = two_tokens(tmp_path / "tokens.toml")
    assert asyncio.run(call(served(known), "GET", f"{path}/s?year=2026")).status == 401


@pytest.mark.parametrize(("query", "status"), [("?first=3", 200), ("?last=3&year=2026", 400)])
def test_the_parameters_of_dependencies_are_known(query: str, status: int) -> None:
    class Listed:
        name = "listed"

        @property
        def routes(self) -> list[Any]:
            @get("/listed", dependencies={"page": PAGE})
            async def show(page: AskedPage) -> int | None:
                return page["first"]

            return [show]

    listed: Any = Listed()
    assert asyncio.run(call(app_of([listed]), "GET", f"/listed{query}")).status == status


def test_a_handler_that_reads_the_request_itself_takes_any_query_parameter() -> None:
    class Raw:
        name = "raw"

        @property
        def routes(self) -> list[Any]:
            @get("/raw")
            async def show(request: Request[Any, Any, Any]) -> list[str]:
                return [*request.query_params]

            return [show]

    raw: Any = Raw()
    assert asyncio.run(call(app_of([raw]), "GET", "/raw?year=2026")).json() == ["year"]
