"""A small table is taken over, on the endpoint and on DynamoDB Local; `make takeover` does it with 200,000 rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.takeover.campaign import Takeover

ROWS = 4000


@pytest.mark.slow
@pytest.mark.parametrize("store", ["our_endpoint", pytest.param("dynamodb_local", marks=pytest.mark.oracle)])
def test_a_table_is_taken_over_while_its_old_program_goes_on(
    store: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    result = Takeover(request.getfixturevalue(store), "takeover-", ROWS, tmp_path / "state").run(lambda _: None)
    assert result.flawed > ROWS // 100
    assert result.writes >= 100
