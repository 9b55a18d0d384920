"""The key designer: pasted classes are read, compiled and priced, and nothing of them is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from sortkey.server.console.designer.design import DesignRequest, design
from tests.server.console.consoles import Opened, run

SHOP = '''
import sortkey as sk
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated

class Kind(Enum):
    BASE = "Base"
    SWAP = "Swap"

PRICES = sk.Table("prices", stream="NEW_AND_OLD_IMAGES")

class Price(sk.Item, table=PRICES):
    """What something costs."""

    store: str
    product: str
    kind: Kind = Kind.BASE
    effective: datetime
    amount: Decimal | None = None
    made: Annotated[datetime | None, sk.created] = None

    key = sk.Key("STORE#{store}", "{kind}#{product}#{effective}")
    by_product = sk.Index("by_product", "PRODUCT#{product}", "{store}")
'''


def test_classes_have_keys_collections_paths_and_costs() -> None:
    made = design(DesignRequest(SHOP, rows=100, row_bytes=1000, per_second=10))
    assert made.problems == []
    (price,) = made.classes
    assert (price.name, price.table, price.doc) == ("Price", "prices", "What something costs.")
    assert [path.name for path in price.paths] == ["Price.key", "Price.by_product"]
    (collection,) = price.collections
    assert (collection.partition, len(collection.rows)) == ("STORE#store-1", 3)
    assert [row.sort for row in collection.rows] == sorted(row.sort for row in collection.rows)
    query, get, by_product = made.paths
    assert (query.operation, get.operation, by_product.operation) == ("Query", "GetItem", "Query")
    assert (query.units, get.units) == (12.5, 0.5)
    # 12.5 units, ten times a second, for thirty days, at 0.125 dollars a million.
    assert query.dollars_per_month == pytest.approx(40.5)


# PutItem replaces: a profile of each customer is one row.
def test_a_key_that_is_the_partition_s_alone_has_one_example() -> None:
    source = "import sortkey as sk\n\nclass User(sk.Item, table='users'):\n    user: str\n    city: str\n"
    (user,) = design(DesignRequest(f'{source}    key = sk.Key("USER#{{user}}", "PROFILE")\n')).classes
    assert [[row.sort for row in each.rows] for each in user.collections] == [["PROFILE"]]


def test_questions_without_a_path_get_the_index_that_would_answer_them() -> None:
    questions = {each.text: each for each in design(DesignRequest(SHOP)).questions}
    assert questions["Which Prices have a certain product?"].by == "Price.by_product(product=…)"
    amount = questions["Which Prices have a certain amount?"]
    assert amount.suggestion == (
        'by_amount = sk.Index("by_amount", "AMOUNT#{amount}", "{store}#{kind}#{product}#{effective}")'
    )
    kind = next(each for text, each in questions.items() if "kind, with store given" in text)
    assert (kind.answered, kind.by) == (True, "Price.key")


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("x = 1", 1, "nothing is executed"),
        ("import os\nos.system('true')", 2, "nothing is executed"),
        ("T = open('x')", 1, "open(…) is not called"),
        ("class A(sk.Item, table=open('x')):\n    pass", 1, "open(…) is not called"),
        (
            "class A(sk.Item, table='things'):\n    id: eval('str')\n    key = sk.Key('{id}')",
            2,
            "is not read in a type",
        ),
        ("class A(sk.Item, table='things'):\n    id: str = f()\n    key = sk.Key('{id}')", 2, "is not called"),
        ("class A(sk.Item, table='things'):\n    id: str\n    key = sk.Key('{nothing}')", 1, "nothing"),
        ("class A(sk.Item, table='things'):\n    id: Thing\n    key = sk.Key('{id}')", 2, "not a type that is known"),
        ("class A(object):\n    pass", 1, "derives from no item class"),
        ("class A(\n", 1, "It is not Python"),
        ("x = " + "(" * 5000, 1, "It is not Python"),
        ("x = 1\n" * 30_000, 1, "more than"),
    ],
)
def test_all_else_is_a_problem_with_its_line(source: str, line: int, message: str) -> None:
    made = design(DesignRequest(source))
    assert made.classes == []
    problem = made.problems[0]
    assert (problem.line, message in problem.message) == (line, True), problem


# What would happen if anything of it ran would be seen.
def test_nothing_is_executed(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    touch = f"__import__('pathlib').Path({str(proof)!r}).touch()"
    attempts = [
        touch,
        f"@{touch}\nclass A(sk.Item, table='things'):\n    id: str\n    key = sk.Key('{{id}}')",
        f"class A(sk.Item, table='things', tag={touch}):\n    id: str\n    key = sk.Key('{{id}}')",
        f"class A(sk.Item, table='things'):\n    {touch}\n    id: str\n    key = sk.Key('{{id}}')",
        f"class A(sk.Item, table='things'):\n    id: {touch} = 1\n    key = sk.Key('{{id}}')",
        f'class A(sk.Item, table="things"):\n    id: "{touch}"\n    key = sk.Key("{{id}}")',
        f"class A(sk.Item, table='things'):\n    def __init_subclass__(cls):\n        {touch}\n    id: str\n"
        "    key = sk.Key('{id}')\nclass B(A):\n    pass",
        f"class K(Enum):\n    A = {touch}",
    ]
    for source in attempts:
        design(DesignRequest(source))
    assert not proof.exists()


@pytest.mark.slow
def test_it_runs_in_a_process_of_its_own() -> None:
    async def use(shop: Opened) -> None:
        made = await shop.page.call("design", source=SHOP.replace('"prices"', '"shop"'), perSecond=2.0)
        assert made["classes"][0]["table"] == "shop"
        assert made["classes"][0]["collections"][0]["rows"][0]["class"] == "Price"
        # The shop's own classes are as before.
        classes = (await shop.page.call("model"))["classes"]
        assert not any(each["name"] == "Price" for each in classes)
        assert (await shop.page.post("design", {"source": "", "rows": 0})).status == 400

    run(use)
