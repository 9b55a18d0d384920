"""How the store is asked for the version of a row."""

from __future__ import annotations

import pytest

from sortkey.model.changes.placeholders import Placeholders
from sortkey.model.changes.version_tests import is_current, is_current_or_missing, is_not_newer, needs_program
from sortkey.model.items.item import schema_of
from tests.model.declared import Price
from tests.model.items.test_item import Document

V1, V3 = schema_of(Price), schema_of(Document)


# Rows of version 1 have no mark, nor has a missing item: one function of DynamoDB tests both.
@pytest.mark.parametrize("test", [is_current, is_current_or_missing])
def test_a_row_of_version_1_has_no_mark(test: object) -> None:
    assert callable(test)
    assert test(V1, Placeholders()) == "attribute_not_exists(#n0)"


def test_a_row_of_a_later_version_has_its_mark() -> None:
    placeholders = Placeholders()
    assert is_current(V3, placeholders) == "#n0 = :v0"
    assert placeholders.added_to({})["ExpressionAttributeValues"] == {":v0": {"N": "3"}}
    assert is_current_or_missing(V3, Placeholders()) == "(attribute_not_exists(#n1) OR #n0 = :v0)"


# DynamoDB's <> is true of an absent attribute, so every row without a mark would pass for another version.
def test_a_filter_lets_other_versions_pass() -> None:
    assert needs_program(V1, Placeholders()) == "#n0 > :v0"
    assert needs_program(V3, Placeholders()) == "#n0 <> :v0"


def test_a_mark_may_be_absent_or_known() -> None:
    assert is_not_newer(V3, Placeholders()) == "(attribute_not_exists(#n0) OR #n0 <= :v0)"
