"""The gold tables: a folder of Parquet, with one folder for each table.

    customers/*.parquet      person_id, name, tier, language, notifications
    goals/*.parquet          person_id, goal_id, month, target_cents
    contributions/*.parquet  contribution_id, person_id, goal_id, status, amount_cents, effective_at

Every file's columns and types are checked by its footer, so both engines reject the same files in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as types

from sortkey_services.goals.batch.batch_run import BatchRejected


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

TABLES: Final[Mapping[str, Mapping[str, ColumnType]]] = {
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

    files: Mapping[str, list[list[Path]]]

    @property
    def fingerprint(self) -> str:
        """Another one if a file was replaced: a load can only be resumed with the same files."""
        parts = [
            f"{path}:{stat.st_size}:{stat.st_mtime_ns}"
            for groups in self.files.values()
            for paths in groups
            for path in paths
            for stat in [path.stat()]
        ]
        return blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


def find_gold(folder: Path) -> Gold:
    """Raises BatchRejected for a folder or a column that is missing, and for a column of another type."""
    if not folder.is_dir():
        raise BatchRejected(f"--gold {folder}: there is no such folder")
    return Gold({name: _files(folder / name, columns) for name, columns in TABLES.items()})


def _files(folder: Path, columns: Mapping[str, ColumnType]) -> list[list[Path]]:
    if not folder.is_dir():
        raise BatchRejected(f"{folder}: there is no such folder; gold has {', '.join(TABLES)}")
    by_types: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*.parquet")):
        # What is unfinished, and what Spark and others note beside their files, as _temporary, _SUCCESS, _delta_log.
        if not any(part[0] in "._" for part in path.relative_to(folder).parts):
            by_types.setdefault(_types(path, columns), []).append(path.resolve())
    if not by_types:
        raise BatchRejected(f"{folder}: there is no Parquet file in it")
    return [*by_types.values()]


def _types(path: Path, columns: Mapping[str, ColumnType]) -> str:
    """The types of the columns of a file, which are right."""
    try:
        schema = pq.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise BatchRejected(f"{path}: cannot be read as Parquet: {' '.join(str(error).split())}") from None
    for name, wanted in columns.items():
        found = schema.get_all_field_indices(name)
        if not found:
            raise BatchRejected(f"{path}: there is no column {name}; it must have {', '.join(columns)}")
        given = schema.field(found[0]).type
        if not wanted.accepts(given):
            raise BatchRejected(f"{path}: the column {name} must be {wanted.name}, not {given}")
    return ", ".join(str(schema.field(name).type) for name in columns)
