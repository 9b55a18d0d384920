"""The soak itself: a short one finds nothing wrong, and drift is told from noise. `make soak` runs ten minutes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.faults.soak.__main__ import summary
from tests.faults.soak.campaign import Soak
from tests.faults.soak.samples import MEBIBYTE, Sample, drifts

SECONDS = 20


@pytest.mark.slow
def test_a_short_soak_loses_nothing_and_answers_everything(tmp_path: Path) -> None:
    result = Soak(tmp_path).run(SECONDS)
    assert result.problems == [], summary(result, [])
    # Everything happened: load, every kind of bad client, a killed worker, changes that the follower saw.
    assert result.requests > 0
    assert result.kills > 0
    assert {"vanish", "reset", "stall", "babble"} <= result.bad.keys()
    assert result.changes > 0


def samples(**growth: float) -> list[Sample]:
    """Ten minutes of noise, with steady growth from the begin to the end."""
    random = Random(1)

    def grown(name: str, number: int) -> float:
        return growth.get(name, 0) * number / 600

    return [
        Sample(
            number,
            int((80 + random.random() * 10 + grown("memory", number)) * MEBIBYTE),
            int(40 + random.randrange(12) + grown("descriptors", number)),
            number * MEBIBYTE,
            int((5 + random.random() + grown("free", number)) * MEBIBYTE),
            (0.001 * (1 + random.random() + grown("latency", number)),),
            600,
        )
        for number in range(600)
    ]


def test_noise_is_no_drift() -> None:
    assert [drift.name for drift in drifts(samples()) if drift.is_too_much] == []


@pytest.mark.parametrize(
    ("growth", "name"),
    [
        ({"memory": 40}, "memory"),
        ({"descriptors": 20}, "descriptors"),
        ({"free": 40}, "free space"),
        ({"latency": 3}, "latency"),
    ],
)
def test_growth_within_noise_is_drift(growth: dict[str, float], name: str) -> None:
    assert [drift.name for drift in drifts(samples(**growth)) if drift.is_too_much] == [name]


# Caches fill at the begin; that is no leak.
def test_what_settles_is_no_drift() -> None:
    warmed = [
        sample._replace(memory=sample.memory - max(0, 60 - number) * MEBIBYTE)
        for number, sample in enumerate(samples())
    ]
    assert [drift.name for drift in drifts(warmed) if drift.is_too_much] == []
