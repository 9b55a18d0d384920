"""Ion text: names that need quotes, and what is no item."""

from __future__ import annotations

import sys

import pytest

from sortkey.values import ion

needs_ion = pytest.mark.skipif(sys.version_info >= (3, 14), reason="amazon.ion has no wheels for this Python")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plain_1", b"plain_1"),
        ("$dollar", b"$dollar"),
        ("$1", b"'$1'"),
        ("null", b"'null'"),
        ("true", b"'true'"),
        ("1st", b"'1st'"),
        ("it's", rb"'it\'s'"),
        ("back\\slash", rb"'back\\slash'"),
        ("line\nbreak", rb"'line\nbreak'"),
        ("über", "'über'".encode()),
    ],
)
def test_names(name: str, expected: bytes) -> None:
    assert ion.written({name: {"BOOL": True}}) == b"{%b:true}" % expected


@needs_ion
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "not a line"),
        (b"{Item:1}", "not a line"),
        (b"{Other:{}}", "not a line"),
        (b"{Item:{a:1", "not Ion text"),
        (b"1 2", "not Ion text"),
        (b"\xe0\x01\x00\xea\xff", "not Ion text"),
        (b"{Item:{a:" + b"[" * 5000 + b"]" * 5000 + b"}}", "not Ion text"),
        (b"{Item:{a:2026-01-01T}}", "no timestamp"),
        (b'{Item:{a:{{"text"}}}}', "no clob"),
        (b"{Item:{a:(1 2)}}", "no sexp"),
        (b"{Item:{a:other::[1]}}", "one annotation"),
        (b"{Item:{a:$dynamodb_NS::other::[1]}}", "one annotation"),
        (b'{Item:{a:$dynamodb_NS::["x"]}}', r"a member of a \$dynamodb_NS"),
    ],
)
def test_what_is_no_item(line: bytes, reason: str) -> None:
    with pytest.raises(ion.NotAnItem, match=reason):
        ion.read(line)


@needs_ion
def test_other_types_of_ion_that_mean_an_attribute_value() -> None:
    line = b"$ion_1_0 {Item:{int:12,float:1.5e0,symbol:word,typed:null.string}}"
    assert ion.read(line) == {
        "int": {"N": "12"},
        "float": {"N": "1.5"},
        "symbol": {"S": "word"},
        "typed": {"NULL": True},
    }
