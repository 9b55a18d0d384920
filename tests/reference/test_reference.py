"""The reference says what the docstrings say, of every public name."""

from __future__ import annotations

import pytest

import sortkey as sk
from tests.reference.entries import Undocumented, entry
from tests.reference.page import PAGE, filled, named

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_docstrings_say() -> None:
    assert filled(TEXT) == TEXT, "a signature or a docstring has changed: run `make reference`"


# A new name is put into a group by hand: in docs/internals/reference.md, in a comment that begins with `<!-- names`.
def test_every_public_name_has_an_entry() -> None:
    assert named(TEXT) == set(sk.__all__)


def test_a_function_is_shown_as_users_write_it() -> None:
    assert entry("sized") == (
        "- `sk.sized(at_most: int) -> Condition`\\\n"
        "  A set, list or map has at most this many elements, a string this many characters. An absent one has 0.\n"
    )


# Of the parameters of its constructor, or of the fields that are its parameters.
def test_a_class_is_shown_as_users_make_it() -> None:
    assert entry("Key()").startswith("- `sk.Key(partition: str, sort: str | None = None, *, names: Sequence[str] = (")
    assert entry("Rejected()").startswith("- `sk.feeds.Rejected(message: Message, reason: str)`\\\n")
    assert "summary: str, tables: Callable[[Mapping[str, Any]], Seq" in " ".join(entry("ServiceDefinition()").split())


# Python does not keep the string under an assignment.
def test_constants_and_attributes_have_the_text_below_them() -> None:
    assert entry("absent") == '- `sk.absent`: The field is None, or an empty set: `where={"owner": sk.absent}`.\n'
    assert "  - `.kept: int`: How many it found but did not delete" in entry("Deleted kept")
    assert "  - `.item`: The stored item." in entry("ConditionFailed item")


# NamedTuple makes a docstring of its own, which says nothing.
@pytest.mark.parametrize(
    "undocumented",
    ["sortkey.model.maintenance.scan:ScanOptions", "Table named", "Path lenght"],
    ids=["class", "method", "typing error"],
)
def test_what_has_no_docstring_is_an_error(undocumented: str) -> None:
    with pytest.raises(Undocumented):
        entry(undocumented)


def test_all_members_are_the_public_ones() -> None:
    text = entry("Session *")
    assert "  - `db.client`: The low-level client, for requests outside the model." in text
    # A variable of __init__ is no attribute.
    assert "db.reads" not in text
