"""Random numbers, values and items as a request may hold them: valid, and often not canonical."""

from __future__ import annotations

from base64 import b64encode
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from sortkey.values import number


def _number(sign: str, digits: str, exponent: int) -> Decimal:
    return Decimal(f"{sign}{digits[0]}.{digits[1:]}E{exponent}")


decimals = st.builds(
    _number,
    st.sampled_from(["", "-"]),
    st.from_regex(r"[1-9][0-9]{0,37}", fullmatch=True),
    st.integers(-130, 125) | st.integers(-3, 3),
) | st.just(Decimal(0))
"""Every number that DynamoDB can hold."""

number_texts = st.builds(format, decimals, st.sampled_from(["", "f", "e", "+"]))

small_numbers = st.builds(
    _number, st.sampled_from(["", "-"]), st.from_regex(r"[0-9]{1,38}", fullmatch=True), st.integers(-9, 1)
).map(lambda decimal: number.canonical(str(decimal)))
"""The canonical texts of numbers around those that vectors have."""

number_lists = st.lists(small_numbers, min_size=16, max_size=24)
"""Lists long enough to be taken for vectors."""

# Lone surrogates are not characters.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
binaries = st.binary(max_size=20)
base64_texts = binaries.map(lambda raw: b64encode(raw).decode())
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)


def _set_of(tag: str, members: st.SearchStrategy[str], by: Any = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.lists(members, min_size=1, max_size=5, unique_by=by).map(lambda content: {tag: content})


scalars: st.SearchStrategy[dict[str, Any]] = st.one_of(
    texts.map(lambda text: {"S": text}),
    number_texts.map(lambda text: {"N": text}),
    base64_texts.map(lambda text: {"B": text}),
    st.booleans().map(lambda flag: {"BOOL": flag}),
    st.just({"NULL": True}),
    _set_of("SS", texts, by=str),
    _set_of("NS", number_texts, by=Decimal),
    _set_of("BS", base64_texts, by=str),
)

values: st.SearchStrategy[dict[str, Any]] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda content: {"L": content})
        | st.dictionaries(names, inner, max_size=4).map(lambda content: {"M": content})
    ),
    max_leaves=8,
)

items = st.dictionaries(names, values, max_size=5)
