"""S3 for tests: moto behind HTTP, on a free port of this machine, with a bucket for each test and answers that a test
may give in its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from importlib import import_module
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple

import botocore.session
import pytest
from botocore.config import Config

from sortkey import object_storage
from sortkey.object_storage import Address

CREDENTIALS: Final = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "eu-west-1",
    "AWS_DEFAULT_REGION": "eu-west-1",
}
NAMES: Final = (
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_ENDPOINT_URL",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
)


class Request(NamedTuple):
    method: str
    key: str
    """Empty for a request to the bucket."""
    query: str
    range: str | None


class Answer(NamedTuple):
    status: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


def rejected(status: str, code: str, message: str = "No.") -> Answer:
    """As S3 answers, in XML."""
    text = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return Answer(status, text.encode(), (("Content-Type", "application/xml"),))


class S3Server:
    """`answer` may answer a request in moto's place."""

    def __init__(self) -> None:
        # Imported here, since every start of pytest imports this module: moto takes half a second.
        moto = import_module("moto.moto_server.werkzeug_app")
        self._moto = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._server = import_module("werkzeug.serving").make_server("127.0.0.1", 0, self._serve, threaded=True)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), name="moto")
        self._numbers = count(1)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.answer: Callable[[Request], Answer | None] = lambda _: None
        self.requests: list[Request] = []
        self._thread.start()

    def _serve(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        # WSGI decodes a path as Latin-1.
        path: str = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "surrogateescape")
        key = path.lstrip("/").partition("/")[2]
        request = Request(environ["REQUEST_METHOD"], key, environ["QUERY_STRING"], environ.get("HTTP_RANGE"))
        if not environ.get("HTTP_USER_AGENT", "").endswith("test-itself"):
            self.requests.append(request)
            answer = self.answer(request)
            if answer is not None:
                start_response(answer.status, list(answer.headers))
                return [answer.body]
        found: Iterable[bytes] = self._moto(environ, start_response)
        return found

    @cached_property
    def client(self) -> Any:
        """For the tests themselves: its requests are not counted."""
        return botocore.session.get_session().create_client(
            "s3",
            "eu-west-1",
            endpoint_url=self.url,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            config=Config(user_agent_extra="test-itself"),
        )

    def bucket(self) -> Bucket:
        name = f"bucket-{next(self._numbers)}"
        self.client.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        self.answer = lambda _: None
        self.requests.clear()
        return Bucket(self, self.client, name)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Bucket:
    def __init__(self, server: S3Server, client: Any, name: str) -> None:
        self.server = server
        self.name = name
        self._client = client

    def address(self, key: str = "") -> Address:
        return Address(self.name, key)

    def put(self, key: str, body: bytes) -> Address:
        self._client.put_object(Bucket=self.name, Key=key, Body=body)
        return Address(self.name, key)

    def remove(self, key: str) -> None:
        self._client.delete_object(Bucket=self.name, Key=key)

    def upload(self, folder: Path, prefix: str) -> Address:
        """All files below a folder."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}{path.relative_to(folder).as_posix()}", path.read_bytes())
        return Address(self.name, prefix)

    @property
    def environment(self) -> dict[str, str]:
        """For a process that shall read here."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL_S3": self.server.url}


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.close()


@cache
def client_of(make: Callable[[], Any], _environment: tuple[tuple[str, str], ...]) -> Any:
    """A client takes a fifth of a second, so tests in the same environment share one."""
    return make()


@pytest.fixture
def bucket(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """An empty one, in an environment that points there."""
    made = s3_server.bucket()
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    make = object_storage._client
    monkeypatch.setattr(object_storage, "_client", lambda: client_of(make, tuple(sorted(os.environ.items()))))
    return made
