"""Wrong inputs: one clear line, and nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sortkey as sk
from sortkey_services.goals.batch.batch_run import BatchRejected
from sortkey_services.goals.batch.job import BatchInputs, run_batch
from sortkey_services.goals.model import views
from sortkey_services.goals.rules import Rule, Rules
from sortkey_services.goals.rules_database import write_rules
from tests.maven import free_port
from tests.sortkey_services.goals.batch.small_gold import AS_OF, SmallGold, may

pytestmark = pytest.mark.slow


def rejection(inputs: BatchInputs) -> str:
    async def attempt() -> str:
        async with sk.async_connect("memory:") as db:
            await db.create_tables(*views.tables)
            with pytest.raises(BatchRejected) as error:
                await run_batch(db, inputs)
            assert [row async for row in db.scan_rows(views.tables[0])] == []
            assert await views.reader(db).current() is None
            return str(error.value)

    line = asyncio.run(attempt())
    assert "\n" not in line
    return line


def set_value(table: str, column: str, value: Any) -> Callable[[SmallGold], None]:
    def change(gold: SmallGold) -> None:
        gold.tables[table][column][0] = value

    return change


def without_rows(table: str) -> Callable[[SmallGold], None]:
    def change(gold: SmallGold) -> None:
        gold.types |= {name: pa.string() for name in gold.tables[table] if name not in gold.types}
        gold.tables[table] = {name: [] for name in gold.tables[table]}

    return change


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (set_value("customers", "person_id", None), "customers: person_id is null in 1 of 3 rows; it must have a value"),  # noqa: E501
        (set_value("goals", "goal_id", None), "goals: goal_id is null in 1 of 4 rows; it must have a value"),
        (set_value("contributions", "effective_at", None), "contributions: effective_at is null in 1 of 4 rows; it must have a value"),  # noqa: E501
        (set_value("customers", "person_id", ""), "customers: person_id '' cannot be served: empty"),
        (set_value("customers", "person_id", "漢" * 100), "customers: person_id '漢漢"),
        (set_value("customers", "person_id", "a\U0010ffff"), "customers: person_id 'a\\U0010ffff' cannot be served: "),
        (set_value("goals", "goal_id", "x" * 257), "goals: goal_id 'xxx"),
        (set_value("goals", "month", "2026-5"), "goals: month must be as 2026-05, not '2026-5' (of ana, SAVINGS_ACCOUNT)"),  # noqa: E501
        (set_value("goals", "month", "2026-13"), "goals: month must be as 2026-05, not '2026-13'"),
        (set_value("customers", "name", "x" * 10_001), "customers: name must have at most 10,000 characters, not 10001 (person ana)"),  # noqa: E501
        (set_value("contributions", "amount_cents", 2**63 - 1), "contributions: the sum of ana, SAVINGS_ACCOUNT is beyond 100,000,000,000,000 cents"),  # noqa: E501
        (set_value("contributions", "status", "LOST"), "contributions: status must be CONFIRMED or REJECTED, not 'LOST' (contribution c1)"),  # noqa: E501
        (set_value("contributions", "contribution_id", "c2"), "contributions: contribution_id 'c2' is there 2 times in the month; the sums would be too high"),  # noqa: E501
        (set_value("customers", "person_id", "bea"), "customers: person_id 'bea' is there 2 times; each person must be there once"),  # noqa: E501
        (set_value("goals", "goal_id", "GOVERNMENT_BONDS"), "goals: ana, GOVERNMENT_BONDS is there 2 times in 2026-05; each goal must be there once in a month"),  # noqa: E501
        (set_value("goals", "target_cents", -1), "goals: target_cents must be from 0 to 100,000,000,000,000, not -1 (of ana, SAVINGS_ACCOUNT)"),  # noqa: E501
        (set_value("customers", "tier", "PLATINUM"), "rules: no rule for "),
        (set_value("goals", "goal_id", "GOLD_BARS"), "rules: no rule for GOLD_BARS, tier GOLD, holds on 2026-05-16; add one to goal_rules"),  # noqa: E501
        (without_rows("customers"), "customers: there is no row; an empty load would answer 404 for everybody"),
        (without_rows("goals"), "goals: there is no goal for the month 2026-05; name another with --month"),
    ],
)  # fmt: skip
def test_wrong_values(gold: SmallGold, change: Callable[[SmallGold], None], line: str) -> None:
    change(gold)
    assert rejection(gold.write()).startswith(line)


@pytest.mark.parametrize(
    ("column", "kind", "values", "line"),
    [
        ("amount_cents", pa.float64(), [1.0] * 4, "the column amount_cents must be bigint (whole cents), not double"),
        ("amount_cents", pa.decimal128(9, 2), [Decimal(1)] * 4, "amount_cents must be bigint (whole cents), not decimal128(9, 2)"),  # noqa: E501
        ("effective_at", pa.string(), ["2026-05-01"] * 4, "effective_at must be timestamp (in UTC), not string"),
        ("effective_at", pa.date32(), [may(1)] * 4, "effective_at must be timestamp (in UTC), not date32[day]"),
        ("person_id", pa.int64(), [1] * 4, "person_id must be text, not int64"),
    ],
)  # fmt: skip
def test_wrong_types(gold: SmallGold, column: str, kind: Any, values: list[Any], line: str) -> None:
    gold.write()
    gold.contributions[column] = values
    gold.types[column] = kind
    gold.tables = {"contributions": gold.contributions}
    rejected = rejection(gold.write())
    assert rejected.startswith(f"{gold.folder / 'contributions' / 'part-0.parquet'}: ")
    assert rejected.endswith(line)


def test_a_missing_column(gold: SmallGold) -> None:
    del gold.tables["goals"]["month"]
    line = rejection(gold.write())
    assert line.endswith("there is no column month; it must have person_id, goal_id, month, target_cents")


# To the engines, both are one column: whichever comes first was read, unchecked.
@pytest.mark.parametrize("first", [True, False])
def test_columns_that_differ_only_in_case(gold: SmallGold, first: bool) -> None:
    more = {"AMOUNT_CENTS": [20_000_000] * 4}
    gold.tables["contributions"] = more | gold.contributions if first else gold.contributions | more
    names = "AMOUNT_CENTS and amount_cents" if first else "amount_cents and AMOUNT_CENTS"
    assert rejection(gold.write()).endswith(f"part-0.parquet: the columns {names} differ only in case; remove one")


def test_a_column_that_is_there_twice(gold: SmallGold) -> None:
    gold.write()
    file = gold.folder / "goals" / "part-0.parquet"
    table = pq.read_table(file)
    pq.write_table(table.append_column("month", table.column("month")), file)
    inputs = BatchInputs(gold.folder, gold.rules, AS_OF)
    assert rejection(inputs).endswith("part-0.parquet: the column month is there twice; remove one")


def test_a_missing_folder(gold: SmallGold) -> None:
    inputs = gold.write()
    assert rejection(inputs._replace(gold=gold.folder / "nowhere")).endswith("nowhere: there is no such folder")
    (gold.folder / "goals").rename(gold.folder / "targets")
    assert rejection(inputs).endswith("goals: there is no such folder; gold has customers, goals, contributions")


def test_a_folder_without_parquet(gold: SmallGold) -> None:
    inputs = gold.write()
    (gold.folder / "goals" / "part-0.parquet").rename(gold.folder / "goals" / "_part-0.parquet")
    assert rejection(inputs).endswith("goals: there is no Parquet file in it")


# A job of another program may have been killed while it wrote.
def test_a_file_that_is_cut_off(gold: SmallGold) -> None:
    inputs = gold.write()
    file = gold.folder / "goals" / "part-0.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    assert "part-0.parquet: cannot be read as Parquet: " in rejection(inputs)


def test_damaged_data_behind_a_sound_footer(gold: SmallGold) -> None:
    inputs = gold.write()
    file = gold.folder / "goals" / "part-0.parquet"
    file.write_bytes(b"PAR1" + bytes(300) + file.read_bytes()[304:])
    assert rejection(inputs).startswith("DuckDB cannot run the job: ")


def test_contributions_may_be_none_if_as_of_is_given(gold: SmallGold) -> None:
    without_rows("contributions")(gold)
    inputs = gold.write()
    line = "contributions: there is none, so they do not tell up to when gold is complete; give --as-of"
    assert rejection(inputs._replace(as_of=None)) == line

    async def load() -> int:
        async with sk.async_connect("memory:") as db:
            return (await run_batch(db, inputs)).persons

    assert asyncio.run(load()) == 3


def test_rules_that_cannot_be_reached(gold: SmallGold) -> None:
    inputs = gold.write()._replace(rules=f"postgresql://127.0.0.1:{free_port()}/rules")
    assert rejection(inputs).startswith("--rules: the rules at postgresql")


def test_a_wrong_rule(gold: SmallGold) -> None:
    inputs = gold.write()
    rules = Rules([Rule("SAVINGS_ACCOUNT", "GOLD", Decimal(1))])
    write_rules(gold.rules, rules)
    assert rejection(inputs).startswith("rules: no rule for ")
    object.__setattr__(rules, "rules", (*rules.rules, *rules.rules))
    write_rules(gold.rules, rules)
    assert rejection(inputs).endswith("overlap; one must end first")


def test_a_master_is_sparks(gold: SmallGold) -> None:
    assert rejection(gold.write()._replace(master="local[1]")) == "--master local[1] is for --engine spark"


def test_an_unknown_engine(gold: SmallGold) -> None:
    assert rejection(gold.write()._replace(engine="hive")) == "--engine hive: there are duckdb and spark"


def test_too_many_goals_for_one_item(gold: SmallGold) -> None:
    gold.tables["goals"] = {
        "person_id": ["ana"] * 501,
        "goal_id": [f"goal-{number}" for number in range(501)],
        "month": ["2026-05"] * 501,
        "target_cents": [1] * 501,
    }
    assert rejection(gold.write()) == "goals: ana has 501 in the month; a person may have 500"


@pytest.mark.parametrize("package", ["pyspark", "py4j"])
def test_an_engine_that_is_not_installed(gold: SmallGold, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=package)

    monkeypatch.setattr("sortkey_services.goals.batch.engine.import_module", missing)
    line = "PySpark is not installed; run: pip install 'sortkey[spark]'"
    assert rejection(gold.write()._replace(engine="spark")) == line
