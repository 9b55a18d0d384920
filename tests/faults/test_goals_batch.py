"""No reader of goals ever sees half a load: `sortkey batch goals` is killed at any moment, two of them race, and the
service is read all the while."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest

import sortkey as sk
from sortkey.patterns.generation.pointer import LOADING
from sortkey_services.goals.batch.demo_gold import demo_rules, write_gold
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.model import TABLES, PersonView, views
from sortkey_services.goals.rules_database import write_rules
from sortkey_services.goals.service import GoalsService

KILLS = 3
MOST_KILLS = 30
PERSONS = 4_000
FIRST = datetime(2026, 5, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
pytestmark = pytest.mark.slow


class Bank:
    """One gold for all days: a load's as-of says which of its contributions count."""

    def __init__(self, folder: Path, session: sk.AsyncSession) -> None:
        self.session = session
        self._store = folder / "data"
        self._gold = folder / "gold"
        self._rules = f"sqlite:///{folder / 'rules.db'}"
        write_gold(self._gold, persons=PERSONS, as_of=FIRST + 2 * MOST_KILLS * HOUR)
        write_rules(self._rules, demo_rules())

    async def load(self, as_of: datetime) -> None:
        await run_batch(self.session, BatchInputs(self._gold, self._rules, as_of))

    def start(self, as_of: datetime) -> subprocess.Popen[str]:
        inputs = ["--gold", str(self._gold), "--rules", self._rules, "--as-of", as_of.isoformat()]
        command = [sys.executable, "-m", "sortkey", "batch", "goals", *inputs, "--store", str(self._store)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    async def wait_until_writing(self, as_of: datetime, process: subprocess.Popen[str]) -> None:
        """Until rows of a load are in the store, or it has ended."""
        while process.poll() is None and not await self._is_writing(as_of):
            await asyncio.sleep(0.01)

    async def _is_writing(self, as_of: datetime) -> bool:
        for each in await views._book(self.session).generations():
            if each.as_of == as_of:
                path = PersonView.key(generation=each.id, person="ana")
                return await self.session.get(path) is not None or bool(await self._rows(each.id, 50))
        return False

    async def _rows(self, generation: str, of: int) -> int:
        paths = [PersonView.key(generation=generation, person=f"p{number:07}") for number in range(of)]
        return sum(found is not None for found in await self.session.get_many(paths))

    async def unfinished(self) -> int:
        return sum(each.state == LOADING for each in await views._book(self.session).generations())

    async def complete(self) -> dict[datetime, int]:
        """The rows of what is served and of what is kept for a rollback."""
        kept = (await views._book(self.session).pointer()).ids
        rows: dict[datetime, int] = {}
        async for each in self.session.scan(PersonView):
            if each.generation in kept:
                rows[each.as_of] = rows.get(each.as_of, 0) + 1
        return rows


async def read_until(done: asyncio.Event, bank: Bank, seed: int) -> set[datetime]:
    """Reads persons again and again: each is there, and the as-of does not go back, whoever is read. Returns those."""
    random, service = Random(seed), GoalsService(bank.session)
    seen = [FIRST]
    while not done.is_set():
        view = (await service.read(f"p{random.randrange(PERSONS):07}")).view
        assert view.as_of >= seen[-1], "a person of an older load after one of a newer load"
        assert len(view.goals) == 3
        seen.append(view.as_of)
        # Others have their turn: the store is in the process, so a read does not wait.
        await asyncio.sleep(0.001)
    return set(seen)


async def kill_loads(bank: Bank) -> None:
    """Some, and as many more as it takes until a kill has fallen into a load."""
    for number in range(1, MOST_KILLS):
        as_of = FIRST + number * HOUR
        process = bank.start(as_of)
        await bank.wait_until_writing(as_of, process)
        await asyncio.sleep(Random(number).random() * 0.1)
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.communicate)
        if number >= KILLS and await bank.unfinished():
            return
    raise AssertionError("no kill fell into a load")


async def race(bank: Bank, as_ofs: Sequence[datetime]) -> list[int]:
    """Loads at the same time; how each of them ended."""
    processes = [bank.start(as_of) for as_of in as_ofs]
    for process in processes:
        await asyncio.to_thread(process.communicate)
    return [process.returncode for process in processes]


def test_readers_never_see_half_a_load(tmp_path: Path) -> None:
    async def test() -> None:
        async with sk.async_connect(tmp_path / "data", tables=TABLES) as session:
            bank = Bank(tmp_path, session)
            await bank.load(FIRST)
            done = asyncio.Event()
            readers = [asyncio.create_task(read_until(done, bank, seed)) for seed in range(2)]
            try:
                await kill_loads(bank)
                earlier, later = FIRST + (MOST_KILLS + 1) * HOUR, FIRST + (MOST_KILLS + 2) * HOUR
                ended = await race(bank, [later, earlier])
            finally:
                done.set()
            seen = set[datetime]().union(*[await reader for reader in readers])
            assert ended[0] == 0
            # The earlier one came first, or was superseded.
            assert ended[1] in (0, 1)
            assert (await GoalsService(session).read("ana")).view.as_of == later
            rows = await bank.complete()
            assert set(rows.values()) == {PERSONS + 1}
            assert later in rows
            assert FIRST in seen

    asyncio.run(test())
