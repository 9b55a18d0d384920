"""What was acknowledged to writers, and whether a store still has it."""

from __future__ import annotations

from sortkey.client import Client
from tests.faults import bank
from tests.faults.crash.writer import WRITERS, scratch_indexes, scratch_tables, state_after
from tests.faults.follower import Follower


class Acknowledged:
    """Over all writers of a folder so far. They are gone when `verify` is called."""

    def __init__(self) -> None:
        self.processes = 0
        self.lines = 0
        self._tokens: set[str] = set()
        self._increments = 0
        self._counter = 0
        self._tallies: dict[str, int] = {}
        self._steps: dict[str, int] = {}
        self._fleeting: set[str] = set()
        self._shapes: dict[tuple[str, str], set[str]] = {}
        """The events of each table and index that comes and goes, in no order: one writer may drop what another made,
        and say so first."""
        self._settled: dict[str, object] = {}
        self._followers = [Follower("slots"), Follower("fleeting")]

    def take(self, lines: list[str]) -> None:
        """The lines of one process."""
        self.processes += 1
        self.lines += len(lines)
        for line in lines:
            event, *words = line.split()
            if event == "transfer":
                self._tokens.add(words[0])
            elif event == "count":
                self._increments += 1
                self._counter = max(self._counter, int(words[0]))
            elif event == "tally":
                self._tallies[words[0]] = int(words[1])
            elif event == "slot":
                self._steps[words[0]] = int(words[1])
            elif event == "fleeting":
                self._fleeting.add(words[0])
            elif event in ("making", "made", "dropping", "dropped"):
                self._shapes.setdefault((words[0], words[1]), set()).add(event)
            else:
                raise AssertionError(line)

    def verify(self, client: Client) -> None:
        assert self._tokens <= bank.audit(client), "an acknowledged transfer is gone"
        self._verify_counters({str(row["id"]): int(row["n"]) for row in bank.rows(client, "counters")})
        for index in ({}, {"IndexName": "by-kind"}):
            self._verify_slots({str(row["id"]): row for row in bank.rows(client, "slots", **index)})
        self._verify_shapes(client)
        for follower in self._followers:
            self._verify_stream(client, follower)

    def verify_ledger(self, client: Client) -> None:
        """A stream record commits with its item: none is missing, none is there twice. Reads the whole stream."""
        assert sorted(bank.streamed(client)) == sorted(bank.audit(client))

    def _verify_counters(self, values: dict[str, int]) -> None:
        value = values.pop("counter")
        assert value >= self._counter, "an acknowledged increment is gone"
        # Each writer may have made one increment that it was killed before reporting.
        assert self._increments <= value <= self._increments + self.processes * WRITERS
        for name, tally in self._tallies.items():
            assert values.get(name) in (tally, tally + 1), (name, tally, values.get(name))

    def _verify_slots(self, stored: dict[str, dict[str, str | int]]) -> None:
        for slot, step in self._steps.items():
            state = stored.get(slot)
            # The step after the last acknowledged one may have been committed before its writer was killed.
            assert state in (state_after(slot, step), state_after(slot, step + 1)), (slot, step)
            # Its writer is gone: the state after the crash stays.
            assert self._settled.setdefault(slot, state) == state

    def _verify_shapes(self, client: Client) -> None:
        present = {("table", name) for name in scratch_tables(client)}
        present |= {("index", name) for name in scratch_indexes(client)}
        assert present <= self._shapes.keys()
        for shape, events in self._shapes.items():
            if "made" in events and "dropping" not in events:
                assert shape in present, f"an acknowledged {' '.join(shape)} is gone"
            if "dropped" in events:
                assert shape not in present, f"the deleted {' '.join(shape)} is back"

    def _verify_stream(self, client: Client, follower: Follower) -> None:
        follower.follow(client)
        pages = client.get_paginator("scan").paginate(TableName=follower.table)
        stored = {item["id"]["S"]: item for page in pages for item in page["Items"]}
        assert stored == follower.items, f"the stream of {follower.table} leads to another table"
        if follower.table == "fleeting":
            assert self._fleeting <= follower.seen, "an acknowledged put is neither in the table nor in its stream"
