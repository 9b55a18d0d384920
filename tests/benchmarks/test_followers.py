"""The benchmark of users with many followers, on a scale that is small enough for a test."""

from __future__ import annotations

from pathlib import Path

from benchmarks._followers import followers


def test_every_operation_is_timed_for_both_users(tmp_path: Path) -> None:
    results = list(followers(tmp_path, many=30, few=10, calls=3))
    assert [each.name.partition(",")[0] for each in results] == [
        name for name in ("page of followers", "counts", "follow", "unfollow") for _ in range(2)
    ]
    assert all(each.value > 0 and each.peers["10 followers"] > 0 for each in results)
