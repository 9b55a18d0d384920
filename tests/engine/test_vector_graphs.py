"""Large vector indexes: a graph finds candidates, is kept beside the store, and never shows what has gone."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sortkey.engine.database import Database
from sortkey.engine.operations.write import BulkPut
from sortkey.engine.tables import vector_rows
from sortkey.engine.vectors import graph, vector_memory
from tests.engine.operations.table_shapes import attributes, key_schema
from tests.engine.vector_samples import Item, brute_force, create_dishes, dish, search, vector_index

pytest.importorskip("usearch")

DIMENSIONS = 16
COUNT = 600


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs for few vectors."""
    monkeypatch.setattr(vector_memory, "BLOCK_ROWS", 256)
    monkeypatch.setattr(vector_memory, "GRAPH_FROM", 400)
    monkeypatch.setattr(vector_memory, "ADDED_FROM", 20)
    monkeypatch.setattr(vector_memory, "SAVED_FROM", 20)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "data")
    yield database
    database.close()


class Pantry:
    """Dishes around a few centres, in a table and in a dictionary."""

    def __init__(self, db: Database, function: str) -> None:
        self.db = db
        self.function = function
        self.draw = Random(7)
        self.centres = [[self.draw.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(40)]
        self.items: dict[str, Item] = {}

    def call(self, operation: str, **members: Any) -> dict[str, Any]:
        return self.db.call(operation, members)

    def create(self) -> None:
        create_dishes(self.call, vector_index(Dimensions=DIMENSIONS, DistanceFunction=self.function))

    def taste(self) -> list[float]:
        centre = self.draw.choice(self.centres)
        return [round(each + self.draw.gauss(0, 0.4), 4) for each in centre]

    def put(self, *names: str) -> None:
        bulk = BulkPut(self.db)
        for name in names:
            self.items[name] = dish(name, *self.taste())
            bulk.add("dishes", self.items[name])
        self.db.store.write(bulk.work)

    def delete(self, name: str) -> None:
        self.call("DeleteItem", TableName="dishes", Key={"id": {"S": name}})
        del self.items[name]

    def search(self, taste: list[float]) -> list[tuple[str, float]]:
        return search(self.call, *taste, top=10)

    def memory(self) -> Any:
        (memory,) = self.db.vector_memories.values()
        return memory

    def wait(self) -> None:
        """Until the graph has all that it should have."""
        self.search(self.taste())
        builder = self.memory()._builder
        if builder is not None:
            builder.join()

    def recall(self, queries: int = 12) -> float:
        hits = 0
        for _ in range(queries):
            wanted = self.taste()
            exact = brute_force(self.items.values(), self.function, wanted, 10)
            found = [score for _, score in self.search(wanted)]
            hits += sum(any(abs(one - other) < 1e-9 for other in exact) for one in found)
        return hits / (10 * queries)


def stocked(db: Database, function: str = "COSINE") -> Pantry:
    pantry = Pantry(db, function)
    pantry.create()
    pantry.put(*(f"dish {number}" for number in range(COUNT)))
    return pantry


@pytest.mark.slow
@pytest.mark.parametrize("function", ["COSINE", "EUCLIDEAN", "DOT_PRODUCT"])
def test_a_graph_finds_nearly_all_and_every_new_vector(db: Database, function: str) -> None:
    pantry = stocked(db, function)
    assert pantry.recall(3) == 1.0
    pantry.wait()
    memory = pantry.memory()
    assert memory._graph is not None
    assert len(memory._slots) == COUNT
    assert pantry.recall() >= 0.95
    # A new vector is found at once, one that was changed or removed is not.
    for number in range(0, 30, 2):
        pantry.put(f"dish {number}")
        pantry.delete(f"dish {number + 1}")
        found = dict(pantry.search([float(each["N"]) for each in pantry.items[f"dish {number}"]["taste"]["L"]]))
        if pantry.function != "DOT_PRODUCT":
            assert found[f"dish {number}"] == pytest.approx(0.0, abs=1e-9)
        assert f"dish {number + 1}" not in found
    assert pantry.recall() >= 0.95


@pytest.mark.slow
def test_a_graph_is_kept_and_caught_up(db: Database, tmp_path: Path) -> None:
    pantry = stocked(db)
    pantry.wait()
    files = sorted(file.suffix for file in (tmp_path / "data" / graph.FOLDER).iterdir())
    assert files == [".graph", ".json", ".rows"]
    # Written after the graph was kept: a kill would leave the same.
    pantry.put("new", "dish 3")
    pantry.delete("dish 4")
    pantry.db.close()
    pantry.db = Database(tmp_path / "data")
    try:
        pantry.wait()
        memory = pantry.memory()
        # Not made again: only what has changed is not in it.
        assert memory._slots.count(None) == 2
        assert memory._saved == COUNT
        assert "dish 4" not in dict(pantry.search(pantry.taste()))
        wanted = [float(each["N"]) for each in pantry.items["new"]["taste"]["L"]]
        assert pantry.recall() >= 0.95
        assert pantry.search(wanted)[0][0] == "new"
    finally:
        pantry.db.close()


# The index's log, by which memories catch up, has forgotten what changed since the graph was saved.
@pytest.mark.slow
def test_a_graph_that_is_older_than_the_log_is_kept(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_memory, "KEPT_CHANGES", 8)
    monkeypatch.setattr(vector_rows, "KEPT_CHANGES", 8)
    pantry = stocked(db)
    pantry.wait()
    pantry.put(*(f"dish {number}" for number in range(12)))
    pantry.delete("dish 12")
    # Again as it was: its row has the same seal.
    before = pantry.items["dish 13"]
    pantry.put("dish 13")
    pantry.call("PutItem", TableName="dishes", Item=before)
    pantry.items["dish 13"] = before
    pantry.db.close()
    pantry.db = Database(tmp_path / "data")
    try:
        pantry.wait()
        memory = pantry.memory()
        assert memory._slots.count(None) == 13
        assert memory._saved == COUNT
        assert pantry.recall() >= 0.95
    finally:
        pantry.db.close()


# Each time, all of it is written.
@pytest.mark.slow
def test_a_large_graph_is_seldom_saved(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []
    save = graph.Graph.save

    def watched(made: graph.Graph, folder: Path, space: str, rows: list[bytes]) -> None:
        saved.append(len(rows))
        save(made, folder, space, rows)

    monkeypatch.setattr(graph.Graph, "save", watched)
    pantry = stocked(db)
    pantry.wait()
    assert sum(saved) <= vector_memory.SAVED_GROWING * COUNT
    assert saved[-1] == COUNT
    few = COUNT // vector_memory.SAVED_COMPLETE
    for start in range(0, 2 * few, few):
        pantry.put(*(f"new {number}" for number in range(start, start + few)))
        pantry.wait()
    assert saved[-1] == COUNT + 2 * few
    assert saved[-2] == COUNT


@pytest.mark.slow
def test_damaged_files_are_made_again(db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pantry = stocked(db)
    pantry.wait()
    pantry.db.close()
    (kept,) = (tmp_path / "data" / graph.FOLDER).glob("*.graph")
    kept.write_bytes(kept.read_bytes()[:-100] + bytes(100))
    pantry.db = Database(tmp_path / "data")
    try:
        with caplog.at_level(logging.ERROR):
            pantry.wait()
        assert caplog.records == []
        assert pantry.memory()._slots.count(None) == 0
        assert pantry.recall(5) >= 0.9
    finally:
        pantry.db.close()


def test_files_of_indexes_that_are_gone_are_removed(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "data" / graph.FOLDER
    folder.mkdir()
    (folder / "000000ff-1234.graph").write_bytes(b"x")
    pantry = Pantry(db, "COSINE")
    db.call(
        "CreateTable",
        {
            "TableName": "dishes",
            "KeySchema": key_schema("id"),
            "AttributeDefinitions": attributes(id="S"),
            "BillingMode": "PAY_PER_REQUEST",
            "VectorIndexes": [vector_index(Dimensions=DIMENSIONS)],
        },
    )
    assert pantry.search(pantry.taste()) == []
    assert list(folder.iterdir()) == []


# With as many as in a small graph, a search in 1,000,000 vectors missed one of the nearest ten in 14.
def test_a_search_considers_more_of_a_larger_graph() -> None:
    assert [graph.considered(vectors) for vectors in (1_000, 100_000, 1_000_000)] == [64, 105, 333]
