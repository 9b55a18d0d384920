"""Another library and Sortkey write one table by turns; `make beside` does it with 10,000 operations."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from pynamodb.exceptions import PutError

import sortkey as sk
from tests.maven import Unavailable
from tests.takeover.beside.beside_pynamodb import TABLE, Call, TheirCall
from tests.takeover.beside.campaign import Campaign, Failure, Key, Library, Values
from tests.takeover.beside.libraries import LIBRARIES, library
from tests.takeover.beside.node_packages import install
from tests.wire.serving import ServerProcess

COUNT = 600


# PynamoDB's classes keep their connection, so both tests have one server.
@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    process = ServerProcess("--memory")
    yield process
    assert process.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_neither_changes_what_it_was_not_told_to_change(name: str, server: ServerProcess) -> None:
    if name == "electrodb":
        try:
            install()
        except Unavailable as reason:
            pytest.skip(f"no ElectroDB: {reason}")
    with library(name, server.url) as programs:
        result = Campaign(programs, seed=2).run(COUNT)
    assert sum(result.operations.values()) == COUNT
    assert result.compared > COUNT
    assert result.swept > 0


# Whoever read first and writes last is told, and undoes nothing.
@pytest.mark.slow
def test_the_version_is_tested_by_both(server: ServerProcess) -> None:
    with library("pynamodb", server.url), sk.connect(server.url, tables=[TABLE]) as db:
        TheirCall("ada", 1, title="t", status="open", at=datetime(2026, 1, 1, tzinfo=UTC)).save()
        ours, theirs = db.get(Call.key(tenant="ada", number=1)), TheirCall.get("ada", 1)
        assert ours is not None
        theirs.update(actions=[TheirCall.title.set("theirs")])
        with pytest.raises(sk.ConditionFailed, match="version is 1, but the stored item has 2"):
            db.put(ours)
        db.update(ours.key, {"status": "done"})
        with pytest.raises(PutError, match="conditional request failed"):
            theirs.save()
        assert db.get(ours.key) == sk.replace(ours, title="theirs", status="done", version=3)


class Rewriting:
    """A program that changes a time, although it was not told to."""

    def __init__(self, programs: Library) -> None:
        self._ours = programs.ours

    def __getattr__(self, name: str) -> object:
        return getattr(self._ours, name)

    def save(self, key: Key, changes: Values) -> None:
        self._ours.save(key, {"seen": datetime(2026, 1, 1, tzinfo=UTC), **changes})


# Otherwise a campaign that compares nothing would look like one that finds nothing.
@pytest.mark.slow
def test_a_program_that_changes_something_else_is_found(server: ServerProcess) -> None:
    with library("pynamodb", server.url) as programs:
        campaign = Campaign(programs._replace(ours=Rewriting(programs)), seed=2)  # type: ignore[arg-type]
        with pytest.raises(Failure, match=r"save by ours of .*: seen was .* and is "):
            campaign.run(COUNT)
