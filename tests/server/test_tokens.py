"""Tokens: how they are made and kept, and what each is good for."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sortkey.http.listener import AllowedHosts
from sortkey.http.request_parser import Request
from sortkey.server import tokens
from sortkey.server.middleware import Middleware
from sortkey.server.tokens import BadTokens, KnownTokens, NoTokens
from tests.server.calling import Ask, answer_to, call
from tests.server.conftest import WithApp

SERVICES = ("notes",)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tokens.toml"


def tokens_of(file: Path, **scopes: list[str]) -> tuple[KnownTokens, dict[str, str]]:
    made = {name: tokens.create(name, each) for name, each in scopes.items()}
    file.write_text("\n".join(entry for _, entry in made.values()))
    file.chmod(0o600)
    return tokens.load(file, SERVICES), {name: token for name, (token, _) in made.items()}


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/notes/s/a", "notes:read"),
        ("POST", "/notes/s/search", "notes:read"),
        ("POST", "/notes/s/slow-search", "notes:read"),
        ("PUT", "/notes/s/a", "notes:write"),
        ("DELETE", "/notes/s/cursor", "notes:write"),
        ("GET", "/notes-raw", "notes:read"),
        ("POST", "/notes-raw", "notes:read"),
    ],
)
def test_a_route_takes_its_scope(with_app: WithApp, file: Path, method: str, path: str, scope: str) -> None:
    known, made = tokens_of(file, reader=["notes:read"], writer=["notes:write"])
    good, poor = ("reader", "writer") if scope == "notes:read" else ("writer", "reader")

    async def use(middleware: Middleware) -> None:
        allowed = await call(
            middleware, method, path, {"names": ["a"], "text": "t"}, authorization=f"Bearer {made[good]}"
        )
        assert allowed.status not in (401, 403)
        denied = await call(middleware, method, path, authorization=f"Bearer {made[poor]}")
        assert (denied.status, denied.error["code"]) == (403, "forbidden")
        assert scope in denied.error["message"]

    with_app(use, tokens=known)


@pytest.mark.parametrize("path", ["/notes/s/search", "/notes/s/slow-search", "/notes-raw"])
@pytest.mark.parametrize("sent", ["", "Basic abc", "Bearer", "Bearer ", "Bearer sk_guess", "bearer {token}x"])
def test_requests_without_a_valid_token_are_rejected(with_app: WithApp, file: Path, path: str, sent: str) -> None:
    known, made = tokens_of(file, reader=["notes:read"])
    headers = {"authorization": sent.replace("{token}", made["reader"])} if sent else {}

    async def use(middleware: Middleware) -> None:
        answer = await call(middleware, "POST", path, {"names": ["a"]}, **headers)
        assert (answer.status, answer.error["code"]) == (401, "unauthorized")
        assert answer.headers["www-authenticate"].startswith("Bearer")

    with_app(use, tokens=known)


# Probes, scrapers and readers of the documentation have no token; none of these shows data.
@pytest.mark.parametrize("path", ["/health", "/metrics", "/openapi.json", "/docs"])
def test_what_belongs_to_no_service_is_open(with_app: WithApp, file: Path, path: str) -> None:
    known, _ = tokens_of(file, reader=["notes:read"])

    async def use(middleware: Middleware) -> None:
        assert (await call(middleware, "GET", path)).status == 200

    with_app(use, tokens=known)


FOREIGN = ["evil.test", "evil.test:8080", "", "localhost.evil.test", "192.0.2.1"]


# A site can lead its name to this machine. Its page then has the server's origin, and reads and writes as it likes.
@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/notes/s/a"),
        ("POST", "/notes/s/search"),
        ("POST", "/notes/s/slow-search"),
        ("GET", "/notes/s/a"),
        ("GET", "/notes-raw"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/docs"),
        ("GET", "/nothing"),
    ],
)
def test_without_tokens_only_names_of_this_machine_are_served(ask: Ask, host: str, method: str, path: str) -> None:
    body = {"names": ["a"], "text": "t"} if method != "GET" else None
    answer = ask(method, path, body, host=host, origin=f"http://{host}")
    assert (answer.status, answer.error["code"]) == (403, "forbidden")
    assert "--allow-host" in answer.error["message"]
    assert "--tokens" in answer.error["message"]


def test_a_request_without_host(with_app: WithApp) -> None:
    async def use(middleware: Middleware) -> None:
        for path, status in (("/health", 200), ("/metrics", 403)):
            request = Request(b"GET", path.encode(), {}, b"", keep_alive=True)
            assert (await answer_to(middleware, request)).status == status

    with_app(use)


# Probes often send another name or none, and it shows nothing.
@pytest.mark.parametrize("host", FOREIGN)
def test_health_is_open_to_all_names(with_app: WithApp, host: str) -> None:
    async def use(middleware: Middleware) -> None:
        assert (await call(middleware, "GET", "/health", host=host)).status == 200

    with_app(use)


def test_names_that_are_allowed(with_app: WithApp) -> None:
    async def use(middleware: Middleware) -> None:
        for host in ("Notes.Example", "notes.example:443", "localhost:8080"):
            origin = f"https://{host}"
            answer = await call(middleware, "PUT", "/notes/s/a", {"text": "t"}, host=host, origin=origin)
            assert answer.status == 200

    with_app(use, tokens=NoTokens(AllowedHosts(["notes.example"])))


# A page that leads its name here has no token.
def test_with_tokens_every_name_is_served(with_app: WithApp, file: Path) -> None:
    known, made = tokens_of(file, reader=["notes:read"])

    async def use(middleware: Middleware) -> None:
        for host in ("evil.test", ""):
            answer = await call(middleware, "GET", "/notes-raw", host=host, authorization=f"Bearer {made['reader']}")
            assert answer.status == 200
            assert (await call(middleware, "GET", "/metrics", host=host)).status == 200

    with_app(use, tokens=known)


def test_the_file_does_not_hold_the_token() -> None:
    token, entry = tokens.create("search", ["notes:read"])
    assert token not in entry
    assert hashlib.sha256(token.encode()).hexdigest() in entry
    assert tokens.create("search", ["notes:read"])[0] != token


HASH = "0" * 64


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "contains no tokens"),
        ("[a", "is not a tokens file"),
        ("[a]\n", "sha256"),
        (f'[a]\nsha256 = "{HASH}"\nscopes = 3\n', "scopes"),
        (f'[a]\nsha256 = "{HASH}"\nscopes = []\n', "'a': a token needs at least one scope"),
        (f'[a]\nsha256 = "{HASH}"\nscopes = ["note:read"]\n', "unknown scope 'note:read'; the scopes are notes:read"),
        (f'[a]\nsha256 = "{HASH}"\nscopes = ["notes"]\n', "unknown scope 'notes'"),
        (f'[a]\nsha256 = "{HASH}"\nscopes = ["notes:read"]\nuntil = 3\n', "until"),
        ('[a]\nsha256 = "abc"\nscopes = ["notes:read"]\n', "64 hexadecimal digits"),
    ],
)
def test_a_file_that_cannot_be_used(file: Path, content: str, message: str) -> None:
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(BadTokens, match=message) as error:
        tokens.load(file, SERVICES)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["", "a b", 'a"', "x" * 65, "a.b"])
def test_a_name_that_would_break_the_file(name: str) -> None:
    with pytest.raises(BadTokens, match="not a token name"):
        tokens.create(name, ["notes:read"])


def test_a_file_that_is_open_to_all(file: Path) -> None:
    file.touch()
    file.chmod(0o644)
    with pytest.raises(BadTokens, match=r"is open to all users of this machine \(mode 644\); run: chmod 600 "):
        tokens.load(file, SERVICES)
