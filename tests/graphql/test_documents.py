"""The caches of documents are bounded, whatever clients send."""

from __future__ import annotations

import gc

import pytest

from sortkey.graphql import documents as module
from sortkey.graphql.documents import Documents
from sortkey.graphql.errors import Refused
from sortkey.graphql.settings import Limits
from tests.graphql.bookshop import SCHEMA, SIZES


def test_documents_are_kept_up_to_a_number_and_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_DOCUMENTS", 3)
    monkeypatch.setattr(module, "KEPT_BYTES", 60)
    kept = Documents(SCHEMA, SIZES, Limits())
    first = kept.operation("query A { book { id } }", None)
    assert kept.operation("query A { book { id } }", None) is first
    for name in "BC":
        kept.operation(f"query {name} {{ book {{ id }} }}", None)
    # Three would have 69 bytes.
    assert kept.operation("query A { book { id } }", None) is not first
    for number in range(10):
        with pytest.raises(Refused):
            kept.operation(f"{{ a{number} }}", None)
    assert len(kept._kept) == 3


# An exception would keep the frames in which it was raised, with the parsed document and the request.
def test_of_a_refused_document_only_the_errors_are_kept() -> None:
    kept = Documents(SCHEMA, SIZES, Limits())
    for text in ("{ a }", "{", "{ book"):
        for _ in range(2):
            with pytest.raises(Refused):
                kept.operation(text, None)
    gc.collect()
    assert [each for each in gc.get_objects() if type(each) is Refused] == []


def test_hashes_are_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_HASHED_BYTES", 10)
    kept = Documents(SCHEMA, SIZES, Limits())
    kept.keep("one", "{ a }")
    kept.keep("two", "{ b }")
    kept.keep("three", "{ c }")
    with pytest.raises(Refused, match="PersistedQueryNotFound"):
        kept.persisted(None, {"version": 1, "sha256Hash": "one"})
    assert kept.persisted(None, {"version": 1, "sha256Hash": "three"}) == "{ c }"
