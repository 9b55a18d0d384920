"""Opens a data folder cut at each of its pages, in a process of its own: a page behind the end of a mapped file kills.

    python -m tests.engine.check.cut_folders FOLDER

Prints each use and cut before it is tried, so the last line is that of a process which was killed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from sortkey.engine.check.database_check import check
from sortkey.engine.check.discard import discard_damaged
from sortkey.engine.database import Database
from sortkey.engine.rows import records
from sortkey.errors import InternalServerError
from sortkey.storage import StorageError, environment, inspect
from tests.wire.serving import item, table

PAGE = 4096
ITEMS = 120


def fill(folder: Path) -> None:
    """With short and long values, and with pages that are free."""
    database = Database(folder)
    database.call("CreateTable", table("orders"))
    for number in range(ITEMS):
        text = "x" * (20_000 if number % 20 == 0 else 200)
        database.call("PutItem", {"TableName": "orders", "Item": item(number, text={"S": text})})
    for number in range(0, ITEMS, 3):
        database.call("DeleteItem", {"TableName": "orders", "Key": item(number)})
    database.close()


def read_and_write(folder: Path) -> None:
    database = Database(folder)
    try:
        for number in range(ITEMS):
            for operation, member in (("GetItem", "Key"), ("PutItem", "Item"), ("DeleteItem", "Key")):
                _try(lambda: database.call(operation, {"TableName": "orders", member: item(number)}))  # noqa: B023
    finally:
        database.close()


@contextmanager
def as_if_large() -> Iterator[None]:
    """Check folders leaf by leaf, as those of more than 32 MiB."""
    with patch.object(environment, "CHECKED_BYTES", 0), patch.object(records, "CHECKED_BYTES", 0):
        yield


def read_and_write_gradually(folder: Path) -> None:
    with as_if_large():
        read_and_write(folder)


def discard(folder: Path) -> None:
    discard_damaged(folder, lambda _: None)


def discard_gradually(folder: Path) -> None:
    with as_if_large():
        discard(folder)


USES: list[Callable[[Path], object]] = [
    inspect,
    check,
    discard,
    discard_gradually,
    read_and_write,
    read_and_write_gradually,
]


def _try(use: Callable[[], object]) -> None:
    try:
        use()
    except InternalServerError:
        return


def _cuts(size: int) -> Iterator[int]:
    yield from range(PAGE, size, PAGE)
    yield from (1, 100, PAGE - 1, PAGE + 1, 2 * PAGE - 1, size // 2 + 7, size - 1)


def main(folder: Path) -> None:
    sound = folder / "sound"
    fill(sound)
    for use in USES:
        for cut in _cuts((sound / "data.mdb").stat().st_size):
            sys.stdout.write(f"{use.__name__}, cut at {cut}\n")
            sys.stdout.flush()
            copy = folder / "cut"
            shutil.copytree(sound, copy)
            with (copy / "data.mdb").open("r+b") as file:
                file.truncate(cut)
            try:
                found = use(copy)
            except StorageError:
                found = None
            # The check reports what is wrong, and only a large folder can be used in part.
            assert found is None or getattr(found, "problems", None), found
            shutil.rmtree(copy)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
