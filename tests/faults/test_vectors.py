"""Vector indexes after a kill, and in two processes at once: they are those of the items, to the byte."""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from threading import enumerate as enumerate_threads
from typing import Any

import orjson
import pytest

import sortkey
from sortkey.client import Client
from sortkey.engine.check.database_check import check
from sortkey.engine.vectors.graph import Graph
from sortkey.engine.vectors.vector_memory import BUILDER
from tests.faults import vector_writer
from tests.faults.processes import Running, killed
from tests.faults.vector_writer import NAMES, TABLE, lay_out, make_graphs, numbers, search

KILLS = 12

Items = dict[str, Any]
Writer = Callable[[str, int, Connection], None]


def stored(client: Client) -> Items:
    return {each["id"]["S"]: each for each in client.scan(TableName=TABLE)["Items"]}


def brute_force(items: Items, vector: list[Any], top: int) -> list[float]:
    wanted = [float(each["N"]) for each in vector]
    found = [
        sum((one - float(other["N"])) ** 2 for one, other in zip(wanted, item["vector"]["L"], strict=True)) ** 0.5
        for item in items.values()
        if "vector" in item
    ]
    return sorted(found)[:top]


def compare(client: Client, items: Items, draw: Random) -> None:
    for top in (1, 5, 100):
        vector = numbers(draw)
        found = [score for _, score in search(client, vector, top)]
        assert found == pytest.approx(brute_force(items, vector, top))


@pytest.mark.slow
def test_a_killed_writer_leaves_the_index_of_its_items(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with sortkey.client(folder) as client:
        lay_out(client)
    answered: Items = {}
    for seed in range(KILLS):
        kill_a_writer(vector_writer.main, folder, seed, answered)
        with sortkey.client(folder) as client:
            found = stored(client)
            compare(client, found, Random(seed))
            rebuilt = rebuilt_scores(found, Random(seed))
            assert scores(client, Random(seed)) == rebuilt
        assert check(folder).problems == []


# The files of the graph may be older than the items, half written, or not there at all.
@pytest.mark.slow
def test_a_killed_writer_leaves_a_graph_that_finds_its_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usearch")
    folder = tmp_path / "data"
    with sortkey.client(folder) as client:
        lay_out(client)
    answered: Items = {}
    restored: list[bool] = []
    for seed in range(KILLS):
        kill_a_writer(vector_writer.main_with_graphs, folder, seed, answered)
        with sortkey.client(folder) as client:
            found = stored(client)
            rebuilt = rebuilt_scores(found, Random(seed))
            with monkeypatch.context() as patch:
                make_graphs(patch)
                searched, opened = watch(patch)
                # Before the graph is read, and with it.
                assert scores(client, Random(seed)) == rebuilt
                wait_for_graph()
                searched.clear()
                assert scores(client, Random(seed)) == rebuilt
                compare(client, found, Random(seed))
                wait_for_graph()
                assert searched
            restored += opened
        assert check(folder).problems == []
    assert any(restored)


def kill_a_writer(writer: Writer, folder: Path, seed: int, answered: Items) -> None:
    """Let it write for a while, kill it, and compare the items with what it was answered."""
    lines = killed(writer, folder, seed, after_lines=20 + 7 * seed)
    changes = [(what, orjson.loads(change)) for what, _, change in (line.partition(" ") for line in lines)]
    for what, change in changes:
        if what == "answered":
            answered.update(change)
    last, in_doubt = changes[-1]
    with sortkey.client(folder) as client:
        found = stored(client)
    if found != {name: item for name, item in answered.items() if item is not None}:
        # The last write may have been committed, whole, without its answer.
        assert last == "asked"
        answered.update(in_doubt)
        assert found == {name: item for name, item in answered.items() if item is not None}


def watch(patch: pytest.MonkeyPatch) -> tuple[list[list[int]], list[bool]]:
    """What graphs find, and whether files of one were read, from now on."""
    searched: list[list[int]] = []
    restored: list[bool] = []
    near, restore = Graph.near, Graph.restore

    def watched_near(graph: Graph, vector: Any, wanted: int) -> list[int]:
        searched.append(near(graph, vector, wanted))
        return searched[-1]

    def watched_restore(graph: Graph, kept: Path, space: str) -> list[bytes] | None:
        found = restore(graph, kept, space)
        restored.append(found is not None)
        return found

    patch.setattr(Graph, "near", watched_near)
    patch.setattr(Graph, "restore", watched_restore)
    return searched, restored


def wait_for_graph() -> None:
    for thread in enumerate_threads():
        if thread.name == BUILDER:
            thread.join()


def scores(client: Client, draw: Random) -> list[list[tuple[str, float]]]:
    return [search(client, numbers(draw), 10) for _ in range(3)]


def rebuilt_scores(items: Items, draw: Random) -> list[list[tuple[str, float]]]:
    """What an index finds that was made of the items at once."""
    with sortkey.client("memory:") as client:
        lay_out(client)
        for item in items.values():
            client.put_item(TableName=TABLE, Item=item)
        return scores(client, draw)


# The memory of this process follows what the other one writes.
@pytest.mark.slow
def test_a_search_sees_what_another_process_has_written(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    draw = Random(5)
    with sortkey.client(folder) as client:
        lay_out(client)
        running = Running(vector_writer.main, folder, 3)
        try:
            for _ in range(20):
                before = [line for line in running.read_more(4) if line.startswith("answered")]
                assert before
                # Whatever the search finds is of one snapshot: each score is that of an item that was there.
                assert len(search(client, numbers(draw), 3)) <= 3
        finally:
            running.kill()
        items = stored(client)
        assert items.keys() <= set(NAMES)
        compare(client, items, draw)
