"""Lists of floats: encoded together, they are what each is by itself."""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sortkey.model.errors import EncodeError
from sortkey.model.fields.converter import encode_float, encode_floats

numbers = st.floats() | st.floats(-1, 1) | st.floats(-1, 1, width=32) | st.integers(-3, 3).map(float)


def outcome(encode: Any, value: Any) -> Any:
    try:
        return encode(value)
    except EncodeError as error:
        return str(error)


def each_alone(values: list[Any]) -> Any:
    return {"L": [encode_float(value) for value in values]}


@given(st.lists(numbers | st.sampled_from([1, True, None, "1.5"]), max_size=6))
@example([0.0, -0.0, 1e16, 1e-7, 123456789.0, 5e-324])
@example([-0.0])
@example([-0.05, 10.0, 100.0])
@example([float("nan")])
def test_a_list_of_floats_is_what_each_is(values: list[Any]) -> None:
    assert outcome(encode_floats, values) == outcome(each_alone, values)
