"""Start: from a new process to the first put, opening a large folder, and bytes on disk

A start is a process of its own that imports, declares an item and puts it: into a new folder, into an endpoint, and
into DynamoDB by its region, as a Lambda function does (its endpoint is ours). boto3 makes a client and puts the same
item. Modules are compiled before, as those of installed packages are. A number is the median of many processes, which
take turns.

A large folder is opened again and again in this process. Opening reads the pages above the leaves, of which fewer,
larger items have as many. Bytes on disk are the file's, for each item; JSON is the same items as lines of DynamoDB
JSON. Leaves grow with the items. Free pages do not: they are those that the last commits replaced, so their share is
large here, and small in a store of millions. `restored` is what `sortkey restore` makes of a backup.

`SORTKEY_START_PROCESSES`, `_FOLDER_ITEMS` and `_ITEMS` set the sizes; with those below it takes a minute of
processor time.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Final, NamedTuple

import orjson

import sortkey as sk
from benchmarks._peers import working_folder
from benchmarks._results import Result
from sortkey.storage import back_up, restore
from tests.wire.serving import ServerProcess

TEXT: Final = "x" * 155
CHUNK: Final = 1000
LONG_TEXT: Final = "x" * 1200
UPDATES: Final = 2
"""How many updates there are to each item, on average."""

THING: Final = """
class Thing(sk.Item, table="things"):
    name: str
    key = sk.Key("THING#{name}")
"""
STARTS: Final = {
    "import sortkey": "import sortkey",
    "first put, new folder": f"import sys, sortkey as sk\n{THING}\n"
    "with sk.connect(sys.argv[1]) as db:\n    db.create_tables(Thing)\n    db.put(Thing(name='a'))",
    "first put, endpoint": f"import sys, sortkey as sk\n{THING}\n"
    "with sk.connect(sys.argv[2]) as db:\n    db.put(Thing(name='a'))",
    "first put, dynamodb://": f"import sys, sortkey as sk\n{THING}\n"
    "with sk.connect('dynamodb://eu-west-1') as db:\n    db.put(Thing(name='a'))",
    "first put of a client, dynamodb://": "import sortkey as sk\nwith sk.client('dynamodb://eu-west-1') as client:\n"
    "    client.put_item(TableName='things', Item={'pk': {'S': 'THING#a'}, 'sk': {'S': '#'}})",
    "first put, async, dynamodb://": f"import asyncio, sortkey as sk\n{THING}\nasync def main():\n"
    "    async with sk.async_connect('dynamodb://eu-west-1') as db:\n        await db.put(Thing(name='a'))\n"
    "asyncio.run(main())",
    "import sortkey.lambda_functions": "import sortkey.lambda_functions",
}
BOTO3: Final = (
    "import boto3\nclient = boto3.client('dynamodb', region_name='eu-west-1')\n"
    "client.put_item(TableName='things', Item={'pk': {'S': 'THING#a'}, 'sk': {'S': '#'}})"
)
CREATE: Final = f"import sys, sortkey as sk\n{THING}\nsk.connect(sys.argv[2]).create_tables(Thing)"


class Sizes(NamedTuple):
    processes: int = 5
    folder_items: int = 500_000
    """About 1 GiB."""
    items: int = 100_000

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> Sizes:
        keys = {name: f"SORTKEY_START_{name.upper()}" for name in cls._fields}
        return cls(**{name: int(given[key]) for name, key in keys.items() if key in given})


class Cost(NamedTuple):
    """In milliseconds."""

    passed: float
    worked: float
    """Processor time, which is steadier where others use the machine."""


class Apart(sk.Item, table="apart"):
    """Each item in a partition of its own: the hash of its key is its place."""

    number: str
    text: str = TEXT

    key = sk.Key("ITEM#{number}")


class Together(sk.Item, table="together"):
    group: str
    number: str
    text: str = TEXT

    key = sk.Key("{group}", "{number}")


class Indexed(sk.Item, table="indexed"):
    number: str
    owner: str
    text: str = TEXT

    key = sk.Key("ITEM#{number}")
    by_owner = sk.Index("by-owner", "{owner}", "{number}")


def run() -> Iterator[Result]:
    yield from measure(Sizes.from_environment())


def measure(sizes: Sizes) -> Iterator[Result]:
    with TemporaryDirectory(dir=working_folder()) as made:
        yield from starts(Path(made), sizes.processes)
        yield from openings(Path(made), sizes)
        yield from bytes_on_disk(Path(made), sizes.items)


def starts(folder: Path, processes: int) -> Iterator[Result]:
    server = ServerProcess("--memory")
    try:
        starter = Starter(folder, server.url)
        starter.start(CREATE)
        found: dict[str, list[Cost]] = {name: [] for name in ("boto3", *STARTS)}
        for turn in range(processes + 1):
            for name, program in {"boto3": BOTO3, **STARTS}.items():
                cost = starter.start(program)
                # The first one of each compiles the modules.
                found[name] += [cost] if turn else []
    finally:
        server.stop()
    for name in STARTS:
        for part, kind in enumerate(("", ", processor time")):
            ours, theirs = (median(cost[part] for cost in found[each]) for each in (name, "boto3"))
            yield Result(f"{name}{kind}", ours, "ms", peers={"boto3's client and first put": theirs})


class Starter:
    """Starts programs, each in a process of its own."""

    def __init__(self, folder: Path, url: str) -> None:
        self._folder = folder
        self._url = url
        self._started = 0
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._environment = kept | {
            "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
            "AWS_ACCESS_KEY_ID": "benchmark",
            "AWS_SECRET_ACCESS_KEY": "benchmark",
            "AWS_ENDPOINT_URL_DYNAMODB": url,
        }

    def start(self, program: str) -> Cost:
        """Run a program with a new folder and the endpoint's URL as arguments."""
        self._started += 1
        command = [sys.executable, "-c", program, str(self._folder / f"new-{self._started}"), self._url]
        began = perf_counter()
        process = subprocess.Popen(command, env=self._environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"a program that is measured failed:\n{program}")
        return Cost(1000 * (perf_counter() - began), 1000 * (used.ru_utime + used.ru_stime))


def openings(folder: Path, sizes: Sizes) -> Iterator[Result]:
    store = folder / "large"
    with sk.connect(store, tables=[Apart]) as db:
        db.create_tables()
        db.load(Apart(number=f"{number:010}", text=LONG_TEXT) for number in range(sizes.folder_items))
    costs = [opening(store) for _ in range(sizes.processes)]
    gibibytes = (store / "data.mdb").stat().st_size / (1 << 30)
    for part, kind in enumerate(("", ", processor time")):
        yield Result(f"open a folder of {gibibytes:.2f} GiB{kind}", median(cost[part] for cost in costs), "ms")


def opening(store: Path) -> Cost:
    began, working = perf_counter(), process_time()
    client = sk.client(store)
    cost = Cost(1000 * (perf_counter() - began), 1000 * (process_time() - working))
    client.close()
    return cost


def bytes_on_disk(folder: Path, items: int) -> Iterator[Result]:
    in_order = range(items)
    shuffled = random.Random(7).sample(in_order, items)
    yield from loaded(folder / "apart", "a partition for each item, loaded", map(apart, shuffled))
    yield from restored(folder / "apart", "a partition for each item, restored")
    yield from updated(folder / "apart", "the same, after updates of other lengths", items)
    yield from put(folder / "single", "the same, put one by one", map(apart, shuffled))
    partitions = f"{CHUNK:,} items a partition"
    yield from loaded(folder / "ordered", f"{partitions}, loaded in key order", map(together, in_order))
    yield from loaded(folder / "mixed", f"{partitions}, loaded in random order", map(together, shuffled))
    yield from loaded(folder / "single-partition", "one partition, loaded in key order", map(alone, in_order))
    yield from loaded(folder / "indexed", "with an index of all attributes, loaded", map(indexed, shuffled))
    yield from restored(folder / "indexed", "with an index of all attributes, restored")


def apart(number: int) -> Apart:
    return Apart(number=f"{number:010}")


def together(number: int) -> Together:
    return Together(group=f"{number // CHUNK:06}", number=f"{number % CHUNK:06}")


def alone(number: int) -> Together:
    return Together(group="all", number=f"{number:010}")


def indexed(number: int) -> Indexed:
    return Indexed(number=f"{number:010}", owner=f"{number % CHUNK:06}")


def loaded(store: Path, name: str, items: Iterable[sk.Item]) -> Iterator[Result]:
    with sk.connect(store, tables=[Apart, Together, Indexed]) as db:
        db.create_tables()
        db.load(items)
    yield from measured(store, name)


def put(store: Path, name: str, items: Iterable[sk.Item]) -> Iterator[Result]:
    """Without syncs: what is synced has no other bytes."""
    with sk.connect("memory:", tables=[Apart]) as db:
        db.create_tables()
        for item in items:
            db.put(item)
        database = db.client.database
        assert database is not None
        store.mkdir()
        database.store._environment.copy(str(store))
    yield from measured(store, name)


def restored(store: Path, name: str) -> Iterator[Result]:
    file, made = store.with_suffix(".gz"), store.with_name(f"{store.name}-restored")
    back_up(store, file, no_progress)
    restore(file, made, no_check, no_progress)
    yield from measured(made, name)


def no_check(_: Path) -> None:
    """The folder was just made."""


def no_progress(_: int, __: int) -> None: ...


def updated(store: Path, name: str, items: int) -> Iterator[Result]:
    draw = random.Random(8)
    with sk.connect(store, tables=[Apart]) as db:
        for _ in range(UPDATES):
            db.load(
                Apart(number=f"{draw.randrange(items):010}", text="y" * draw.randrange(len(TEXT) * 2))
                for _ in range(items)
            )
    yield from measured(store, name)


def measured(store: Path, name: str) -> Iterator[Result]:
    """Bytes of the file for each item, and what of them is in leaves and in free pages."""
    rows, text = 0, 0
    with sk.client(store) as client:
        for table in client.list_tables()["TableNames"]:
            for page in client.get_paginator("scan").paginate(TableName=table):
                rows += page["Count"]
                text += sum(len(orjson.dumps(item)) + 1 for item in page["Items"])
        assert client.database is not None
        environment = client.database.store._environment
        pages, size, last = environment.stat(), environment.stat()["psize"], environment.info()["last_pgno"]
    json = {"JSON": text / rows}
    used = pages["leaf_pages"] + pages["branch_pages"] + pages["overflow_pages"]
    yield Result(f"{name}: file", (store / "data.mdb").stat().st_size / rows, "B", peers=json)
    yield Result(f"{name}: leaves", pages["leaf_pages"] * size / rows, "B", peers=json)
    yield Result(f"{name}: free pages", (last + 1 - used) * size / rows, "B")
