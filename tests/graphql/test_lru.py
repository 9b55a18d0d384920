"""What was used last is kept, within both limits."""

from __future__ import annotations

from sortkey.graphql.lru import Lru


def test_the_entry_that_was_not_used_for_longest_leaves_first() -> None:
    kept: Lru[str, int] = Lru(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_the_weight_is_limited_also_of_one_entry() -> None:
    kept: Lru[str, int] = Lru(100, weight=10)
    for key in "abc":
        kept.put(key, 0, weight=4)
    assert [kept.get(key) for key in "abc"] == [None, 0, 0]
    kept.put("b", 1, weight=5)
    assert (kept.get("b"), len(kept)) == (1, 2)
    kept.put("large", 0, weight=11)
    assert len(kept) == 0
