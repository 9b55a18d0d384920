from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.goals.batch.small_gold import SmallGold


@pytest.fixture
def gold(tmp_path: Path) -> SmallGold:
    return SmallGold(tmp_path)
