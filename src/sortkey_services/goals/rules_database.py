"""The table `goal_rules` in a relational database: SQLite in a file, or PostgreSQL.

Needs SQLAlchemy, and psycopg for PostgreSQL, so `open_rules` imports this module where rules are read.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy
from sqlalchemy import Column, Date, Engine, MetaData, Numeric, Text, create_engine, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchTableError, SQLAlchemyError

from sortkey_services.goals.rules import COLUMNS, Rule, Rules, RulesError, rule_of

CONNECT_SECONDS: Final = 10
GOAL_RULES: Final = sqlalchemy.Table(
    "goal_rules",
    MetaData(),
    Column("goal_id", Text, nullable=False),
    Column("tier", Text, nullable=False),
    Column("special_rate", Numeric(9, 6), nullable=False),
    Column("valid_from", Date),
    Column("valid_to", Date),
)


class RulesDatabase:
    """A database with rules. It keeps connections open: `close` it."""

    def __init__(self, url: str) -> None:
        parsed = _parsed(url)
        self._shown = parsed.render_as_string(hide_password=True)
        if parsed.get_backend_name() == "sqlite":
            _require_file(parsed)
            self._engine = create_engine(parsed)
        else:
            self._engine = create_engine(parsed, pool_pre_ping=True, connect_args={"connect_timeout": CONNECT_SECONDS})

    def read(self) -> Rules:
        """All rules, as they are now. Raises RulesError."""
        try:
            rows = self._rows(self._engine)
        except NoSuchTableError:
            raise RulesError(f"there is no table goal_rules at {self._shown}") from None
        except SQLAlchemyError as error:
            raise RulesError(f"the rules at {self._shown} cannot be read: {_reason(error)}") from None
        if not rows:
            raise RulesError(f"the table goal_rules at {self._shown} is empty; without rules no goal is known")
        return Rules(rule_of(*row) for row in rows)

    def close(self) -> None:
        self._engine.dispose()

    def _rows(self, engine: Engine) -> list[tuple[object, ...]]:
        columns = {each["name"] for each in inspect(engine).get_columns("goal_rules")}
        missing = [name for name in COLUMNS if name not in columns]
        if missing:
            raise RulesError(f"the table goal_rules at {self._shown} has no column {missing[0]}")
        # Without types: in SQLite a column holds what was written, whatever its type says.
        untyped: list[sqlalchemy.ColumnClause[object]] = [sqlalchemy.column(name) for name in COLUMNS]
        rules = select(*untyped).select_from(GOAL_RULES).order_by(*untyped[:2], untyped[3])
        with engine.connect() as connection:
            return [tuple(row) for row in connection.execute(rules)]


def write_rules(url: str, rules: Rules) -> None:
    """Replaces all rules at a URL; creates the table, and a SQLite file, if there is none."""
    engine = create_engine(_parsed(url))
    try:
        GOAL_RULES.create(engine, checkfirst=True)
        with engine.begin() as connection:
            connection.execute(GOAL_RULES.delete())
            connection.execute(GOAL_RULES.insert(), [_row(rule) for rule in rules.rules])
    finally:
        engine.dispose()


def _row(rule: Rule) -> dict[str, object]:
    return dict(zip(COLUMNS, rule, strict=True))


def _parsed(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        backend = ""
    if backend not in ("sqlite", "postgresql"):
        raise RulesError(f"{_without_password(url)} is no URL of rules; use sqlite:///FILE or postgresql://HOST/NAME")
    # Without a driver, SQLAlchemy would take the older psycopg2.
    return parsed if backend == "sqlite" else parsed.set(drivername="postgresql+psycopg")


def _without_password(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    return f"{scheme}://***@{rest.rpartition('@')[2]}" if separator and "@" in rest else url


def _require_file(url: URL) -> None:
    """SQLite would create a missing file, and a misspelled one would look like a database without rules."""
    if url.database in (None, "", ":memory:"):
        raise RulesError("rules in memory are nobody's; name a file: sqlite:///FILE")
    if not Path(str(url.database)).is_file():
        raise RulesError(f"there is no file {url.database} with rules")


def _reason(error: SQLAlchemyError) -> str:
    """The driver's own words, in one line; SQLAlchemy adds the statement and a link."""
    shown = str(error.orig if isinstance(error, DBAPIError) and error.orig is not None else error)
    return " ".join(shown.split()) or type(error).__name__
