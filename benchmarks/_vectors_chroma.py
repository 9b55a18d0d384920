"""Chroma's part of the benchmark of vectors, run by its own environment: `python _vectors_chroma.py FOLDER TOP`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

BATCH = 5000


def main(folder: Path, top: int) -> None:
    vectors, queries = (np.load(folder / f"{name}.npy") for name in ("vectors", "queries"))
    chromadb: Any = import_module("chromadb")
    client = chromadb.PersistentClient(str(folder / "data"))
    collection = client.create_collection("vectors", metadata={"hnsw:space": "cosine"})
    begun = times()
    for start in range(0, len(vectors), BATCH):
        part = vectors[start : start + BATCH]
        collection.add(ids=[str(start + number) for number in range(len(part))], embeddings=part)
    putting = since(begun)
    begun = times()
    collection.query(query_embeddings=[queries[0]], n_results=top, include=[])
    opening = since(begun)
    found, latencies = [], []
    begun = times()
    for query in queries.tolist():
        started = perf_counter()
        answer = collection.query(query_embeddings=[query], n_results=top, include=[])
        latencies.append((perf_counter() - started) * 1000)
        found.append([int(each) for each in answer["ids"][0]])
    searches = {"found": found, "latencies": latencies, "processor": since(begun)[1] * 1000 / len(queries)}
    sys.stdout.write(json.dumps({"searches": searches, "putting": putting, "opening": opening}) + "\n")


def times() -> tuple[float, float]:
    return perf_counter(), process_time()


def since(begun: tuple[float, float]) -> tuple[float, float]:
    """The seconds, and those of processor time."""
    wall, processor = begun
    return perf_counter() - wall, process_time() - processor


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
