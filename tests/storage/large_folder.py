"""A folder with three levels of pages, which is opened as if it were large, and ways to damage it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sortkey.storage import seal
from sortkey.storage.page_tree import PageUse, TreeWalk
from sortkey.storage.pages import Key, Pages, meta_of
from tests.storage.byte_store import ByteBatch, ByteStore, open_store, put

PAGE = 4096
KEYS = [b"key %06d" % number for number in range(0, 40_000, 10)]
LONG = KEYS[1000]
HEADER = 24


def write_large(folder: Path) -> None:
    store = open_store(folder)
    for start in range(0, len(KEYS), 500):
        store.write(put_all(KEYS[start : start + 500]))
    store.write(put(LONG, seal(LONG, b"l" * 3 * PAGE)))
    store.close()


def put_all(keys: list[bytes]) -> Callable[[ByteBatch], None]:
    def work(batch: ByteBatch) -> None:
        for key in keys:
            batch.put(key, seal(key, b"v" * 60))

    return work


def change(batch: ByteBatch, changed: dict[bytes, bytes | None]) -> None:
    for key, value in changed.items():
        batch.writes += 1
        if value is None:
            batch.transaction.delete(key)
        else:
            batch.transaction.put(key, seal(key, value))


def leaves_of(folder: Path) -> list[tuple[int, list[Key]]]:
    """The numbers and keys of the leaves."""
    data = (folder / "data.mdb").read_bytes()

    def read(length: int, offset: int) -> bytes:
        return data[offset : offset + length]

    newest = max(int.from_bytes(data[at + HEADER + 24 + 96 + 8 :][:8], "little") for at in (0, PAGE))
    meta = meta_of(read, newest)
    use = PageUse(meta, len(data))
    pages = Pages(read, meta, use.take_long)
    return [
        (number, pages.leaf(number, *branch.bounds(at)).keys)
        for _, branch in TreeWalk(pages, use, meta.main).lowest_branches()
        for at, number in enumerate(branch.children)
    ]


def leaf_of(folder: Path, key: bytes) -> int:
    """The number of the page that has the key."""
    return next(number for number, keys in leaves_of(folder) if key in keys)


def branch_of(folder: Path, key: bytes) -> int:
    """The number of the page above the leaf that has the key."""
    data = (folder / "data.mdb").read_bytes()
    leaf = leaf_of(folder, key)
    return next(number for number, children in branches_of(data) if leaf in children)


def branches_of(data: bytes) -> list[tuple[int, list[int]]]:
    """The numbers of the pages above the leaves, and those of their leaves."""

    def read(length: int, offset: int) -> bytes:
        return data[offset : offset + length]

    newest = max(int.from_bytes(data[at + HEADER + 24 + 96 + 8 :][:8], "little") for at in (0, PAGE))
    meta = meta_of(read, newest)
    use = PageUse(meta, len(data))
    walk = TreeWalk(Pages(read, meta, use.take_long), use, meta.main)
    return [(number, list(branch.children)) for number, branch in walk.lowest_branches()]


def overwrite(folder: Path, at: int, new: bytes) -> None:
    with (folder / "data.mdb").open("r+b") as file:
        file.seek(at)
        file.write(new)


def hide(folder: Path, key: bytes) -> None:
    """Change the last bits of a key on its leaf: its page stays in order, and a search does not find it."""
    data = (folder / "data.mdb").read_bytes()
    page = leaf_of(folder, key) * PAGE
    at = data.index(key, page, page + PAGE) + len(key) - 1
    overwrite(folder, at, bytes([data[at] ^ 2]))


def get(store: ByteStore, key: bytes) -> bytes | None:
    with store.read() as snapshot:
        return snapshot.get(key)
