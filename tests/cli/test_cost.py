"""`sortkey cost` on the command line: what the usual requests of a service cost, measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from litestar import get, put
from litestar.params import FromPath, JSONBody

import sortkey as sk
from sortkey.cli.main import main
from sortkey.cli.services import registered_services
from sortkey.model.calls.steps import Call, Context
from sortkey.server import usual_mix
from sortkey_services.boosts import demo
from tests.registered import only

VISITS = sk.Table("cost-visits", stream="NEW_AND_OLD_IMAGES")
COUNTS = sk.Table("cost-counts")
DEMO = 40


class Visit(sk.Item, table=VISITS):
    id: str
    place: str
    at: datetime
    checked: bool = False
    key = sk.Key("VISIT#{id}", "VISIT")
    of_place = sk.Index("places", "PLACE#{place}", "{id}")


class Checked(sk.Item, table=COUNTS):
    id: str
    key = sk.Key("CHECKED#{id}", "CHECKED")


class VisitCount(sk.Item, table=COUNTS):
    place: str
    visits: int = 0
    key = sk.Key("COUNT#{place}", "COUNT")


COUNTED = sk.patterns.aggregate(Visit, into=VisitCount, by=("place",), values={"visits": sk.patterns.count()})
CHECKS = sk.patterns.schedule("cost-checks", Visit, at="at", by=("id",), where={"checked": False})
EARLIER = datetime(2026, 1, 1, tzinfo=UTC)


class Visits:
    name = "visits"

    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session
        counts = COUNTED.aggregator(session)
        self.feeds: list[sk.feeds.ChangeFeed[Any] | sk.feeds.Timers[Any]] = [
            sk.feeds.ChangeFeed("cost-counts", Visit, counts.on_changes),
            sk.feeds.Timers(CHECKS, self._check),
        ]

    async def _check(self, due: sk.patterns.Due[Visit]) -> None:
        await self._session.put(Checked(id=due.group["id"]))

    async def start(self) -> None:
        await self._session.create_tables(VISITS, COUNTS)

    async def load_demo(self, progress: sk.services.Progress) -> None:
        progress(0, DEMO)
        for number in range(DEMO):
            await self._session.put(Visit(id=f"d{number}", place="inn", at=EARLIER, checked=True))
        progress(DEMO, DEMO)

    async def run_demo(self) -> None:
        """Nothing."""

    @property
    def routes(self) -> Sequence[Any]:
        @get("/visits/{id:str}")
        async def show(id: FromPath[str]) -> dict[str, str]:  # noqa: A002
            found = await self._session.get(Visit.key(id=id))
            if found is None:
                raise sk.services.NotFound(f"there is no visit {id!r}")
            return {"place": found.place}

        @put("/visits/{id:str}")
        async def write(id: FromPath[str], data: JSONBody[dict[str, Any]]) -> dict[str, str]:  # noqa: A002
            at = datetime.now(UTC) + timedelta(days=data["days"])
            await self._session.put(Visit(id=id, place=data["place"], at=at))
            return {}

        return [show, write]


def _show(draw: Random) -> str:
    return f"GET /visits/d{draw.randrange(DEMO)}"


def _write(draw: Random) -> tuple[str, object]:
    return f"PUT /visits/{draw.getrandbits(64):x}", {"place": "inn", "days": 0}


def _write_later(draw: Random) -> tuple[str, object]:
    return f"PUT /visits/{draw.getrandbits(64):x}", {"place": "inn", "days": 10}


def definition(*usual: sk.services.UsualRequest) -> sk.services.ServiceDefinition:
    return sk.services.ServiceDefinition(
        name="visits",
        summary="visits",
        tables=lambda _: [VISITS, COUNTS],
        make=lambda session, _: Visits(session),
        has_feeds=True,
        usual_requests=usual,
    )


SERVICE = definition(
    sk.services.UsualRequest("show a visit", 8, _show),
    sk.services.UsualRequest("write a visit", 1, _write),
    sk.services.UsualRequest("write a visit of next week", 1, _write_later),
)
SILENT = definition()
BROKEN = definition(sk.services.UsualRequest("show nothing", 1, lambda _: "GET /visits/nobody"))
PLACE = "tests.cli.test_cost:SERVICE"


def estimated(capsys: pytest.CaptureFixture[str], *arguments: str) -> Mapping[str, Any]:
    assert main(["cost", PLACE, "--per-day", "1000000", "--json", *arguments]) == 0
    found: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    return found


# Nothing is typed by hand: a visit is one row and one of an index, its count one, its check one.
@pytest.mark.slow
def test_units_are_measured_with_those_of_feeds_and_timers(capsys: pytest.CaptureFixture[str]) -> None:
    found = estimated(capsys)
    shown, written, later = found["requests"]
    assert (shown["perDay"], shown["readUnits"], shown["writeUnits"]) == (800_000, 0.5, 0)
    assert (written["writeUnits"], written["laterWriteUnits"], written["schedules"]) == (2, 2, 1)
    # Its timer is not due yet.
    assert (later["writeUnits"], later["laterWriteUnits"], later["schedules"]) == (2, 1, 1)
    lines = {line["what"]: line for line in found["lines"]}
    assert lines["reads"]["quantity"] == 30 * 400_000
    assert lines["writes"]["quantity"] == 30 * 400_000
    assert lines["writes of feeds and timers"]["quantity"] == pytest.approx(30 * 300_000)
    assert lines["schedules of timers"]["quantity"] == 30 * 200_000
    assert lines["reads"]["dollars"] == pytest.approx(12 * 0.125)
    assert found["dollarsPerMonth"] == pytest.approx(sum(line["dollars"] for line in found["lines"]))
    assert found["items"] == DEMO + 1


@pytest.mark.slow
def test_more_items_and_regions_cost_more(capsys: pytest.CaptureFixture[str]) -> None:
    once, wide = estimated(capsys), estimated(capsys, "--items", "41000000", "--regions", "2", "--no-recovery")
    lines = {line["what"]: line["quantity"] for line in wide["lines"]}
    before = {line["what"]: line["quantity"] for line in once["lines"]}
    assert lines["storage"] == pytest.approx(before["storage"] * 2_000_000)
    assert lines["writes"] == 2 * before["writes"]
    assert lines["reads"] == before["reads"]
    assert "point-in-time recovery" not in lines


@pytest.mark.slow
def test_for_people_it_prints_tables_and_what_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", PLACE, "--per-day", "1000"]) == 0
    printed = capsys.readouterr().out
    for part in ("show a visit", "a month", "USD", "us-east-1", "Lambda, containers"):
        assert part in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["tests.cli.test_cost:SILENT", "--per-day", "1"],
            "'visits' has no estimate: its definition names",
        ),
        (["tests.cli.test_cost:BROKEN", "--per-day", "1"], "'show nothing': GET /visits/nobody was answered 404"),
        (["tests.cli.test_cost:NONE", "--per-day", "1"], "has no 'NONE'"),
    ],
)
def test_what_cannot_be_estimated_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sortkey.cli.services.entry_points", only(visits=PLACE))
    assert main(["cost", *arguments]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert message in error
    assert error.startswith("sortkey cost: ")


@pytest.mark.parametrize("number", ["0", "-5", "many", "1.5"])
def test_the_number_of_requests_is_checked(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cost", PLACE, "--per-day", number])
    assert ended.value.code == 2
    assert "is not a number from 1 on" in capsys.readouterr().err


# `sortkey serve` takes each service once, however often it is named.
def test_a_definition_with_usual_requests_has_a_hash() -> None:
    given = [sk.services.UsualRequest("show a visit", 1, _show)]
    made = sk.services.ServiceDefinition(
        "visits", "", lambda _: [VISITS], lambda db, _: Visits(db), usual_requests=given
    )
    assert len({made, made}) == 1


def test_a_share_is_above_zero() -> None:
    with pytest.raises(ValueError, match="'ask': share is a number above 0, not 0"):
        sk.services.UsualRequest("ask", 0, _show)


# Their requests are sent as they stand: a route that changes without its usual request is noticed here.
@pytest.mark.slow
@pytest.mark.parametrize("service", [each.name for each in registered_services(lambda _: None)])
def test_each_of_our_services_has_an_estimate(
    service: str, sent: set[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # With fewer partners: loading them all takes long.
    monkeypatch.setattr(demo, "REGIONS", tuple(each._replace(partners=300) for each in demo.REGIONS))
    assert main(["cost", service, "--per-day", "1000000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert 1 < found["dollarsPerMonth"] < 1000
    assert sum(each["perDay"] for each in found["requests"]) == pytest.approx(1_000_000)
    assert any(each["writeUnits"] for each in found["requests"])
    # What they send is what the functions of its stack may send: a missing right shows on AWS only.
    assert main(["template", service]) == 0
    assert sent
    assert {right for operation in sent for right in _RIGHTS.get(operation, [operation])} <= granted(capsys)


_RIGHTS = {
    "TransactGetItems": ["GetItem"],
    "TransactWriteItems": ["PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem"],
}
"""Operations that have no rights of their own in IAM."""


def granted(capsys: pytest.CaptureFixture[str]) -> set[str]:
    """To the function of the routes and the functions of feeds, of which each has at least these."""
    template = json.loads(capsys.readouterr().out)["Resources"]
    statements = template["HttpRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"]
    actions = [action for statement in statements for action in statement["Action"]]
    return {action.removeprefix("dynamodb:") for action in actions if action.startswith("dynamodb:")}


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The operations that usual requests and what follows from them send, without those of the demonstration data."""
    operations: set[str] = set()
    measured, answered = usual_mix.Visitor.measure, Context.answered
    measuring = False

    async def measure(visitor: usual_mix.Visitor, usual: sk.services.UsualRequest, samples: int) -> Any:
        nonlocal measuring
        measuring = True
        return await measured(visitor, usual, samples)

    def record(context: Context, call: Call, answer: dict[str, Any], seconds: float) -> None:
        if measuring:
            operations.add(call.operation)
        answered(context, call, answer, seconds)

    monkeypatch.setattr(usual_mix.Visitor, "measure", measure)
    monkeypatch.setattr(Context, "answered", record)
    return operations
