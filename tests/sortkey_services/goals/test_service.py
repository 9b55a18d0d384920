"""The service on every store: deposits over the batch's view, choices, and what is stale."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

import sortkey as sk
from sortkey.patterns.generation.pointer import Pointer
from sortkey_services.goals.model import GOAL_CHANGES, GOAL_VIEWS, LIFETIME, PENDING, Choice, Pending, PersonView, views
from sortkey_services.goals.rules import Rule, Rules
from sortkey_services.goals.rules_database import write_rules
from sortkey_services.goals.service import GoalsService, Settings
from tests.sortkey_services.goals.conftest import Service
from tests.sortkey_services.goals.persons import AS_OF, BONDS, HOUR, NOW, SAVINGS, deposit, person, rejection

BEFORE = [(32_000, "IN_PROGRESS"), (0, "NOT_STARTED")]
PENDING_370 = [(37_000, PENDING), (0, "NOT_STARTED")]


@pytest.mark.every_store
def test_a_deposit_is_pending_until_the_batch_has_seen_it(service: Service) -> None:
    assert service.saved() == BEFORE
    assert service.apply(deposit()) == (1, 0)
    assert service.saved() == PENDING_370
    service.load(person(saved=37_000), as_of=AS_OF + HOUR)
    assert service.saved() == PENDING_370, "the view's own as-of decides, not that of the load"
    service.load(person(saved=37_000, as_of=AS_OF + HOUR), as_of=AS_OF + HOUR)
    assert service.saved() == [(37_000, "IN_PROGRESS"), (0, "NOT_STARTED")]


# The second weakness of the design that this service mends: the batch ran at 03:00 with data up to 00:00.
@pytest.mark.every_store
def test_a_deposit_between_the_cut_off_and_the_run_stays_visible(service: Service) -> None:
    service.apply(deposit(after=-HOUR))
    service.apply(deposit(after=2 * HOUR))
    assert service.saved() == PENDING_370


@pytest.mark.every_store
def test_older_repeated_and_seen_events_are_stale(service: Service) -> None:
    assert service.apply(deposit(after=5 * HOUR)) == (1, 0)
    assert service.apply(deposit(after=5 * HOUR)) == (0, 1), "repeated"
    assert service.apply(deposit("99", after=4 * HOUR, event="e2")) == (0, 1), "older"
    assert service.apply(deposit("99", after=timedelta(0), event="e3")) == (0, 1), "not after as-of"
    assert service.saved() == PENDING_370


# The third weakness: as texts, 14:00+02:00 is after 13:00Z.
@pytest.mark.every_store
def test_instants_are_compared_not_texts(service: Service) -> None:
    later = msgspec.convert(
        {
            "eventId": "e1",
            "personId": "ana",
            "goalId": SAVINGS,
            "currentBalance": "370.00",
            "status": PENDING,
            "updatedAt": "2100-05-15T13:00:00Z",
        },
        type(deposit()),
    )
    earlier = msgspec.structs.replace(
        later, event_id="e2", updated_at=msgspec.convert("2100-05-15T14:00:00+02:00", type(later.updated_at))
    )
    assert service.apply(later, earlier) == (1, 1)
    before_as_of = msgspec.structs.replace(
        later, goal_id=BONDS, updated_at=msgspec.convert("2100-05-15T01:00:00+02:00", type(later.updated_at))
    )
    assert service.apply(before_as_of) == (0, 1)


@pytest.mark.every_store
def test_events_of_one_request_are_applied_in_their_order(service: Service) -> None:
    events = [deposit(str(hours), hours * HOUR, event=f"e{hours}") for hours in (1, 3, 2)]
    assert service.apply(*events) == (2, 1)
    assert service.saved()[0] == (300, PENDING)


# Of ten thousand events of a goal in one request, each could be a write of its own, one after the other.
@pytest.mark.every_store
def test_many_events_of_a_goal_are_one_write(service: Service) -> None:
    service.apply(deposit(after=5 * HOUR, event="stored"))
    events = [deposit(str(hours), hours * HOUR, event=f"e{hours}") for hours in (3, 1, 6, 2, 7, 7, 8)]
    before = service.session.meter.reading("put Pending").calls
    assert service.apply(*events) == (3, 4)
    assert service.session.meter.reading("put Pending").calls == before + 1
    assert service.saved()[0] == (800, PENDING)
    assert service.apply(*events) == (0, 7)


# Batch 320, 370, 400, and the last one is rejected: 320 was shown.
@pytest.mark.parametrize("contributions", [(None, None), ("c1", "c2")])
@pytest.mark.parametrize("balance", [None, "370.00"])
def test_a_rejection_leaves_the_deposit_beside_it(
    service: Service, contributions: tuple[str | None, str | None], balance: str | None
) -> None:
    first, second = contributions
    service.apply(deposit("370.00", contribution=first))
    service.apply(deposit("400.00", 2 * HOUR, event="e2", contribution=second))
    taken = rejection(3 * HOUR, balance, contribution=second)
    assert service.apply(taken) == (1, 0)
    assert service.saved() == PENDING_370
    assert service.apply(taken, deposit("370.00", contribution=first)) == (0, 2), "repeated"
    assert service.saved() == PENDING_370
    service.load(person(saved=37_000, as_of=AS_OF + HOUR), as_of=AS_OF + HOUR)
    assert service.saved()[0] == (37_000, "IN_PROGRESS"), "the batch has the first, so nothing is pending"


# Two workers have two deposits of a goal at the same time; each has read the row before the other wrote it.
def test_of_two_deposits_at_once_none_is_lost(service: Service) -> None:
    async def both() -> None:
        other = GoalsService(service.session, clock=service.clock)
        await asyncio.gather(
            service.goals.apply([deposit("370.00", contribution="c1")]),
            other.apply([deposit("400.00", 2 * HOUR, event="e2", contribution="c2")]),
        )

    service.wait(both())
    service.apply(rejection(3 * HOUR, contribution="c2"))
    assert service.saved() == PENDING_370


# A data folder of an earlier version.
def test_a_row_of_an_earlier_version_is_shown_and_added_to(service: Service) -> None:
    row = {
        "balance_cents": {"N": "37000"},
        "status": {"S": PENDING},
        "updated": {"S": "2100-05-15T01:00:00.000000Z"},
        "came": {"S": "2100-05-15T01:00:00.000000Z"},
        "event": {"S": "e1"},
        "version": {"S": "2100-05-15T01:00:00.000000Z#0#e1"},
        "expires": {"N": str(int((NOW + LIFETIME).timestamp()))},
    }
    put_row(service, GOAL_CHANGES, pk={"S": "PERSON#ana"}, sk={"S": f"PENDING#{SAVINGS}"}, **row)
    assert service.saved() == PENDING_370
    assert service.apply(deposit()) == (0, 1), "repeated"
    assert service.apply(deposit("400", 2 * HOUR, event="e2")) == (1, 0)
    assert service.apply(rejection(3 * HOUR)) == (1, 0)
    assert service.saved() == PENDING_370


def test_a_rejection_takes_the_pending_balance_away(service: Service) -> None:
    service.apply(deposit())
    assert service.apply(rejection(2 * HOUR)) == (1, 0)
    assert service.saved() == BEFORE
    assert service.apply(deposit("99", event="late")) == (0, 1), "older than the rejection"
    assert service.saved() == BEFORE
    assert service.apply(deposit("400", 3 * HOUR, event="e3")) == (1, 0)
    assert service.saved()[0] == (40_000, PENDING)


def test_a_rejection_wins_over_the_deposit_of_the_same_instant(service: Service) -> None:
    assert service.apply(rejection(HOUR, event="a"), deposit(event="b")) == (1, 1)
    assert service.saved() == BEFORE


# Clocks of two machines differ.
def test_a_rejection_of_the_near_future_stays(service: Service) -> None:
    service.apply(rejection(NOW - AS_OF + HOUR))
    service.clock.advance(2 * LIFETIME.total_seconds())
    assert service.apply(deposit()) == (0, 1)


# A clock that is wrong by years must not hide a goal's deposits for years.
def test_a_rejection_of_the_future_ends_after_five_days(service: Service) -> None:
    service.apply(rejection(timedelta(days=10)))
    assert service.apply(deposit()) == (0, 1)
    service.clock.advance(LIFETIME.total_seconds() + 1)
    assert service.apply(deposit()) == (1, 0)
    assert service.saved() == PENDING_370


# Otherwise a deposit that Kafka delivers a week later would bring back what was rejected.
def test_a_rejection_stays_until_the_batch_has_passed_it(service: Service) -> None:
    service.apply(rejection(2 * HOUR))
    service.clock.advance(LIFETIME.total_seconds() * 2)
    assert service.apply(deposit()) == (0, 1)
    assert service.saved() == BEFORE


def test_a_pending_balance_ends_after_five_days(service: Service) -> None:
    service.apply(deposit())
    service.clock.advance(LIFETIME.total_seconds() - 1)
    assert service.saved() == PENDING_370
    service.clock.advance(2)
    assert service.saved() == BEFORE
    assert service.apply(deposit("20", 2 * HOUR, event="e2")) == (1, 0)
    assert service.saved()[0] == (2_000, PENDING)


def test_an_unknown_goal_rejects_the_whole_request(service: Service) -> None:
    with pytest.raises(sk.services.BadRequest, match=r"\[1\].goalId: there is no goal 'YACHT'") as raised:
        service.apply(deposit(), deposit(goal="YACHT"))
    goals = f"CERTIFICATE_OF_DEPOSIT, {BONDS}, {SAVINGS}"
    assert raised.value.details == (f"[1].goalId: there is no goal 'YACHT'; the goals are {goals}",)
    assert service.saved() == BEFORE


def test_of_a_feed_unknown_goals_are_rejected_and_the_others_applied(service: Service) -> None:
    values = [msgspec.json.encode(event) for event in (deposit("10"), deposit(goal="YACHT"), deposit("20", 2 * HOUR))]
    rejected = service.consume(*values, None, b"{}", b'{"currentBalance": "1.234"}')
    assert [each.reason.partition(":")[0] for each in rejected] == [
        "goalId",
        "the message is empty",
        "not a deposit event",
        "not a deposit event",
    ]
    assert service.saved()[0] == (2_000, PENDING)


# The rules say which goals exist; without rules, those that the batch shows exist, too.
def test_a_goal_of_the_rules_or_of_the_person_exists(service: Service, tmp_path: Path) -> None:
    yacht = msgspec.structs.replace(person().goals[0], goal="YACHT")
    service.load(sk.replace(person(), goals=[yacht]))
    assert service.apply(deposit(goal="YACHT")) == (1, 0)
    write_rules(f"sqlite:///{tmp_path}/rules.db", Rules([Rule("PLANE", "GOLD", Decimal("0.2"))]))
    service.restart(Settings(rules=f"sqlite:///{tmp_path}/rules.db", patience_seconds=60))
    assert service.apply(deposit(goal="PLANE", to="nobody yet")) == (1, 0)
    with pytest.raises(sk.services.BadRequest, match="there is no goal 'SAVINGS_ACCOUNT'; the goals are PLANE"):
        service.apply(deposit())


# The batch and the events meet when a person is read, and not before.
def test_a_deposit_before_the_first_batch_is_kept_and_shows_with_it(service: Service) -> None:
    service.wait(service.session.delete(Pointer.key(of=views.name)))
    service.restart(Settings())
    assert service.consume(msgspec.json.encode(deposit())) == []
    with pytest.raises(sk.services.NotFound):
        service.saved()
    service.load(person())
    assert service.saved() == PENDING_370


def test_a_deposit_of_a_new_person_shows_when_a_batch_has_brought_it(service: Service) -> None:
    assert service.apply(deposit(to="bea")) == (1, 0)
    with pytest.raises(sk.services.NotFound):
        service.saved("bea")
    service.load(person(), person("bea"))
    assert service.saved("bea") == PENDING_370
    service.load(person("bea", saved=37_000, as_of=AS_OF + HOUR), as_of=AS_OF + HOUR)
    assert service.saved("bea") == [(37_000, "IN_PROGRESS"), (0, "NOT_STARTED")]


def test_choices_survive_every_load(service: Service) -> None:
    since = service.wait(service.goals.choose("ana", SAVINGS))
    service.clock.advance(60)
    assert service.wait(service.goals.choose("ana", SAVINGS)) == since, "choosing twice is one choice"
    service.load(person(as_of=AS_OF + HOUR), as_of=AS_OF + HOUR)
    assert service.chosen() == {SAVINGS}
    service.wait(service.goals.take_back("ana", SAVINGS))
    assert service.chosen() == set()
    service.wait(service.goals.take_back("ana", SAVINGS))


def test_a_choice_outlives_the_pending_balance(service: Service) -> None:
    service.wait(service.goals.choose("ana", SAVINGS))
    service.apply(deposit())
    service.clock.advance(2 * LIFETIME.total_seconds())
    assert (service.saved(), service.chosen()) == (BEFORE, {SAVINGS})


def test_a_choice_of_a_goal_that_is_gone_can_be_taken_back(service: Service) -> None:
    service.wait(service.goals.choose("ana", BONDS))
    savings_only = sk.replace(person(as_of=AS_OF + HOUR), goals=person().goals[:1])
    service.load(savings_only, as_of=AS_OF + HOUR)
    assert service.chosen() == {BONDS}
    service.wait(service.goals.take_back("ana", BONDS))
    with pytest.raises(sk.services.NotFound, match="'ana' has no goal 'GOVERNMENT_BONDS'"):
        service.wait(service.goals.choose("ana", BONDS))


def test_a_person_that_a_load_does_not_have_is_unknown(service: Service) -> None:
    service.load(person("bea", as_of=AS_OF + HOUR), as_of=AS_OF + HOUR)
    for call in (
        service.goals.read("ana"),
        service.goals.choose("ana", SAVINGS),
        service.goals.take_back("ana", SAVINGS),
        service.goals.read("\udc00"),
        service.goals.read(""),
    ):
        with pytest.raises(sk.services.NotFound):
            service.wait(call)


# Every goal chosen, and each with deposits: still one GetItem and one Query of half a unit each.
def test_a_read_costs_one_unit(service: Service) -> None:
    for goal in (SAVINGS, BONDS):
        service.wait(service.goals.choose("ana", goal))
        for number in range(1, 7):
            name = f"{number}a5b9ea6-3d0c-4b44-a1c5-3a6f5f1e6c0b"
            service.apply(deposit(goal=goal, after=number * HOUR, event=name, contribution=name))
    service.saved()
    before = {each.path: each for each in service.session.meter.readings()}
    service.saved()
    after = service.session.meter.readings()
    spent = {
        each.path: (each.calls - before[each.path].calls, each.units - before[each.path].units)
        for each in after
        if each.calls > before[each.path].calls
    }
    units = 0.5 if service.session.capabilities.consumed_capacity else 0
    assert spent == {PersonView.key.name: (1, units), Pending.key.name: (1, units)}


def test_a_reconciliation_that_cannot_be_read_leaves_the_other_metrics(service: Service) -> None:
    put_row(service, GOAL_CHANGES, pk={"S": "RECONCILIATION#goals"}, sk={"S": "LAST"}, at={"N": "7"})
    assert (service.wait(service.goals.samples()))["sortkey_goals_persons"] == 1


def put_row(service: Service, table: sk.Table, **row: dict[str, str]) -> None:
    name = service.session.client
    service.wait(name.put_item(TableName=table.name, Item=row))


def test_rows_of_other_programs_do_not_spoil_a_read(service: Service) -> None:
    service.apply(deposit())
    rows = {"PENDING#GOVERNMENT_BONDS": {"balance_cents": {"S": "much"}}, "NOTE": {"text": {"S": "hello"}}}
    for sort_key, fields in rows.items():
        put_row(service, GOAL_CHANGES, pk={"S": "PERSON#ana"}, sk={"S": sort_key}, **fields)
    assert service.saved() == PENDING_370


def test_a_view_that_cannot_be_read_is_a_conflict_and_blocks_no_other_person(service: Service) -> None:
    service.load(person(), person("bea"))
    served = service.wait(views.reader(service.session).current())
    assert served is not None
    key = f"GENERATION#{served.id}#PERSON#bea"
    put_row(service, GOAL_VIEWS, pk={"S": key}, name={"N": "7"})
    reason = "the goals of bea cannot be read, because another program has changed them"
    for call in (service.goals.read("bea"), service.goals.choose("bea", SAVINGS)):
        with pytest.raises(sk.services.Conflict, match=reason):
            service.wait(call)
    values = [msgspec.json.encode(each) for each in (deposit(to="bea"), deposit())]
    assert service.consume(*values) == []
    assert service.saved() == PENDING_370
    service.load(person("bea"))
    assert service.saved("bea") == PENDING_370


# What the batch has is not needed to keep a deposit.
def test_a_pointer_that_cannot_be_read_does_not_stop_the_feed(service: Service) -> None:
    put_row(service, views.tables[1], pk={"S": f"OF#{views.name}"}, sk={"S": "POINTER"}, version={"S": "x"})
    assert service.consume(msgspec.json.encode(deposit())) == []
    row = service.wait(service.session.get(Pending.key(person="ana", goal=SAVINGS)))
    assert row is not None
    assert [event.balance_cents for event in row.events] == [37_000]


# One such row would otherwise stop its partition of the topic for ever.
@pytest.mark.parametrize("events", [1, 2])
def test_an_event_replaces_a_stored_row_that_cannot_be_read(service: Service, events: int) -> None:
    row = {"balance_cents": {"S": "much"}, "version": {"S": "2999"}, "status": {"S": "PENDING_CONFIRMATION"}}
    put_row(service, GOAL_CHANGES, pk={"S": "PERSON#ana"}, sk={"S": f"PENDING#{SAVINGS}"}, **row)
    values = [deposit(after=hours * HOUR) for hours in range(1, events + 1)]
    assert service.consume(*[msgspec.json.encode(each) for each in values]) == []
    assert service.saved() == PENDING_370


# The batch has read the rules later than the event did.
def test_a_later_batch_has_the_newer_rate(service: Service, tmp_path: Path) -> None:
    write_rules(f"sqlite:///{tmp_path}/rules.db", Rules([Rule(SAVINGS, "GOLD", Decimal("0.2"))]))
    settings = Settings(rules=f"sqlite:///{tmp_path}/rules.db", patience_seconds=60)
    service.restart(settings)
    service.apply(deposit(), deposit(goal=BONDS))
    assert service.rates() == ["0.2", "0.12"]
    goals = [msgspec.structs.replace(goal, rate=Decimal("0.5")) for goal in person().goals]
    of_batch = sk.replace(person(), goals=goals)
    service.load(sk.replace(of_batch, updated=NOW - HOUR))
    assert service.rates() == ["0.2", "0.5"], "for bonds the rules have none, so the last batch's is shown"
    service.load(sk.replace(of_batch, updated=NOW + HOUR))
    assert (service.rates(), service.saved()[0]) == (["0.5", "0.5"], (37_000, PENDING))


def test_a_choice_is_no_deposit(service: Service) -> None:
    service.wait(service.goals.choose("ana", SAVINGS))
    stored = service.wait(service.session.get(Choice.key(person="ana", goal=SAVINGS)))
    assert stored is not None
    assert service.saved() == BEFORE
