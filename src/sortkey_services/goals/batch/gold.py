"""The gold tables: a folder of Parquet, on a disk or on object storage, with one folder for each table; and what must
be true of them.

    customers/*.parquet      person_id, name, tier, language, notifications
    goals/*.parquet          person_id, goal_id, month, target_cents
    contributions/*.parquet  contribution_id, person_id, goal_id, status, amount_cents, effective_at

Every file's columns and types are checked by its footer, so both engines reject the same files in the same words. The
rows are checked by SQL before anything is written. Each check names what is wrong, with an example.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as types

from sortkey.object_storage import (
    THREADS,
    Address,
    ObjectError,
    ObjectFile,
    ObjectStorage,
    ShowCopied,
    StoredObject,
    copied,
    is_hidden,
)
from sortkey_services.goals.batch.batch_run import BatchFailed, BatchRejected, BatchRun, NotReconciled
from sortkey_services.goals.batch.engine import Engine, GoldFile
from sortkey_services.goals.event import MAX_ID_BYTES, error_in_id

MAX_TEXT: Final = 10_000
MAX_GOALS: Final = 500
"""Of a person in a month: with these and the longest texts, an item is below DynamoDB's 400 KB."""
MAX_CENTS: Final = 10**14
"""A float still tells the cents of such an amount apart."""
_SHOWN_COLUMNS: Final = 4
_IDS: Final = (("customers", "person_id"), ("goals", "goal_id"))
"""Others are only compared with these."""


class ColumnType(NamedTuple):
    name: str
    accepts: Callable[[Any], bool]
    sql: str
    """The type that both engines cast it to; empty for instants, which each reads in its own way."""


def _is_text(given: Any) -> bool:
    kind = given.value_type if types.is_dictionary(given) else given
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


TEXT: Final = ColumnType("text", _is_text, "STRING")
BOOLEAN: Final = ColumnType("boolean", types.is_boolean, "BOOLEAN")
CENTS: Final = ColumnType("bigint (whole cents)", types.is_signed_integer, "BIGINT")
INSTANT: Final = ColumnType("timestamp (in UTC)", types.is_timestamp, "")
COLUMNS: Final[Mapping[str, Mapping[str, ColumnType]]] = {
    "customers": {"person_id": TEXT, "name": TEXT, "tier": TEXT, "language": TEXT, "notifications": BOOLEAN},
    "goals": {"person_id": TEXT, "goal_id": TEXT, "month": TEXT, "target_cents": CENTS},
    "contributions": {
        "contribution_id": TEXT,
        "person_id": TEXT,
        "goal_id": TEXT,
        "status": TEXT,
        "amount_cents": CENTS,
        "effective_at": INSTANT,
    },
}


class Gold(NamedTuple):
    """The checked files of the tables, by the table's name. Those with the same types are together: an engine takes the
    types of all files that it reads at once from one of them."""

    source: Path | Address
    files: Mapping[str, list[list[GoldFile]]]
    fingerprint: str
    """Another one if a file was replaced: a load can only be resumed with the same files."""

    @property
    def objects(self) -> list[StoredObject]:
        return [each for each in _flat(self.files) if isinstance(each, StoredObject)]

    def require_unchanged(self) -> None:
        """Raises BatchFailed if an object that an engine has read in its place was replaced or removed since."""
        if not isinstance(self.source, Address) or not self.objects:
            return
        try:
            storage = ObjectStorage()
            now = {each for name in COLUMNS for each in storage.files(self.source.child(name).folder)}
        except ObjectError as error:
            raise BatchFailed(f"{error}; so nobody knows whether gold has changed") from None
        for each in self.objects:
            if each not in now:
                raise BatchFailed(f"{each} was replaced or removed while it was read; run the command again")


def find_gold(source: Path | Address) -> Gold:
    """Raises BatchRejected for a folder or a column that is missing, and for a column of another type."""
    if isinstance(source, Path):
        if not source.is_dir():
            raise BatchRejected(f"--gold {source}: there is no such folder")
        files = {name: _by_types(_paths(source / name), columns) for name, columns in COLUMNS.items()}
    else:
        try:
            storage = ObjectStorage()
            # All listed, before the first is read: one that is missing is found at once.
            listed = {name: _objects(storage, source.child(name)) for name in COLUMNS}
            files = {name: _by_types(listed[name], columns, storage) for name, columns in COLUMNS.items()}
        except ObjectError as error:
            raise BatchRejected(f"--gold {error}") from None
    return Gold(source, files, _fingerprint(files))


def _paths(folder: Path) -> list[GoldFile]:
    if not folder.is_dir():
        raise BatchRejected(f"{folder}: there is no such folder; gold has {', '.join(COLUMNS)}")
    found = sorted(path for path in folder.rglob("*.parquet") if not is_hidden(path.relative_to(folder).parts))
    # Spark gives such a name to a folder of files, too.
    files: list[GoldFile] = [path.resolve() for path in found if not path.is_dir()]
    if not files:
        raise BatchRejected(f"{folder}: there is no Parquet file in it")
    return files


def _objects(storage: ObjectStorage, folder: Address) -> list[GoldFile]:
    found: list[GoldFile] = [each for each in storage.files(folder.folder) if each.address.key.endswith(".parquet")]
    if not found:
        raise BatchRejected(f"--gold: there is no Parquet file below {folder.folder}; gold has {', '.join(COLUMNS)}")
    return found


def _by_types(
    files: Sequence[GoldFile], columns: Mapping[str, ColumnType], storage: ObjectStorage | None = None
) -> list[list[GoldFile]]:
    by_types: dict[str, list[GoldFile]] = {}
    # Each footer of an object is a request.
    with ThreadPoolExecutor(1 if storage is None else THREADS) as pool:
        for file, types_of in zip(files, pool.map(partial(_types, columns, storage), files), strict=True):
            by_types.setdefault(types_of, []).append(file)
    return [*by_types.values()]


def _flat(files: Mapping[str, list[list[GoldFile]]]) -> list[GoldFile]:
    return [file for groups in files.values() for group in groups for file in group]


def _fingerprint(files: Mapping[str, list[list[GoldFile]]]) -> str:
    parts = [_version(file) for file in _flat(files)]
    return blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _version(file: GoldFile) -> str:
    if isinstance(file, StoredObject):
        return f"{file}:{file.size}:{file.etag}"
    found = file.stat()
    return f"{file}:{found.st_size}:{found.st_mtime_ns}"


@asynccontextmanager
async def readable(gold: Gold, *, in_place: bool, show: ShowCopied | None = None) -> AsyncIterator[Gold]:
    """The gold with files that an engine can open: of objects, copies, unless it reads them in their place. Errors name
    the objects."""
    if not isinstance(gold.source, Address) or in_place:
        try:
            yield gold
        except ObjectError as error:
            raise BatchRejected(f"--gold {error}") from None
        return
    objects = gold.objects
    try:
        async with copied(ObjectStorage(), gold.source, objects, show) as copies:
            path_of = dict(zip(objects, copies.paths, strict=True))
            files: dict[str, list[list[GoldFile]]] = {
                name: [[path_of[each] for each in group if isinstance(each, StoredObject)] for group in groups]
                for name, groups in gold.files.items()
            }
            try:
                yield gold._replace(files=files)
            except (BatchRejected, BatchFailed, NotReconciled) as error:
                raise type(error)(copies.named(str(error))) from error
    except ObjectError as error:
        raise BatchRejected(f"--gold {error}") from None


def _types(columns: Mapping[str, ColumnType], storage: ObjectStorage | None, path: GoldFile) -> str:
    """The types of the columns of a file, which are right."""
    try:
        if isinstance(path, StoredObject):
            assert storage is not None
            schema = pq.read_schema(ObjectFile(storage, path))
        else:
            schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise BatchRejected(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}") from None
    _check_names(path, schema.names)
    for name, wanted in columns.items():
        if name not in schema.names:
            raise BatchRejected(f"{path}: there is no column {name}; it must have {', '.join(columns)}")
        given = schema.field(name).type
        if not wanted.accepts(given):
            raise BatchRejected(f"{path}: the column {name} must be {wanted.name}, not {given}")
    return ", ".join(str(schema.field(name).type) for name in columns)


def _check_names(path: GoldFile, names: Sequence[str]) -> None:
    """To the engines, names that differ only in case are one: they would read a column that was not checked."""
    seen: dict[str, str] = {}
    for name in names:
        other = seen.get(name.lower())
        if other == name:
            raise BatchRejected(f"{path}: the column {name} is there twice; remove one")
        if other is not None:
            raise BatchRejected(f"{path}: the columns {other} and {name} differ only in case; remove one")
        seen[name.lower()] = name


class Check(NamedTuple):
    """Wrong if there is such a row; the message shows its columns, as texts."""

    message: str
    columns: tuple[str, ...]
    rows: str
    """What follows FROM."""

    def sql(self, number: int) -> str:
        shown = [*self.columns, *["NULL"] * (_SHOWN_COLUMNS - len(self.columns))]
        columns = ", ".join(f"CAST({each} AS STRING) AS shown_{place}" for place, each in enumerate(shown))
        return f"SELECT {number} AS number, * FROM (SELECT {columns} FROM {self.rows} LIMIT 1) AS check_{number}"


CHECKS: Final = (
    *(
        Check(
            f"customers: {column} must have at most {MAX_TEXT:,} characters, not {{1}} (person {{0}})",
            ("person_id", f"length({column})"),
            f"gold_customers WHERE length({column}) > {MAX_TEXT}",
        )
        for column in ("name", "tier", "language")
    ),
    Check(
        "contributions: status must be CONFIRMED or REJECTED, not {0!r} (contribution {1})",
        ("status", "contribution_id"),
        "gold_contributions WHERE status NOT IN ('CONFIRMED', 'REJECTED')",
    ),
    Check(
        f"goals: target_cents must be from 0 to {MAX_CENTS:,}, not {{0}} (of {{1}}, {{2}})",
        ("target_cents", "person_id", "goal_id"),
        f"gold_goals WHERE target_cents < 0 OR target_cents > {MAX_CENTS}",
    ),
    Check(
        "goals: month must be as 2026-05, not {0!r} (of {1}, {2})",
        ("month", "person_id", "goal_id"),
        "gold_goals WHERE length(month) <> 7 OR NOT regexp_like(month, '[0-9]{4}-(0[1-9]|1[0-2])')",
    ),
    Check(
        f"goals: {{0}} has {{1}} in the month; a person may have {MAX_GOALS}",
        ("person_id", "count(*)"),
        "gold_goals AS goals JOIN batch_run ON goals.month = batch_run.month"
        f" GROUP BY person_id HAVING count(*) > {MAX_GOALS}",
    ),
    Check(
        f"contributions: the sum of {{0}}, {{1}} is beyond {MAX_CENTS:,} cents",
        ("person_id", "goal_id"),
        "of_month WHERE status = 'CONFIRMED' GROUP BY person_id, goal_id"
        f" HAVING abs(sum(CAST(amount_cents AS DOUBLE))) > {MAX_CENTS}",
    ),
    Check(
        "customers: person_id {0!r} is there {1} times; each person must be there once",
        ("person_id", "count(*)"),
        "gold_customers GROUP BY person_id HAVING count(*) > 1",
    ),
    Check(
        "goals: {0}, {1} is there {3} times in {2}; each goal must be there once in a month",
        ("person_id", "goal_id", "goals.month", "count(*)"),
        "gold_goals AS goals JOIN batch_run ON goals.month = batch_run.month"
        " GROUP BY person_id, goal_id, goals.month HAVING count(*) > 1",
    ),
    Check(
        "contributions: contribution_id {0!r} is there {1} times in the month; the sums would be too high",
        ("contribution_id", "count(*)"),
        "of_month GROUP BY contribution_id HAVING count(*) > 1",
    ),
    Check(
        "rules: no rule for {0}, tier {1}, holds on {day}; add one to goal_rules",
        ("goal_id", "tier"),
        "person_goals WHERE goal_id IS NOT NULL AND special_rate IS NULL",
    ),
)
_ALL_CHECKS: Final = " UNION ALL ".join(check.sql(number) for number, check in enumerate(CHECKS))
"""One query: on Spark, each has a cost of its own."""


def check_gold(engine: Engine, run: BatchRun) -> int:
    """Raises BatchRejected for the first thing that is wrong. Returns the number of persons."""
    rows = {table: _check_nulls(engine, table) for table in COLUMNS}
    if not rows["customers"]:
        raise BatchRejected("customers: there is no row; an empty load would answer 404 for everybody")
    ((goals,),) = engine.ask("SELECT count(*) FROM gold_goals AS goals JOIN batch_run ON goals.month = batch_run.month")
    if not goals:
        raise BatchRejected(f"goals: there is no goal for the month {run.month}; name another with --month")
    for table, column in _IDS:
        _check_ids(engine, table, column)
    for number, *shown in sorted(engine.ask(_ALL_CHECKS), key=itemgetter(0)):
        raise BatchRejected(CHECKS[number].message.format(*shown, day=run.day))
    return rows["customers"]


def _check_ids(engine: Engine, table: str, column: str) -> None:
    """Whatever the service rejects as an id would be served to nobody."""
    # Most ids are plain, so few have to come here. No SQL knows what is printable.
    unusual = f"SELECT DISTINCT {column} FROM gold_{table} WHERE {column} = '' OR length({column}) > {MAX_ID_BYTES}"
    for part in engine.rows(f"{unusual} OR regexp_like({column}, '[^ -~]')", (column,)):
        for (value,) in part:
            error = error_in_id(value)
            if error is not None:
                raise BatchRejected(f"{table}: {column} {f'{value!r:.300}'} cannot be served: {error}")


def _check_nulls(engine: Engine, table: str) -> int:
    """The number of rows."""
    columns = COLUMNS[table]
    ((rows, *filled),) = engine.ask(
        f"SELECT count(*), {', '.join(f'count({name})' for name in columns)} FROM gold_{table}"
    )
    for name, number in zip(columns, filled, strict=True):
        if number < rows:
            raise BatchRejected(f"{table}: {name} is null in {rows - number:,} of {rows:,} rows; it must have a value")
    return int(rows)
