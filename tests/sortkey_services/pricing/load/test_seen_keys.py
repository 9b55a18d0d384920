from __future__ import annotations

from sortkey_services.pricing.load.file_check import SeenKeys


def test_keys_that_were_added_twice() -> None:
    seen = SeenKeys()
    for number in range(10_000):
        seen.add(("store", number))
    for number in (7, 9_999, 7):
        seen.add(("store", number))
    assert seen.repeated() == {SeenKeys.hash_of(("store", 7)), SeenKeys.hash_of(("store", 9_999))}
    assert seen.repeated() == set()
