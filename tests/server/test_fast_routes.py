"""Fast routes with query parameters and with the caller: they answer as Litestar's general path does."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any

import pytest
from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, JSONBody, QueryParameter

import sortkey as sk
from sortkey.server import tokens
from sortkey.server.app import app_of
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import KnownTokens, Tokens
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
            async def write(caller: NamedDependency[sk.services.Caller], data: JSONBody[list[str]]) -> list[str]:
                if "write" in data:
                    caller.require("write")
                return [caller.address]

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
        "?begin=x&unknown=y",
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
def test_the_caller_has_an_address_and_the_rights_of_its_token(path: str, tmp_path: Path) -> None:
    known, reader, writer = two_tokens(tmp_path / "tokens.toml")

    async def use() -> None:
        middleware = served(known)
        read = await call(middleware, "POST", path, ["read"], authorization=f"Bearer {reader}")
        assert (read.status, read.json()) == (200, ["127.0.0.1"])
        denied = await call(middleware, "POST", path, ["write"], authorization=f"Bearer {reader}")
        assert (denied.status, denied.error["message"]) == (403, "The token 'reader' lacks the scope 'asked:write'.")
        assert (await call(middleware, "POST", path, ["write"], authorization=f"Bearer {writer}")).status == 200

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
