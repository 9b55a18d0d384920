"""The page of stores says what the code says: what each store can do, and what the last whole run on it found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

from sortkey.client.stores import ALTERNATOR, AWS, DYNAMODB_LOCAL, EMBEDDED, SORTKEY, UNKNOWN, Capabilities
from tests.store_runs import Family, family_of, read_runs, total
from tests.stores import NAMES

PAGE: Final = Path(__file__).parents[2] / "docs" / "stores.md"
STORES: Final = {
    "the embedded engine": EMBEDDED,
    "`sortkey db`": SORTKEY,
    "DynamoDB": AWS,
    "DynamoDB Local": DYNAMODB_LOCAL,
    "ScyllaDB Alternator": ALTERNATOR,
    "any other": UNKNOWN,
}
NAMED: Final = {
    "memory": "memory",
    "disk": "a folder",
    "endpoint": "`sortkey db`",
    "local": "DynamoDB Local",
    "alternator": "`sortkey db --profile alternator`",
    "dynoxide": "Dynoxide 3.2 (Rust, SQLite)",
}
INTERNAL: Final = {"store", "ties_by_hash"}
WORDS: Final = {"ttl": "expiry", "recovery": "point-in-time recovery", "vectors": "vector indexes"}


def capabilities() -> Iterator[str]:
    yield f"| | {' | '.join(STORES)} |"
    yield "|---" * (len(STORES) + 1) + "|"
    for field in fields(Capabilities):
        if field.name not in INTERNAL:
            has = ["yes" if getattr(store, field.name) else "–" for store in STORES.values()]
            yield f"| {WORDS.get(field.name, field.name.replace('_', ' '))} | {' | '.join(has)} |"


def runs() -> Iterator[str]:
    found = read_runs()
    stores = [name for name in NAMES if name in found]
    if not stores:
        yield "No whole run is noted yet."
        return
    yield f"| tests that passed | {' | '.join(NAMED[name] for name in stores)} |"
    yield "|---" * (len(stores) + 1) + "|"
    for family in sorted({each for name in stores for each in found[name]}):
        yield f"| {family} | {' | '.join(_shown(found[name].get(family)) for name in stores)} |"
    sums = [total(found[name]) for name in stores]
    passed = [f"**{each['passed']:,}**" for each in sums]
    yield f"| **all** | {' | '.join(passed)} |"
    yield f"| failed | {' | '.join(str(each['failed']) for each in sums)} |"
    yield f"| left out | {' | '.join(str(each['left_out']) for each in sums)} |"
    reasons: dict[str, dict[str, int]] = {}
    for name in stores:
        for each in found[name].values():
            for reason, number in each.left_out.items():
                of_store = reasons.setdefault(reason, {})
                of_store[name] = of_store.get(name, 0) + number
    if reasons:
        yield ""
        yield "Left out:"
        yield ""
    for reason, numbers in sorted(reasons.items()):
        yield f"- {reason}: {', '.join(f'{number} on {NAMED[name]}' for name, number in numbers.items())}"


def _shown(family: Family | None) -> str:
    return "–" if family is None else f"{family.passed:,}"


MADE: Final = {"capabilities": capabilities, "runs": runs}


def made(name: str, page: str) -> tuple[str, str]:
    """The text of one made part, as it is and as it should be."""
    found = re.search(rf"<!-- made: {name} -->\n(.*?)<!-- made -->", page, re.DOTALL)
    assert found is not None
    return found[1], "\n".join(["", *MADE[name](), "", ""])


# `python -m tests.docs.test_stores` writes the tables again.
def test_the_tables_are_as_the_code_and_the_last_runs_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in MADE:
        written, expected = made(name, page)
        assert written == expected


def test_nothing_failed_in_the_last_runs() -> None:
    assert {name: total(families)["failed"] for name, families in read_runs().items()} == dict.fromkeys(read_runs(), 0)


def test_the_five_services_ran_on_every_store() -> None:
    services = {"boosts", "favourites", "goals", "pricing", "social"}
    for store, families in read_runs().items():
        assert {each for each in services if each in families and families[each].passed} == services, store


def test_families() -> None:
    assert family_of("tests/sortkey_services/pricing/load/test_x.py::test[memory]") == "pricing"
    assert family_of("tests/model/sessions/test_x.py::test") == "model/sessions"
    assert family_of("tests/feeds/changes/test_x.py::test") == "feeds"
    assert family_of("tests/test_examples.py::test_an_example[shop]") == "examples"


def main() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in MADE:
        written, expected = made(name, page)
        page = page.replace(f"<!-- made: {name} -->\n{written}", f"<!-- made: {name} -->\n{expected}")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
