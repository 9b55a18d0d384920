"""Chroma's part of the benchmark of vectors, run by its own environment: `python _vectors_chroma.py FOLDER TOP`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

BATCH = 5000


def main(folder: Path, top: int) -> None:
    vectors, queries = (np.load(folder / f"{name}.npy") for name in ("vectors", "queries"))
    chromadb: Any = import_module("chromadb")
    client = chromadb.PersistentClient(str(folder / "data"))
    collection = client.create_collection("vectors", metadata={"hnsw:space": "cosine"})
    started = perf_counter()
    for start in range(0, len(vectors), BATCH):
        part = vectors[start : start + BATCH]
        collection.add(ids=[str(start + number) for number in range(len(part))], embeddings=part)
    puts = len(vectors) / (perf_counter() - started)
    started = perf_counter()
    collection.query(query_embeddings=[queries[0]], n_results=top, include=[])
    opened = perf_counter() - started
    found, latencies = [], []
    for query in queries:
        wanted = query.tolist()
        started = perf_counter()
        answer = collection.query(query_embeddings=[wanted], n_results=top, include=[])
        latencies.append((perf_counter() - started) * 1000)
        found.append([int(each) for each in answer["ids"][0]])
    sys.stdout.write(json.dumps({"latencies": latencies, "found": found, "puts": puts, "opened": opened}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
