"""Streams of events, and the numbers in them: rates, access paths, heat and changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from sortkey.clock import SystemClock, monotonic
from sortkey.http.metrics import RequestMetrics
from sortkey.server.console.live import broadcast, changes, heat, path_use
from sortkey.server.console.live.path_use import better_key, instead_of_slow
from sortkey.server.console.live.rates import Counts, counts_by
from sortkey.values.partition_counts import WINDOW_SECONDS, Totals
from tests.server.console.consoles import Opened, Order, Score, run


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(heat, "COLUMN_SECONDS", 0.0)


def test_a_stream_begins_with_what_there_is() -> None:
    async def use(shop: Opened) -> None:
        stream = await shop.page.live(topics=["overview", "paths", "heat"])
        head = stream.parts[0]
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"text/event-stream" in head
        overview = await stream.event("overview")
        assert [each["name"] for each in overview["services"]] == ["shop", "vault"]
        assert (await stream.event("paths"))["of"] == "process"
        assert (await stream.event("heat"))["source"] == "engine"

    run(use)


def test_changes_come_with_both_sides(store: str) -> None:
    async def use(shop: Opened) -> None:
        stream = await shop.page.live(changes={"table": "shop"})
        # Without a change: the tail has its place, so nothing that is written from now on is missed.
        assert (await stream.event("changes"))["events"] == []
        later = await shop.page.live(changes={"table": "shop"})
        assert (await later.event("changes"))["events"] == []
        await shop.session.put(Order(customer="ada", number=1))
        async with asyncio.timeout(30):
            while len(stream.events("changes")) == 1:
                await asyncio.sleep(0.01)
        (event,) = stream.events("changes")[1]["events"]
        assert (event["event"], event["class"], event["old"]) == ("INSERT", "Order", None)
        assert event["newFields"]["customer"] == "ada"
        key = {name: event["key"][name] for name in ("pk", "sk")}
        assert key == event["key"]

    run(use, url=store)


def test_a_table_without_a_stream_has_a_problem() -> None:
    async def use(shop: Opened) -> None:
        stream = await shop.page.live(changes={"table": "scores"})
        assert (await stream.event("problem"))["message"] == "The table scores has no stream."

    run(use)


# Ten pages must not cost ten times what one costs.
def test_pages_share_what_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    real = broadcast._encode

    def encode(message: Any) -> bytes:
        made.append(message)
        return real(message)

    monkeypatch.setattr(broadcast, "_encode", encode)

    async def use(shop: Opened) -> None:
        streams = [await shop.page.live(topics=["overview"], changes={"table": "shop"}) for _ in range(10)]
        for stream in streams:
            await stream.event("overview")
            await stream.event("changes")
        made.clear()
        before = len(streams[0].events("overview"))
        await shop.page.console._broadcast._each_second()
        assert len(made) == 1
        assert [len(stream.events("overview")) for stream in streams] == [before + 1] * 10
        assert len(shop.page.console._broadcast._tails) == 1

    run(use)


def test_the_number_of_streams_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "STREAMS", 2)

    async def use(shop: Opened) -> None:
        first = await shop.page.live(topics=[])
        await shop.page.live(topics=[])
        answer, _ = await shop.page.send("POST", "/console/api/live", {})
        assert answer is not None
        assert (answer.status, answer.error["code"]) == (503, "overloaded")
        # A page that was closed leaves its place.
        first.closed = True
        await shop.page.live(topics=[])

    run(use)


def test_access_paths_are_judged() -> None:
    async def use(shop: Opened) -> None:
        for number in range(150):
            await shop.session.put(Order(customer="ada", number=number, status="PAID" if number == 0 else "NEW"))
        for _ in range(3):
            await shop.session.page(Order.key(customer="ada"), where={"status": "PAID"}, budget=200)
        async for _ in shop.session.scan(Order):
            pass
        await shop.session.get(Order.key(customer="ada", number=1))
        uses = {each["path"]: each for each in (await shop.page.call("paths"))["paths"]}
        wasteful = uses["Order.key"]
        assert (wasteful["service"], wasteful["table"], wasteful["kind"]) == ("shop", "shop", "wasteful")
        assert wasteful["amplification"] > 10
        assert wasteful["better"] == "Order.by_status(status=…) has status in its key."
        scan = next(each for each in uses.values() if each["kind"] == "scan")
        assert "Order.by_status(status=…)" in scan["better"]
        assert uses["put Order"]["writeUnits"] >= 150

    run(use)


# A filter on what no key has: the advice is the index to declare.
def test_an_index_is_proposed_where_none_has_the_field() -> None:
    assert better_key(Order.key, {"total"}) == (
        'An index with it in its key: sk.Index("by_total", "CUSTOMER#{customer}", "{total}#{number}").'
    )


def test_the_hottest_partitions_have_names_and_advice() -> None:
    async def use(shop: Opened) -> None:
        for _ in range(300):
            await shop.session.put(Score(game="go", player="p", points=1))
        found = await shop.page.call("heat")
        names = {each["id"]: (each["table"], each["key"], each["service"]) for each in found["partitions"]}
        hottest = found["hottest"][0]
        assert names[hottest["id"]] == ("scores", "GAME#go", "shop")
        assert hottest["writeUnitsPerSecond"] > 0
        cells = [cell for column in found["columns"] for cell in column["cells"]]
        assert any(names[number][0] == "scores" and write > 0 for number, _, write, _ in cells)
        assert found["limits"] == {"readUnits": 3000, "writeUnits": 1000}

    run(use)


# The demonstration's load is over when the console opens, and among the hottest still: the map has it, too.
def test_the_first_column_has_what_the_minute_served_before_the_console() -> None:
    class Counted:
        source = "engine"

        def window(self) -> tuple[float, Any]:
            return monotonic() + WINDOW_SECONDS - 30, {1: Totals(300, 0, 300)}

        def names(self, partitions: Sequence[Any]) -> Any:
            return dict.fromkeys(partitions, ("orders", None, "ada"))

        def hottest(self) -> list[Any]:
            return []

    sources: Any = SimpleNamespace(clock=SystemClock())
    declared: Any = SimpleNamespace(service_of=lambda _: "shop")
    findings: Any = SimpleNamespace(of_partitions=lambda _: None)
    viewer: Any = SimpleNamespace(sees=lambda _: True)
    recorder = heat.HeatRecorder(sources, Counted(), declared, findings)
    assert recorder.sample()
    (column,) = recorder.shown(viewer).columns
    assert column.seconds == pytest.approx(30, abs=1)
    assert [write for _, _, write, _ in column.cells] == [pytest.approx(10, rel=0.05)]


def test_slow_paths_have_advice_by_what_they_do() -> None:
    def advice(read: float, write: float) -> str | None:
        reading: Any = SimpleNamespace(read_units=read, write_units=write)
        return instead_of_slow(reading, path_use.Totals(), 10)

    assert "put_many" in (advice(0, 10) or "")
    assert "5 units" in (advice(50, 0) or "")
    assert advice(5, 0) is None


def test_percentiles_follow_from_the_buckets() -> None:
    metrics = RequestMetrics('route="GET /a"')
    for _ in range(99):
        metrics.count("ok", 0.0003)
    metrics.count("internal", 0.7)
    metrics.count("not_found", 0.0003)
    counts = counts_by(metrics.samples("sortkey_http"), lambda _: "a")["a"]
    assert (counts.requests, counts.errors, counts.rejected) == (101, 1, 1)
    median, worst = counts.percentile(0.5), counts.percentile(1.0)
    assert median is not None
    assert worst is not None
    assert 0.00025 < median <= 0.0005
    assert 0.5 < worst <= 1.0
    assert counts.minus(counts).percentile(0.5) is None
    assert Counts().minus(counts).requests == 0
