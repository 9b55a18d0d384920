"""Deposits whose time is ahead of the service's clock."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

import sortkey as sk
from sortkey_services.goals.service import Settings
from tests.sortkey_services.goals.conftest import Service
from tests.sortkey_services.goals.persons import AS_OF, NOW, deposit


# Otherwise no deposit would show for two hundred years.
def test_a_deposit_of_the_far_future_is_rejected(service: Service) -> None:
    service.restart(Settings())
    before = service.saved()
    far = deposit(after=datetime(2326, 1, 1, tzinfo=UTC) - AS_OF, event="far")
    with pytest.raises(
        sk.services.BadRequest, match=r"^\[1\]\.updatedAt: 2326-01-01.* more than 300 s .*; event 'far'"
    ):
        service.apply(deposit(), far)
    assert service.saved() == before
    (rejected,) = service.consume(msgspec.json.encode(far), msgspec.json.encode(deposit()))
    assert "updatedAt: 2326-01-01T00:00:00+00:00 is more than 300 s" in rejected.reason
    assert service.saved()[0][0] == 37_000


def test_the_limit_is_a_setting(service: Service) -> None:
    ahead = deposit(after=NOW - AS_OF + (NOW - AS_OF) / 12)
    for seconds, is_applied in ((3599, False), (3600, True)):
        service.restart(Settings(max_ahead_seconds=seconds))
        if is_applied:
            assert service.apply(ahead) == (1, 0)
        else:
            with pytest.raises(sk.services.BadRequest, match="more than 3599 s"):
                service.apply(ahead)
