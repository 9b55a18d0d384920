"""Requests with keys, sent any number of times, while servers are killed and stores fail: each key is one change."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sortkey as sk
from sortkey.server.idempotency import Idempotency
from sortkey_services.pricing.change_writes import ChangeWrites
from sortkey_services.pricing.model import CHANGES, PRICES, ChangeRow
from tests.sortkey_services.pricing.serving import Served

Fate = Literal["answered", "refused", "failed before the work", "failed after the work", "killed after the work"]
FATES: list[Fate] = [
    "answered",
    "refused",
    "failed before the work",
    "failed after the work",
    "killed after the work",
]


class Request(NamedTuple):
    key: str
    changes: int
    fate: Fate


REQUESTS = st.builds(Request, st.sampled_from("ab"), st.sampled_from([1, 2, 34]), st.sampled_from(FATES))


@dataclass
class Known:
    """What a plain model knows of a key that is in use."""

    changes: int
    ids: list[str] | None = None
    """Of the changes, once the work is done."""
    is_kept: bool = False


def body_of(request: Request) -> list[dict[str, Any]]:
    # A change of another store for each key, so that the rows tell which request they are of.
    body: list[dict[str, Any]] = [
        {"store": request.key, "product": f"P{number}", "amount": 5} for number in range(request.changes)
    ]
    if request.fate == "refused":
        body[-1]["amount"] = "much"
    return body


def let_happen(patches: pytest.MonkeyPatch, fate: Fate) -> None:
    accept = ChangeWrites.accept

    async def failing(self: ChangeWrites, *arguments: Any) -> Any:
        if fate == "failed after the work":
            await accept(self, *arguments)
        raise sk.DeadlineExceeded("the store did not answer in time")

    async def killed(*_: Any) -> None:
        """The answer is not kept, and nobody says that there is none."""

    if fate.startswith("failed"):
        patches.setattr(ChangeWrites, "accept", failing)
    elif fate.startswith("killed"):
        patches.setattr(Idempotency, "_keep", killed)


def check(request: Request, answer: Any, known: dict[str, Known]) -> None:
    """What the model answers, and what it knows afterwards."""
    before = known.get(request.key)
    if before is not None and (before.changes != request.changes or request.fate == "refused"):
        assert (answer.status, answer.error["code"]) == (409, "idempotency_key_reused")
    elif before is not None and before.is_kept:
        assert (answer.status, answer.json()["ids"]) == (202, before.ids)
        assert answer.headers["idempotency-replayed"] == "true"
    elif request.fate == "refused":
        assert answer.status == 400
    else:
        after = known.setdefault(request.key, Known(request.changes))
        assert answer.status == (503 if request.fate.startswith("failed") else 202)
        if answer.status == 202:
            ids = answer.json()["ids"]
            assert after.ids in (None, [], ids)
            after.ids, after.is_kept = ids, request.fate == "answered"
        elif request.fate == "failed after the work":
            after.ids = after.ids or []


async def opened() -> sk.AsyncSession:
    return await sk.async_connect("memory:", tables=[PRICES, CHANGES])


async def stores_of_changes(session: sk.AsyncSession) -> list[str]:
    return sorted([row.store async for row in session.scan(ChangeRow)])


@pytest.mark.slow
@settings(max_examples=30)
@given(sent=st.lists(REQUESTS, min_size=1, max_size=6))
def test_each_key_is_one_change(sent: list[Request]) -> None:
    known: dict[str, Known] = {}
    with asyncio.Runner() as runner:
        served = Served(runner, runner.run(opened()))
        for request in sent:
            with pytest.MonkeyPatch.context() as patches:
                let_happen(patches, request.fate)
                answer = served.call("POST", "/pricing/changes", body_of(request), idempotency_key=request.key)
            check(request, answer, known)
        done = [key for key, each in known.items() if each.ids is not None for _ in range(each.changes)]
        assert runner.run(stores_of_changes(served.session)) == sorted(done)
        runner.run(served.session.close())
