"""What an audit says of one row."""

from __future__ import annotations

import types
from decimal import Decimal
from typing import Any

import pytest

import sortkey as sk
from sortkey.model.audit.classification import Classifier
from sortkey.model.audit.finding import Finding, Kind, Repair, Verdict
from sortkey.model.fields.codec import Row
from sortkey.model.fields.converter import NULL
from tests.model.audit.audited import AUDITED, clean_after_repair, event_row, found, order_row, repaired


@pytest.mark.parametrize("row", [order_row(), event_row(), order_row(expires=None)])
def test_a_row_as_declared_has_no_findings(row: Row) -> None:
    assert found(row) == []


def test_null_is_what_a_put_would_leave_out() -> None:
    assert found(order_row(expires={"NULL": True})) == [(Kind.PUT_REWRITES, "expires")]


@pytest.mark.parametrize(
    "key",
    [
        {"SK": {"S": "ORDER#03"}},
        {"SK": {"S": "INVOICE#3"}},
        {"PK": {"S": "CUSTOMER#6ba7b810-9dad-11d1-80b4-00c04fd430c8"}},
        {"PK": {"S": "CUSTOMER#ada"}},
    ],
)
def test_a_key_of_no_class(key: Row) -> None:
    assert Classifier(AUDITED).classify(order_row(**key)) == Verdict(None, (Finding(Kind.UNRECOGNISED),))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (order_row(number={"S": "three"}), "Order.number: expected N, found"),
        (event_row(kind=None, gsi1pk=None), "has no kind"),
        (event_row(_v={"N": "3"}), "has version 3; this program knows versions up to 2"),
        (event_row(_v=None, kind=None, type={"NULL": True}), "AttributeError"),
    ],
)
def test_a_row_that_its_class_cannot_decode(row: Row, reason: str) -> None:
    verdict = Classifier(AUDITED).classify(row)
    assert [finding.kind for finding in verdict.findings] == [Kind.UNDECODABLE]
    assert reason in verdict.findings[0].detail
    assert verdict.repair is None


# What of the two is right, only the owner of the data knows; the index keys depend on it, so they are not judged.
def test_an_attribute_that_disagrees_with_the_key() -> None:
    (finding,) = Classifier(AUDITED).classify(order_row(number={"N": "4"}, gsi1pk=None)).findings
    assert finding == Finding(Kind.KEY_DISAGREES, "number", "number is 4, but 3 in the key")


# A fraction of a second is lost in such a key, so that the item cannot be written back.
def test_an_attribute_that_the_key_cannot_hold() -> None:
    assert found(event_row(at={"S": "2026-01-04T10:00:00.500000Z"})) == [(Kind.KEY_DISAGREES, "at")]


# An attribute that is missing is shown from the key.
def test_a_row_that_has_a_field_only_in_its_key() -> None:
    assert found(order_row(number=None, customer=None)) == []


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"gsi1pk": None, "gsi1sk": None}, Kind.INDEX_KEY_MISSING),
        ({"gsi1sk": None}, Kind.INDEX_KEY_HALF),
        ({"gsi1pk": None, "gsi1sk": {"S": "DONE#000003"}}, Kind.INDEX_KEY_HALF),
        ({"gsi1sk": {"S": "DONE#000003"}}, Kind.INDEX_KEY_STALE),
        ({"gsi1pk": {"S": "CITY#New$PYork"}}, Kind.INDEX_KEY_STALE),
        ({"gsi1pk": {"N": "3"}}, Kind.INDEX_KEY_STALE),
        ({"city": {"S": "Rome"}}, Kind.INDEX_KEY_STALE),
        ({"city": {"NULL": True}, "gsi1pk": None}, Kind.INDEX_KEY_HALF),
    ],
)
def test_an_index_key_that_does_not_follow_from_the_fields(changed: dict[str, Any], kind: Kind) -> None:
    row = order_row(**changed)
    assert [each for each in found(row) if each[0] is not Kind.PUT_REWRITES] == [(kind, "gsi1")]
    after = clean_after_repair(row)
    assert {name: value for name, value in after.items() if not name.startswith("gsi1")} == {
        name: value for name, value in row.items() if not name.startswith("gsi1")
    }
    assert ("gsi1pk" in after) == ("S" in after.get("city", {}))


# `weight` is a field and a part of an index key: the item shows 0, and the index does not have it.
def test_a_field_of_an_index_key_that_a_row_lacks() -> None:
    row = order_row(weight=None)
    assert found(row) == [(Kind.INDEX_KEY_HALF, "gsi2")]
    assert clean_after_repair(row)["weight"] == {"N": "0"}


def test_fields_that_an_index_key_cannot_hold() -> None:
    (finding,) = Classifier(AUDITED).classify(order_row(city={"S": "A\U0010ffff1"})).findings
    assert (finding.kind, finding.subject, finding.repairable) == (Kind.INDEX_KEY_IMPOSSIBLE, "gsi1", False)
    assert "city" in finding.detail


def test_findings_of_several_indexes_are_repaired_together() -> None:
    row = order_row(gsi1sk=None, gsi2pk={"S": "STATUS#NEW"}, expires={"S": "2096-10-02T07:06:40Z"})
    assert found(row) == [(Kind.TTL, "expires"), (Kind.INDEX_KEY_HALF, "gsi1"), (Kind.INDEX_KEY_STALE, "gsi2")]
    assert clean_after_repair(row) == order_row()


# The item is what the upgrade makes of the row, and so are its index keys.
def test_a_row_of_an_older_version() -> None:
    row = event_row(_v=None, kind=None, type={"S": "login"})
    assert found(row) == [(Kind.OLDER_VERSION, "")]
    assert Classifier(AUDITED).classify(row).repair is None
    stale = event_row(_v={"N": "1"}, kind=None, type={"S": "login"}, gsi1pk={"S": "KIND#login"})
    assert found(stale) == [(Kind.INDEX_KEY_STALE, "gsi1"), (Kind.OLDER_VERSION, "")]


# The upgrade may read any attribute, and the item shows defaults, so all of them must be as they were, also the absent.
def test_the_repair_of_an_older_row_depends_on_the_whole_row() -> None:
    row = event_row(_v=None, kind=None, type={"S": "login"}, gsi1pk=None)
    repair = Classifier(AUDITED).classify(row).repair
    assert repair is not None
    assert repair.guards == {
        "at": row["at"],
        "type": row["type"],
        "gsi1sk": row["gsi1sk"],
        "gsi1pk": None,
        "kind": None,
        "_v": None,
    }


# With `upgrade`, the row becomes what `db.put` would write of its item, with all that no class declares.
def test_an_older_row_is_upgraded_if_that_is_asked_for() -> None:
    row = event_row(_v=None, kind=None, type={"S": "login"}, gsi1pk={"S": "KIND#login"}, note={"S": "kept"})
    verdict = Classifier(AUDITED, upgrade=True).classify(row)
    assert [(each.kind, each.repairable) for each in verdict.findings] == [
        (Kind.INDEX_KEY_STALE, True),
        (Kind.OLDER_VERSION, True),
    ]
    assert verdict.repair is not None
    after = repaired(row, verdict.repair.sets, verdict.repair.removes)
    assert after == event_row(at={"S": "2026-01-04T10:00:00.000000Z"}, note={"S": "kept"})
    assert "note" not in verdict.repair.sets
    unread = {"_v": None, "kind": None}
    assert verdict.repair.guards == {name: value for name, value in row.items() if name not in ("PK", "SK")} | unread


def test_an_older_row_that_cannot_be_written_is_not_upgraded() -> None:
    row = event_row(_v=None, kind=None, type={"S": "log\U0010ffffin"}, gsi1pk=None)
    verdict = Classifier(AUDITED, upgrade=True).classify(row)
    assert [(each.kind, each.repairable) for each in verdict.findings] == [
        (Kind.INDEX_KEY_IMPOSSIBLE, False),
        (Kind.OLDER_VERSION, False),
    ]
    assert verdict.repair is None


def test_a_repair_depends_on_the_fields_and_on_the_key_that_it_replaces() -> None:
    repair = Classifier(AUDITED).classify(order_row(gsi1sk={"S": "DONE#000003"})).repair
    assert repair is not None
    assert repair.sets == {"gsi1sk": {"S": "OPEN#000003"}}
    assert repair.guards == {
        "city": {"S": "New York"},
        "status": {"S": "OPEN"},
        "number": {"N": "3"},
        "gsi1pk": {"S": "CITY#New York"},
        "gsi1sk": {"S": "DONE#000003"},
        # A newer program may have rewritten the row.
        "_v": None,
    }


class Place(sk.Item, table=sk.Table("audited-places")):
    id: str
    city: str
    street: str

    key = sk.Key("PLACE#{id}")
    by_city = sk.Index("gsi1", "CITY#{city}", "{id}")
    by_street = sk.Index("gsi2", "STREET#{street}", "{city}")


# Another program may store it there only, so it is neither shown nor repaired.
def test_a_field_that_only_an_index_key_has() -> None:
    for row in (order_row(city=None), order_row(city=None, gsi1sk=None)):
        assert found(row) == [(Kind.ONLY_IN_INDEX_KEY, "gsi1")]
        assert Classifier(AUDITED).classify(row).repair is None


def test_a_required_field_that_only_an_index_key_has() -> None:
    row = {
        "pk": {"S": "PLACE#1"},
        "street": {"S": "Main"},
        "gsi1pk": {"S": "CITY#Rome"},
        "gsi1sk": {"S": "1"},
        "gsi2pk": {"S": "STREET#Main"},
    }
    verdict = Classifier(Place.__table__).classify(row)
    assert [(finding.kind, finding.subject) for finding in verdict.findings] == [(Kind.ONLY_IN_INDEX_KEY, "")]
    assert verdict.repair is None


class Ticket(sk.Item, table=sk.Table("audited-tickets")):
    id: str
    tenant: str
    priority: int = 0

    key = sk.Key("TICKET#{id}")
    by_tenant = sk.Index("by_tenant", ("tenant",), ("priority", "id"))


# One declaration, two forms of the key: each store is audited by its own.
def test_an_index_of_fields() -> None:
    row = {"pk": {"S": "TICKET#1"}, "id": {"S": "1"}, "tenant": {"S": "acme"}, "priority": {"N": "2"}}
    assert Classifier(Ticket.__table__).classify(row).findings == ()
    joined = Classifier(Ticket.__table__, native=False).classify(row)
    assert [finding.kind for finding in joined.findings] == [Kind.INDEX_KEY_MISSING]
    assert joined.repair is not None
    assert joined.repair.sets.keys() == {"by_tenantpk", "by_tenantsk"}
    del row["priority"]
    native = Classifier(Ticket.__table__).classify(row)
    assert [finding.kind for finding in native.findings] == [Kind.INDEX_KEY_HALF]
    assert native.repair is not None
    assert native.repair.sets == {"priority": {"N": "0"}}


class Plot(sk.Item, table=sk.Table("audited-plots")):
    id: str
    row: str | None = None
    tree: str | None = None

    key = sk.Key("PLOT#{id}")
    by_row = sk.Index("gsi1", "PLOT#{id}", "ROW#{row}", names=("plot", "plot_row"))
    by_tree = sk.Index("gsi2", "PLOT#{id}", "TREE#{tree}", names=("plot", "plot_tree"))


PLOT = {
    "pk": {"S": "PLOT#1"},
    "id": {"S": "1"},
    "row": {"S": "a"},
    "plot": {"S": "PLOT#1"},
    "plot_row": {"S": "ROW#a"},
}


# To remove `plot`, which the second index does not need, would take the item out of the first.
@pytest.mark.parametrize(
    ("changed", "findings", "sets", "removes"),
    [
        ({}, [], {}, ()),
        ({"tree": NULL, "plot_tree": {"S": "TREE#x"}}, [(Kind.INDEX_KEY_STALE, "gsi2")], {}, ("plot_tree",)),
        ({"plot_tree": {"S": "TREE#x"}}, [(Kind.ONLY_IN_INDEX_KEY, "gsi2")], {}, ()),
        ({"plot_row": None}, [(Kind.INDEX_KEY_MISSING, "gsi1")], {"plot_row": {"S": "ROW#a"}}, ()),
        ({"plot": None}, [(Kind.INDEX_KEY_HALF, "gsi1")], {"plot": {"S": "PLOT#1"}}, ()),
        (
            {"tree": NULL, "plot": None, "plot_tree": {"S": "TREE#x"}},
            [(Kind.INDEX_KEY_HALF, "gsi1"), (Kind.INDEX_KEY_HALF, "gsi2")],
            {"plot": {"S": "PLOT#1"}},
            ("plot_tree",),
        ),
        (
            {"row": None, "plot_row": None},
            [(Kind.INDEX_KEY_HALF, "gsi1"), (Kind.INDEX_KEY_HALF, "gsi2")],
            {},
            ("plot",),
        ),
    ],
)
def test_indexes_that_share_an_attribute(
    changed: dict[str, Any], findings: list[tuple[Kind, str]], sets: Row, removes: tuple[str, ...]
) -> None:
    row = {name: value for name, value in {**PLOT, **changed}.items() if value is not None}
    verdict = Classifier(Plot.__table__).classify(row)
    assert [(each.kind, each.subject) for each in verdict.findings if each.kind is not Kind.PUT_REWRITES] == findings
    repair = verdict.repair or Repair({}, (), {})
    assert (repair.sets, repair.removes) == (sets, removes)
    left = Classifier(Plot.__table__).classify(repaired(row, sets, removes)).findings
    assert all(each.kind in (Kind.PUT_REWRITES, Kind.ONLY_IN_INDEX_KEY) for each in left)


# Another writer may bring the item into the other index, which leaves `plot` as it is.
def test_the_removal_of_a_shared_attribute_depends_on_both_indexes() -> None:
    row = {name: PLOT[name] for name in ("pk", "id", "plot")}
    repair = Classifier(Plot.__table__, only_index="gsi2").classify(row).repair
    assert repair is not None
    assert repair.removes == ("plot",)
    assert repair.guards == {
        "id": {"S": "1"},
        "row": None,
        "tree": None,
        "plot": {"S": "PLOT#1"},
        "plot_row": None,
        "plot_tree": None,
        "_v": None,
    }


class Score(sk.Item, table=sk.Table("audited-scores")):
    game: str
    points: Decimal

    key = sk.Key("GAME#{game}")
    by_points = sk.Index("gsi1", "SCORES", "{points}")


# Not every store writes a number as DynamoDB does.
def test_numbers_are_compared_as_numbers() -> None:
    row = {"pk": {"S": "GAME#go"}, "game": {"S": "go"}, "points": {"N": "7.0"}, "gsi1pk": {"S": "SCORES"}}
    assert Classifier(Score.__table__).classify({**row, "gsi1sk": {"N": "7"}}).findings == ()
    assert [each.kind for each in Classifier(Score.__table__).classify({**row, "gsi1sk": {"N": "8"}}).findings] == [
        Kind.INDEX_KEY_STALE
    ]


class Pet(sk.Item, table=sk.Table("audited-pets"), tag=True):
    name: str
    key = sk.Key("PET#{name}")


class Dog(Pet):
    breed: str
    by_breed = sk.Index("gsi1", "BREED#{breed}", "{name}")


# The tag says which index keys a row has, so a repair depends on it.
def test_classes_that_a_tag_tells_apart() -> None:
    rex = {"pk": {"S": "PET#rex"}, "name": {"S": "rex"}, "type": {"S": "Dog"}, "breed": {"S": "collie"}}
    verdict = Classifier(Pet.__table__).classify(rex)
    assert (verdict.entity, [each.kind for each in verdict.findings]) == ("Dog", [Kind.INDEX_KEY_MISSING])
    assert verdict.repair is not None
    assert verdict.repair.guards["type"] == {"S": "Dog"}
    assert Classifier(Pet.__table__).classify({**rex, "type": {"S": "Pet"}}) == Verdict("Pet")
    (finding,) = Classifier(Pet.__table__).classify({**rex, "type": {"S": "Fish"}}).findings
    assert finding.kind is Kind.UNDECODABLE
    assert "Fish" in finding.detail


_FIELDS = [f"field_{number}" for number in range(140)]
Wide: Any = types.new_class(
    "Wide",
    (sk.Item,),
    {"table": "audited-wide", "version": 2},
    lambda namespace: namespace.update(
        dict.fromkeys(_FIELDS),
        __annotations__={"id": str, **dict.fromkeys(_FIELDS, int | None)},
        key=sk.Key("W#{id}"),
        by_id=sk.Index("gsi1", "WIDE", "{id}"),
    ),
)
Wide.upgrade(1)(lambda row: row)


# A condition has 4 KB, too little for the absence of all fields: the row is reported and left alone.
@pytest.mark.parametrize("upgrade", [False, True])
def test_an_older_row_of_a_very_wide_class_is_not_repaired(upgrade: bool) -> None:
    verdict = Classifier(Wide.__table__, upgrade=upgrade).classify({"pk": {"S": "W#1"}, "id": {"S": "1"}})
    assert [(each.kind, each.repairable) for each in verdict.findings] == [
        (Kind.INDEX_KEY_MISSING, False),
        (Kind.OLDER_VERSION, False),
    ]
    assert any("do not fit into one condition" in each.detail for each in verdict.findings)
    assert verdict.repair is None
