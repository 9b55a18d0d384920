"""The metrics of change feeds and timers, and the pages that tell what to watch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sortkey.feeds.shards.metrics import FAMILIES

DOCS = Path(__file__).parents[3] / "docs" / "guides"


# What the page tells to watch exists, and nothing else does.
@pytest.mark.parametrize(
    ("page", "prefix"), [("change-feeds.md", "sortkey_change_feed"), ("schedules.md", "sortkey_timers")]
)
def test_the_metrics_are_documented(page: str, prefix: str) -> None:
    named = re.findall(rf"\b{prefix}_[a-z_]+", (DOCS / page).read_text(encoding="utf-8"))
    assert set(named) == {name for name in FAMILIES if name.startswith(prefix)}
