"""Campaign events through Kafka, and workers that do not live to see the end of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from signal import SIGTERM
from typing import Any

import sortkey as sk
from sortkey_services.boosts.event import CampaignEvent
from tests.kafka.broker import Broker
from tests.kafka.fixtures import StartWorker
from tests.kafka.topic import everything, produce
from tests.sortkey_services.boosts.campaigns import START, as_json, event

PARTITIONS = 4
EVENTS = 50_000
PARTNERS = 400
AREAS = ["BER-01", "BER-02", "HAM-01"]

Letter = tuple[str, bytes]
Entries = dict[str, dict[str, Any]]


def campaign_event(random: Random, number: int) -> CampaignEvent:
    """Of one of three campaigns of a partner, each of which has some forty events; later ones are newer."""
    areas = random.choice([("*",), tuple(random.sample(AREAS, random.randint(1, 3)))])
    return event(
        number,
        campaign=f"c{random.randrange(3)}",
        partner=f"p{random.randrange(PARTNERS)}",
        areas=areas,
        score=random.randint(1, 50) / 10,
        status=random.choices(["ACTIVE", "ENDED"], [4, 1])[0],
        updated_at=START + timedelta(seconds=number // 3),
    )


def poisoned(random: Random, number: int) -> Letter:
    """No two of them are alike, so that one that is missing cannot be made up for by one that is there twice."""
    partner = f"p{random.randrange(PARTNERS)}"
    spoilt = [
        b'{"eventId": "poison-%d", ' % number,
        b'{"eventId": "poison-%d"}' % number,
        b"\xff\xfe %d" % number,
        as_json(event(number, partner=partner, tenant="nowhere")),
        as_json(event(number, partner=partner, tenant="tr", areas=("IST-01",))),
    ]
    return partner, random.choice(spoilt)


def feed(random: Random, events: list[CampaignEvent], poison: list[Letter]) -> list[tuple[str, bytes | None]]:
    """Events with duplicates, some of them much later, and out of order by up to a few thousand places."""
    repeated = events + random.sample(events, EVENTS // 10)
    letters = [(each.partner_id, as_json(each)) for each in repeated] + poison
    places = [(index % EVENTS + random.randrange(3000), letter) for index, letter in enumerate(letters)]
    return [letter for _, letter in sorted(places, key=lambda place: place[0])]


def newest(events: list[CampaignEvent]) -> Iterator[CampaignEvent]:
    of_campaign: dict[tuple[str, str], CampaignEvent] = {}
    for each in sorted(events, key=lambda each: each.version):
        of_campaign[each.partner_id, each.campaign_id] = each
    return iter(of_campaign.values())


def expected_rows(events: list[CampaignEvent]) -> dict[tuple[str, str], Entries]:
    """What runs where, by partition and partner; the row of `*` also knows what does not run."""
    rows: dict[tuple[str, str], Entries] = {}
    for each in newest(events):
        entry = {"version": each.version, "score": each.score, "status": each.status}
        home = rows.setdefault(("de#*", each.partner_id), {})
        home[each.campaign_id] = entry | {"areas": sorted(each.areas)}
        for area in set(each.running) - {"*"}:
            rows.setdefault((f"de#{area}", each.partner_id), {})[each.campaign_id] = entry | {"areas": None}
    return rows


def stored_rows(folder: Path) -> dict[tuple[str, str], Entries]:
    rows: dict[tuple[str, str], Entries] = {}
    with sk.client(folder) as client:
        for page in client.get_paginator("scan").paginate(TableName="boosts"):
            for item in page["Items"]:
                entries = {name[2:]: entry_of(value["M"]) for name, value in item.items() if name.startswith("c:")}
                home = item["pk"]["S"].endswith("#*")
                # Elsewhere than at home, ended campaigns are remembered only against events that come late.
                known = {name: each for name, each in entries.items() if home or each["status"] == "ACTIVE"}
                if known:
                    rows[item["pk"]["S"], item["partner"]["S"]] = known
    return rows


def entry_of(value: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": value["version"]["S"],
        "score": float(value["score"]["N"]),
        "status": value["status"]["S"],
        "areas": [each["S"] for each in value["areas"]["L"]] if "areas" in value else None,
    }


def test_a_worker_killed_three_times_leaves_what_the_newest_events_say(
    broker: Broker, start_worker: StartWorker, tmp_path: Path
) -> None:
    random = Random(1)
    topic = broker.topic(PARTITIONS)
    poison = [poisoned(random, number) for number in range(500)]
    events = [campaign_event(random, number) for number in range(EVENTS * 9 // 10 - len(poison))]
    messages = feed(random, events, poison)
    assert len(messages) >= EVENTS - 1
    produce(broker.bootstrap, topic, messages)
    for _ in range(3):
        worker = start_worker("boosts", topic)
        worker.wait_until_handled(random.randrange(4000, 12_000))
        worker.kill()
    worker = start_worker("boosts", topic)
    worker.wait_until_committed(PARTITIONS)
    assert worker.stop(SIGTERM) == 0
    assert stored_rows(tmp_path / "data") == expected_rows(events)
    letters = everything(broker.bootstrap, f"{topic}.dead-letters")
    assert Counter((letter.key(), letter.value()) for letter in letters) == Counter(
        (partner.encode(), value) for partner, value in poison
    )
