from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest

from sortkey_services.goals import rules as module
from sortkey_services.goals.rules import Rule, Rules, RulesError, open_rules, rule_of

SAVINGS, BONDS = "SAVINGS_ACCOUNT", "GOVERNMENT_BONDS"


def rule(
    rate: str = "0.08",
    valid_from: str | None = None,
    valid_to: str | None = None,
    goal: str = SAVINGS,
    tier: str = "GOLD",
) -> Rule:
    return rule_of(goal, tier, Decimal(rate), valid_from, valid_to)


def test_a_rule_holds_from_its_first_day_to_the_day_before_its_last() -> None:
    rules = Rules([rule("0.08", "2026-01-01", "2026-07-01"), rule("0.09", "2026-07-01")])
    assert rules.rate(SAVINGS, "GOLD", date(2025, 12, 31)) is None
    assert rules.rate(SAVINGS, "GOLD", date(2026, 1, 1)) == Decimal("0.08")
    assert rules.rate(SAVINGS, "GOLD", date(2026, 6, 30)) == Decimal("0.08")
    assert rules.rate(SAVINGS, "GOLD", date(2026, 7, 1)) == Decimal("0.09")
    assert rules.on(date(2026, 7, 1)) == [rules.rules[1]]


def test_what_no_rule_names_has_no_rate() -> None:
    rules = Rules([rule(), rule(goal=BONDS, tier="SILVER")])
    assert rules.goals == {SAVINGS, BONDS}
    assert rules.rate(SAVINGS, "SILVER", date(2026, 5, 1)) is None


# Other programs write the table; SQLite keeps whatever they wrote.
@pytest.mark.parametrize("day", ["2026-05-01", "2026-05-01 00:00:00", date(2026, 5, 1), datetime(2026, 5, 1)])  # noqa: DTZ001
@pytest.mark.parametrize("rate", [0.08, "0.08", Decimal("0.080000"), "8e-2"])
def test_dates_and_rates_are_read_from_what_databases_give(day: object, rate: object) -> None:
    assert rule_of(SAVINGS, "GOLD", rate, day, None) == Rule(SAVINGS, "GOLD", Decimal("0.08"), date(2026, 5, 1))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((None, "GOLD", 0.1, None, None), "goal_id and tier must be texts, not None and 'GOLD'"),
        ((SAVINGS, "", 0.1, None, None), "goal_id and tier must be texts"),
        ((SAVINGS, "GOLD", None, None, None), "SAVINGS_ACCOUNT for GOLD: special_rate must be a number, not None"),
        ((SAVINGS, "GOLD", "much", None, None), "special_rate must be a number, not 'much'"),
        ((SAVINGS, "GOLD", "NaN", None, None), "special_rate must be a number"),
        ((SAVINGS, "GOLD", 0.1, "soon", None), "valid_from must be a date as 2026-05-31, or NULL, not 'soon'"),
        ((SAVINGS, "GOLD", 0.1, None, 20260501), "valid_to must be a date"),
    ],
)
def test_a_row_that_is_no_rule_is_rejected(row: tuple[object, ...], message: str) -> None:
    with pytest.raises(RulesError, match=message):
        rule_of(*row)


@pytest.mark.parametrize("rate", ["-0.01", "1.01", "8"])
def test_a_rate_is_from_0_to_1(rate: str) -> None:
    with pytest.raises(RulesError, match=rf"must be from 0 to 1 \(0.08 is 8 %\), not {rate}"):
        Rules([rule(rate)])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("2026-01-01", "2026-07-02"), ("2026-07-01", None)),
        (("2026-01-01", None), ("2026-07-01", None)),
        ((None, None), (None, "2026-01-01")),
        (("2026-01-01", "2026-02-01"), ("2026-01-01", "2026-02-01")),
    ],
)
def test_two_rules_must_not_hold_on_one_day(
    first: tuple[str | None, str | None], second: tuple[str | None, str | None]
) -> None:
    with pytest.raises(RulesError, match="overlap; one must end first"):
        Rules([rule("0.08", *first), rule("0.09", *second)])
    Rules([rule("0.08", *first), rule("0.09", *second, tier="SILVER")])


def test_a_rule_must_end_after_it_begins() -> None:
    with pytest.raises(RulesError, match="valid_to must be after valid_from"):
        Rules([rule("0.08", "2026-01-01", "2026-01-01")])


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ModuleNotFoundError("No module named 'sqlalchemy'", name="sqlalchemy")

    monkeypatch.setattr(module, "import_module", missing)
    with pytest.raises(RulesError, match=r"SQLAlchemy is not installed; run: pip install 'sortkey\[batch\]'"):
        open_rules("sqlite:///rules.db")
