"""Values of every type, and variants within a type that might be handled differently."""

from __future__ import annotations

from typing import Any, Final

Value = dict[str, Any]

BY_TYPE: Final[dict[str, Value]] = {
    "S": {"S": "abc"},
    "N": {"N": "7"},
    "B": {"B": "YWJj"},
    "BOOL": {"BOOL": True},
    "NULL": {"NULL": True},
    "SS": {"SS": ["abc", "b"]},
    "NS": {"NS": ["7", "8"]},
    "BS": {"BS": ["YWJj", "Yg=="]},
    "L": {"L": [{"S": "abc"}, {"N": "7"}, {"B": "YWJj"}, {"L": []}]},
    "M": {"M": {"abc": {"S": "abc"}, "n": {"N": "7"}}},
}
"""One of each type. Their contents overlap, so that `contains` and `begins_with` have something to find."""

VARIANTS: Final[dict[str, Value]] = {
    **BY_TYPE,
    "S-empty": {"S": ""},
    "S-prefix": {"S": "ab"},
    "S-longer": {"S": "abcd"},
    "S-umlaut": {"S": "ä"},
    "S-emoji": {"S": "\U0001f600"},
    "N-equal": {"N": "7.00"},
    "N-less": {"N": "-7.5"},
    "N-zero": {"N": "0"},
    "N-text-order": {"N": "10"},
    "B-empty": {"B": ""},
    "B-prefix": {"B": "YWI="},
    "B-high": {"B": "/w=="},
    "BOOL-false": {"BOOL": False},
    "SS-reordered": {"SS": ["b", "abc"]},
    "SS-other": {"SS": ["c"]},
    "NS-equal": {"NS": ["8.0", "7"]},
    "BS-one": {"BS": ["YWJj"]},
    "L-empty": {"L": []},
    "L-nested": {"L": [{"L": [{"N": "7.0"}]}]},
    "M-empty": {"M": {}},
    "M-reordered": {"M": {"n": {"N": "7.0"}, "abc": {"S": "abc"}}},
}
