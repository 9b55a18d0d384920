"""The service's table in the configuration file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import sortkey as sk
from sortkey_services.goals.service import GoalsService, read_settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rule": "sqlite:///x"}, "goals: Object contains unknown field `rule`"),
        ({"refresh_seconds": 0}, "goals: Expected `float` > 0.0 - at `\\$.refresh_seconds`"),
        ({"rules": 7}, "goals: Expected `str \\| null`, got `int` - at `\\$.rules`"),
    ],
)
def test_a_mistake_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.services.BadSettings, match=message):
        read_settings(given)


# Better at the start than with the first event.
def test_rules_that_cannot_be_there_are_rejected_at_the_start(tmp_path: Path) -> None:
    for rules, message in (
        (f"sqlite:///{tmp_path}/no.db", "goals: rules: there is no file .*no.db with rules"),
        ("mysql://host/rules", "goals: rules: .* use sqlite:///FILE or postgresql://"),
    ):
        with pytest.raises(sk.services.BadSettings, match=message):
            make(rules)


def make(rules: str) -> None:
    async def opened() -> None:
        async with sk.async_connect("memory:") as session:
            GoalsService(session, read_settings({"rules": rules}))

    asyncio.run(opened())
