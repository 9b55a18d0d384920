"""One fuzzed input, as it is sent, and what counts as a failure of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tests.faults.fuzz.json_text import Json, encode

Port = Literal["endpoint", "service", "locked"]
"""The endpoint without keys, the services, and an endpoint that checks signatures."""

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Message:
    """A request of well-formed HTTP. It must get exactly one answer, below 500."""

    port: Port
    label: str
    method: str
    target: str
    headers: Headers
    body: Json | bytes = b""
    forged: bool = False
    """It must be rejected."""
    genuine: bool = False
    """It must be accepted."""

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else encode(self.body)

    def encode(self) -> bytes:
        content = self.content()
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [f"Content-Length: {len(content)}", "", ""]
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + content

    def with_body(self, body: Json | bytes) -> Message:
        return replace(self, body=body)


@dataclass(frozen=True)
class Stream:
    """Bytes on a connection of their own, which then sends no more. The server must close it, without a 5xx."""

    port: Port
    label: str
    pieces: tuple[bytes, ...]

    def encode(self) -> bytes:
        return b"".join(self.pieces)


Case = Message | Stream


@dataclass(frozen=True)
class Failure:
    what: str
    """The same text for the same failure: an answer's status, or what did not happen."""
    case: Case
    detail: str = ""
    number: int = 0

    @property
    def name(self) -> str:
        """Failures with the same name are shown once."""
        return f"{self.case.port} {self.case.label}: {self.what}"


def judge(message: Message, status: int, body: bytes) -> Failure | None:
    """The failure in an answer."""
    if status >= 500:
        return Failure(f"answer {status}", message, body.decode(errors="replace")[:500])
    if message.forged and status < 400:
        return Failure(f"a forged request got {status}", message, body.decode(errors="replace")[:500])
    if message.genuine and status >= 400:
        return Failure(f"a genuine request got {status}", message, body.decode(errors="replace")[:500])
    return None
