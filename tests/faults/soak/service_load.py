"""A client of the boosts service: campaigns come and go, and searches look them up."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from random import Random
from threading import Event
from typing import Final

from tests.sortkey_services.boosts.campaigns import as_json, event
from tests.wire.serving import RawClient

PAUSE_SECONDS: Final = 0.02
PARTNERS: Final = 200


class ServiceClient:
    def __init__(self, url: str) -> None:
        self._connection = RawClient(url)
        self._random = Random("service")
        self.answered = 0
        self.wrong: list[str] = []

    def run(self, over: Event) -> None:
        while not over.wait(PAUSE_SECONDS):
            if self._random.random() < 0.2:
                self._post("/boosts/de/campaigns", self._event())
            else:
                partners = list(map(str, self._random.sample(range(PARTNERS), 20)))
                self._post("/boosts/de/lookup", json.dumps({"partnerIds": partners, "district": "BER-01"}).encode())
        self._connection.close()

    def _event(self) -> bytes:
        number = self._random.randrange(PARTNERS)
        status = self._random.choice(("ACTIVE", "ACTIVE", "ENDED"))
        areas = ("BER-01", "BER-02")
        return as_json(
            event(self.answered, f"c{number}", str(number), areas=areas, status=status, updated_at=datetime.now(UTC))
        )

    def _post(self, path: str, content: bytes) -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        self._connection.send(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        answer = self._connection.answer()
        self.answered += 1
        if answer.status >= 300:
            self.wrong.append(f"{path}: {answer.status} {answer.body[:200]!r}")
