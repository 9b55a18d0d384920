"""Stalls: how long each service's heaviest legal request holds up everybody else's

`sortkey serve` with all services on one data folder, one process. A probe asks `/health`, which needs no store, every
two milliseconds on a connection of its own; its slowest answer is the loop's worst stall. *calm* is the probe alone:
what the machine itself adds.
"""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple

import msgspec

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._raw_http import missing
from benchmarks._results import Result, Section
from benchmarks.boosts_http import free_port, serving
from sortkey_services.goals.model import PENDING
from sortkey_services.pricing.model import StoreUpdate

SERVICES: Final = ("boosts", "favourites", "goals", "pricing", "social")
PROBE: Final = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
EVERY_SECONDS: Final = 0.002
CALM_SECONDS: Final = 3.0
SETTLE_SECONDS: Final = 60.0
READS: Final = 5
STORES: Final = 10
CHANGES: Final = 10_000


class Heavy(NamedTuple):
    """A request that is as large as its service allows."""

    service: str
    name: str
    method: str
    path: str
    body: Any = None
    times: int = 1
    things: int = 0
    """How many changes, events or campaigns it has."""


class Stalls(msgspec.Struct, frozen=True):
    """What the probe saw, in milliseconds."""

    p50: float
    p99: float
    worst: float
    seconds: float


class Probe:
    """Asks on a thread of its own until it is ended."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._ended = Event()
        self._taken: list[float] = []
        self._began = time.perf_counter()
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        while not self._ended.is_set():
            began = time.perf_counter()
            self._socket.sendall(PROBE)
            received = bytearray()
            while missing(received) > 0:
                received += self._socket.recv(4096)
            self._taken.append((time.perf_counter() - began) * 1000)
            time.sleep(EVERY_SECONDS)

    def end(self) -> Stalls:
        self._ended.set()
        self._thread.join()
        self._socket.close()
        ordered = sorted(self._taken)
        return Stalls(
            p50=ordered[len(ordered) // 2],
            p99=ordered[int(len(ordered) * 0.99)],
            worst=ordered[-1],
            seconds=time.perf_counter() - self._began,
        )


def heaviest(port: int) -> Iterator[Heavy]:
    now = datetime.now(UTC)
    yield Heavy("boosts", "1,000 campaigns in 100 areas", "POST", "/boosts/de/campaigns", _campaigns(now), things=1000)
    one = [_campaign(now, number, "one", ["*"]) for number in range(400)]
    yield Heavy("boosts", "400 campaigns of a partner", "POST", "/boosts/de/campaigns", one, things=400)
    asked = {"partnerIds": [f"p{number}" for number in range(1000)], "district": "A1"}
    yield Heavy("boosts", "lookup of 1,000", "POST", "/boosts/de/lookup", asked, READS)
    yield Heavy("favourites", "the top 1,000", "GET", "/restaurants/top?limit=1000", None, READS)
    yield Heavy("favourites", "1,000 fans", "GET", "/restaurants/r0001/fans?first=1000", None, READS)
    yield Heavy("social", "1,000 orders", "GET", "/social/orders?status=DELIVERED&first=1000", None, READS)
    yield Heavy("social", "mutuals", "GET", "/social/users/ada/mutuals?first=1000", None, READS)
    yield Heavy("goals", "10,000 deposits", "POST", "/goals/events", _deposits(port, now), things=10_000)
    for name in ("10,000 new prices", "10,000 changes"):
        yield Heavy("pricing", name, "POST", "/pricing/changes", _changes("1.25"), things=CHANGES)
    variables = {"changes": _changes("2.50")}
    mutation = "mutation($changes: [PriceChangeInput!]!) { changePrices(changes: $changes) { ids } }"
    body = {"query": mutation, "variables": variables}
    yield Heavy("pricing", "10,000 changes by GraphQL", "POST", "/graphql", body, things=CHANGES)
    page = f"/pricing/stores/{_store(0)}/prices?first=2048"
    yield Heavy("pricing", "a page of 2,048", "GET", page, None, READS)


def _campaign(now: datetime, number: int, partner: str, areas: Sequence[str]) -> dict[str, Any]:
    return {
        "eventId": f"e{number}",
        "campaignId": f"c{number}",
        "partnerId": partner,
        "areas": areas,
        "score": 1.5,
        "daysOfWeek": ["Monday", "Friday"],
        "timeSlots": ["lunch"],
        "status": "ACTIVE",
        "updatedAt": now.isoformat(),
    }


def _campaigns(now: datetime) -> list[dict[str, Any]]:
    areas = [f"A{number}" for number in range(100)]
    return [_campaign(now, number, f"p{number}", areas) for number in range(1000)]


def _deposits(port: int, now: datetime) -> list[dict[str, Any]]:
    """Of persons of the demonstration, as newer and newer events of their goals."""
    persons = [f"p{number:07}" for number in range(200)]
    goals = []
    for person in persons:
        status, answer = _ask(port, "GET", f"/goals/{person}", None)
        if status == 200:
            goals += [(person, goal["goalId"]) for goal in msgspec.json.decode(answer)["goals"]]
    if not goals:
        raise RuntimeError("the demonstration has no goals")
    chosen = [goals[number % len(goals)] for number in range(10_000)]
    return [
        {
            "eventId": f"e{number}",
            "personId": person,
            "goalId": goal,
            "currentBalance": 10.5,
            "status": PENDING,
            "updatedAt": (now + timedelta(microseconds=number)).isoformat(),
        }
        for number, (person, goal) in enumerate(chosen)
    ]


def _store(number: int) -> str:
    return f"stalls-{number}"


def _changes(amount: str) -> list[dict[str, Any]]:
    return [{"store": _store(number % STORES), "product": f"p{number}", "amount": amount} for number in range(CHANGES)]


def _ask(port: int, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request(method, path, body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def _probed(port: int, work: Callable[[], None]) -> Stalls:
    probe = Probe(port)
    time.sleep(0.05)
    work()
    return probe.end()


def _send(port: int, heavy: Heavy) -> Callable[[], None]:
    body = None if heavy.body is None else msgspec.json.encode(heavy.body)

    def send() -> None:
        for _ in range(heavy.times):
            status, content = _ask(port, heavy.method, heavy.path, body)
            if status >= 400 or content.startswith(b'{"errors"'):
                raise RuntimeError(f"{heavy.service}: {heavy.name}: {status} {content[:300]!r}")

    return send


def _wait_for_transition(folder: Path, changes: int) -> None:
    """Until all changes of all stores are permanent."""
    deadline = time.monotonic() + SETTLE_SECONDS
    with sk.connect(folder) as session:
        while time.monotonic() < deadline:
            updates = (session.iterate(StoreUpdate.key(store=_store(number))) for number in range(STORES))
            if sum(update.changes for of_store in updates for update in of_store) >= changes:
                return
            time.sleep(0.2)  # nothing tells another process
    raise RuntimeError("the changes did not become permanent")


def run() -> Iterator[Result | Section]:
    found: dict[str, Stalls] = {}
    # On disk: /tmp may be in memory, where a sync costs nothing.
    with tempfile.TemporaryDirectory(dir=working_folder()) as name:
        folder, port = Path(name) / "data", free_port()
        command = ["sortkey", "serve", *SERVICES, "--demo", "--store", str(folder), "--port", str(port)]
        with serving([*command, "--access-log", "off"], port):
            # The port is open while the demonstration is loaded.
            _ask(port, "GET", "/health", None)
            found["calm"] = _probed(port, lambda: time.sleep(CALM_SECONDS))
            yield Result("calm", found["calm"].worst, "ms")
            changes = 0
            for heavy in heaviest(port):
                stalls = found[f"{heavy.service}: {heavy.name}"] = _probed(port, _send(port, heavy))
                yield Result(f"{heavy.service}: {heavy.name}", stalls.worst, "ms")
                if heavy.things:
                    yield Result(f"{heavy.service}: {heavy.name}, rate", heavy.things / stalls.seconds, "/s")
                if heavy.service == "pricing" and heavy.things:
                    changes += heavy.things
                    stalls = _probed(port, partial(_wait_for_transition, folder, changes))
                    found[f"pricing: transition of {heavy.name}"] = stalls
                    yield Result(f"pricing: transition of {heavy.name}", stalls.worst, "ms")
    yield Section({name: msgspec.to_builtins(stalls) for name, stalls in found.items()})
