"""Answers as JSON text for the wire and as dictionaries in the process."""

from __future__ import annotations

import pytest

from sortkey.engine.operations.answers import to_dict, to_json
from sortkey.engine.rows.stored_item import Json

LEAF = Json(b'{"id":{"S":"1"}}', binary=False)
ANSWER = {"Item": LEAF, "Count": 1, "Deep": {"list": [LEAF, {"leaf": LEAF}]}}


# Stored text is spliced in as it is, without parsing.
def test_wire_splices_stored_text() -> None:
    assert to_json(ANSWER) == (
        b'{"Item":{"id":{"S":"1"}},"Count":1,"Deep":{"list":[{"id":{"S":"1"}},{"leaf":{"id":{"S":"1"}}}]}}'
    )


def test_process_gets_objects_at_every_depth() -> None:
    item = {"id": {"S": "1"}}
    assert to_dict(ANSWER) == {"Item": item, "Count": 1, "Deep": {"list": [item, {"leaf": item}]}}


# The embedded client decodes base64 in leaves that may hold binary.
def test_reader_chooses_how_to_parse() -> None:
    assert to_dict({"Items": LEAF, "Count": 0}, lambda leaf: leaf.binary) == {"Items": False, "Count": 0}


def test_answer_holds_nothing_else() -> None:
    with pytest.raises(TypeError):
        to_json({"x": object()})
