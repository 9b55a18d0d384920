"""`Engine`: what runs the job's SQL. DuckDB runs in the process, Spark in a process of its own or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

from sortkey.object_storage import StoredObject
from sortkey_services.goals.batch.batch_run import BatchRejected

ENGINES: Final = ("duckdb", "spark")
_PACKAGES: Final = {"duckdb": ("DuckDB", "batch"), "pyspark": ("PySpark", "spark"), "py4j": ("PySpark", "spark")}

Row = tuple[Any, ...]
GoldFile = Path | StoredObject


class Engine(Protocol):
    def read(self, view: str, files: Sequence[GoldFile], instants: Sequence[str]) -> None:
        """Makes a view of Parquet files, which are objects if `reads_in_place` says so. The columns `instants` become
        instants, whatever zone and precision the file has; those without a zone are UTC."""
        ...

    def table(self, view: str, columns: Mapping[str, str], rows: Sequence[Row]) -> None:
        """Makes a view of a few rows. Types are STRING and BIGINT."""
        ...

    def view(self, name: str, sql: str) -> None:
        """Makes a view of a text."""
        ...

    def ask(self, sql: str) -> list[Row]:
        """A small answer. Raises BatchRejected for data that the engine cannot read."""
        ...

    def rows(self, sql: str, by: Sequence[str]) -> Iterator[list[Row]]:
        """Any number of rows, a few thousand at a time, with those that are equal in the first column of `by` one after
        the other, in the order of `by`."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class PartitionedEngine(Protocol):
    """An engine whose own processes can write."""

    @property
    def writes_by_partition(self) -> bool: ...

    @property
    def written(self) -> int:
        """How many persons `write` has written so far, to be asked from another thread."""
        ...

    def write(self, sql: str, by: Sequence[str], write: Callable[[Iterator[Row]], int]) -> int:
        """Calls the function with the rows of each partition, in the engine's processes, and returns the sum of what
        it returned. Rows that are equal in the first column of `by` are in one partition, in the order of `by`. Raises
        BatchFailed."""
        ...


def reads_in_place(name: str, master: str | None) -> bool:
    """Whether the engine reads object storage by itself: a cluster cannot see copies on this machine, and this machine
    needs no jars to read copies."""
    return name == "spark" and master is not None and not master.startswith("local")


def open_engine(name: str, master: str | None) -> Engine:
    """Raises BatchRejected if it is not installed, or does not start."""
    if master is not None and name != "spark":
        raise BatchRejected(f"--master {master} is for --engine spark")
    if name not in ENGINES:
        raise BatchRejected(f"--engine {name}: there are {' and '.join(ENGINES)}")
    try:
        module = import_module(f"sortkey_services.goals.batch.{name}_engine")
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        name, extra = _PACKAGES[package]
        raise BatchRejected(f"{name} is not installed; run: pip install 'sortkey[{extra}]'") from None
    engine: Engine = module.start(master)
    return engine
