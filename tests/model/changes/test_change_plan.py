"""Partial updates: which key attributes they touch, and when they have to read first."""

from __future__ import annotations

from decimal import Decimal

import pytest

import sortkey as sk
from sortkey.model.changes.change_plan import plan_changes
from sortkey.model.items.item import schema_of
from tests.model.declared import Order, Price, Score

ORDER = {"user": "a", "order": "o", "year": 2026, "month": 8, "day": 24}


class Task(sk.Item, table="test-changes-tasks"):
    id: str
    owner: str
    state: str
    due: int | None = None

    key = sk.Key("TASK#{id}")
    by_owner = sk.Index("gsi1", "OWNER#{owner}", "{state}#{id}")
    due_by_owner = sk.Index("gsi2", "OWNER#{owner}", "{due}")


TASKS = schema_of(Task)


def test_a_change_that_no_key_holds() -> None:
    plan = plan_changes(schema_of(Order), {"total": Decimal(5)}, ORDER)
    assert (plan.sets, plan.removes, plan.reads, plan.guards) == ({"total": {"N": "5"}}, (), frozenset(), {})


# The primary key is known, since the update names the item by it.
def test_keys_made_of_the_change_and_the_primary_key() -> None:
    plan = plan_changes(schema_of(Order), {"status": "PAID"}, ORDER)
    assert plan.sets == {
        "status": {"S": "PAID"},
        "gsi1pk": {"S": "STATUS#PAID"},
        "gsi1sk": {"S": "2026-08-24#o"},
    }
    assert not plan.reads
    assert not plan.guards


def test_none_takes_the_item_out_of_the_index() -> None:
    plan = plan_changes(schema_of(Order), {"status": None}, ORDER)
    assert plan.sets == {}
    assert plan.removes == ("status", "gsi1pk", "gsi1sk")


def test_only_the_attribute_that_changes_is_computed() -> None:
    plan = plan_changes(TASKS, {"state": "done"}, {"id": "1"})
    assert plan.sets == {"state": {"S": "done"}, "gsi1sk": {"S": "done#1"}}


# Whether the item is in the second index at all depends on a field that may be None.
def test_what_is_not_known_is_read_and_guarded() -> None:
    plan = plan_changes(TASKS, {"owner": "ann"}, {"id": "1"})
    assert plan.reads == {"due"}
    again = plan_changes(TASKS, {"owner": "ann"}, {"id": "1", "due": 5})
    assert again.reads == frozenset()
    assert again.sets == {"owner": {"S": "ann"}, "gsi1pk": {"S": "OWNER#ann"}, "gsi2pk": {"S": "OWNER#ann"}}
    assert again.guards == {"due": {"N": "5"}}
    absent = plan_changes(TASKS, {"owner": "ann"}, {"id": "1", "due": None})
    assert absent.removes == ("gsi2pk",)
    assert absent.guards == {"due": None}


def test_coming_into_an_index_needs_its_other_fields() -> None:
    assert plan_changes(TASKS, {"due": 5}, {"id": "1"}).reads == {"owner"}
    assert plan_changes(TASKS, {"due": 5}, {"id": "1", "owner": "ann"}).sets["gsi2pk"] == {"S": "OWNER#ann"}


# The index's attribute is the field, so setting one sets the other.
def test_native_keys_need_nothing_more() -> None:
    plan = plan_changes(schema_of(Score), {"score": 5}, {"game": "g", "player": "p"})
    assert plan.sets == {"score": {"N": "5"}}


def test_the_primary_key_cannot_change() -> None:
    with pytest.raises(sk.KeyChange, match=r"Price\.store is part of the primary key"):
        plan_changes(schema_of(Price), {"store": "2"}, {})


def test_unknown_fields_are_rejected() -> None:
    with pytest.raises(sk.UnknownField, match=r"did you mean 'amount'\?"):
        plan_changes(schema_of(Price), {"amont": 2}, {})


class Plot(sk.Item, table="test-changes-plots"):
    id: str
    row: str | None = None
    tree: str | None = None

    key = sk.Key("PLOT", "{id}")
    by_row = sk.Index("gsi1", "PLOT#{id}", "ROW#{row}", names=("plot", "plot_row"))
    by_tree = sk.Index("gsi2", "PLOT#{id}", "TREE#{tree}", names=("plot", "plot_tree"))
    all_trees = sk.Index("gsi3", "{tree}#", "{id}", names=("tree_id", "sk"))


# An item that leaves one index must stay in the other.
def test_an_attribute_that_two_indexes_share_is_removed_with_the_last() -> None:
    plots = schema_of(Plot)
    assert plan_changes(plots, {"tree": None}, {"id": "1"}).reads == {"row"}
    planted = plan_changes(plots, {"tree": None}, {"id": "1", "row": "a"})
    assert (planted.sets, planted.removes) == ({}, ("tree", "plot_tree", "tree_id"))
    assert planted.guards == {"row": {"S": "a"}}
    last = plan_changes(plots, {"tree": None}, {"id": "1", "row": None})
    assert sorted(last.removes) == ["plot", "plot_tree", "tree", "tree_id"]
    assert last.guards == {"row": None}
    both = plan_changes(plots, {"tree": None, "row": None}, {"id": "1"})
    assert sorted(both.removes) == ["plot", "plot_row", "plot_tree", "row", "tree", "tree_id"]
    assert (both.reads, both.guards) == (frozenset(), {})
    other = plan_changes(plots, {"tree": None, "row": "b"}, {"id": "1"})
    assert other.sets == {"row": {"S": "b"}, "plot": {"S": "PLOT#1"}, "plot_row": {"S": "ROW#b"}}
    assert sorted(other.removes) == ["plot_tree", "tree", "tree_id"]


# No update may name an attribute of the primary key.
def test_an_index_that_shares_an_attribute_of_the_primary_key() -> None:
    plan = plan_changes(schema_of(Plot), {"tree": "oak"}, {"id": "1"})
    assert plan.sets.keys() == {"tree", "plot", "plot_tree", "tree_id"}
    assert plan.beside == {}
