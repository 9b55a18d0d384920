"""Whole keys of any mix of types: they read back, sort as their values do, and ranges select what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from sortkey.model.errors import KeyPartError
from sortkey.model.keys.collision import may_collide
from sortkey.model.keys.key_attribute import SortCondition, TemplateAttribute
from tests.model.strategies import Sample, samples


def selects(condition: SortCondition | None, key: str) -> bool:
    """What DynamoDB does with a condition, which compares the bytes of UTF-8."""
    if condition is None:
        return True
    text = key.encode()
    limits = [value["S"].encode() for value in condition.values]
    match condition.operator:
        case "=":
            return bool(text == limits[0])
        case "<":
            return bool(text < limits[0])
        case ">":
            return bool(text > limits[0])
        case "begins_with":
            return text.startswith(limits[0])
        case operator:
            assert operator == "BETWEEN"
            assert limits[0] <= limits[1], "DynamoDB rejects a range that is upside down"
            return bool(limits[0] <= text <= limits[1])


def built(sample: Sample, values: list[Any]) -> str:
    try:
        return sample.template.build(values)
    except KeyPartError:
        assume(False)
        raise


@given(samples.flatmap(lambda sample: st.tuples(st.just(sample), sample.values())))
def test_keys_read_back(drawn: tuple[Sample, list[Any]]) -> None:
    sample, values = drawn
    key = built(sample, values)
    assert list((sample.template.parse(key) or {}).values()) == values
    assert sample.template.matches(key)


def has_order(sample: Sample) -> bool:
    return all(kind.ordered or kind.order for kind in sample.kinds)


@given(
    samples.filter(has_order).flatmap(
        lambda sample: st.tuples(st.just(sample), sample.values(), sample.values(), st.integers(0, 3))
    )
)
def test_keys_sort_as_their_values(drawn: tuple[Sample, list[Any], list[Any], int]) -> None:
    sample, one, other, shared = drawn
    other = one[:shared] + other[shared:]  # or else only the first field would ever decide
    left, right = built(sample, one).encode(), built(sample, other).encode()
    assert (left < right) == (sample.order(one) < sample.order(other))
    assert (left == right) == (one == other)


Range = tuple[Sample, int, list[list[Any]], list[Any], list[Any]]


def ranged(sample: Sample, depths: Sequence[int]) -> st.SearchStrategy[Range]:
    """A template, how many fields are given, rows, and two more that hold limits."""
    rows = st.lists(sample.values(), min_size=1, max_size=12)
    return st.tuples(st.just(sample), st.sampled_from(depths), rows, sample.values(), sample.values())


def text_depths(sample: Sample) -> list[int]:
    return [depth for depth, kind in enumerate(sample.kinds) if kind.base is str and kind.ordered]


def ordered_depths(sample: Sample) -> list[int]:
    return [depth for depth, kind in enumerate(sample.kinds) if kind.ordered]


prefixes = samples.flatmap(lambda sample: ranged(sample, range(len(sample.kinds))))
ranges = samples.filter(ordered_depths).flatmap(lambda sample: ranged(sample, ordered_depths(sample)))
text_ranges = samples.filter(text_depths).flatmap(lambda sample: ranged(sample, text_depths(sample)))


def rows_of(sample: Sample, depth: int, rows: list[list[Any]], limit: list[Any]) -> tuple[list[Any], list[list[Any]]]:
    """Rows of which some share the given fields, and some also the limit."""
    given = rows[0][:depth]
    near = [given + row[depth:] for row in rows] + [[*given, limit[depth], *row[depth + 1 :]] for row in rows]
    return given, [row for row in [*rows, *near] if sample.template.prefix(row)]


@given(prefixes)
def test_prefixes_select_the_matching_keys(drawn: Range) -> None:
    sample, depth, rows, limit, _ = drawn
    given, rows = rows_of(sample, depth, rows, limit)
    condition = TemplateAttribute("sk", sample.template).prefix(given)
    for row in rows:
        assert selects(condition, sample.template.build(row)) == (row[:depth] == given)


@given(ranges)
def test_between_selects_both_ends_and_what_lies_between(
    drawn: Range,
) -> None:
    sample, depth, rows, one, other = drawn
    given, rows = rows_of(sample, depth, rows, one)
    order = sample.kinds[depth].order or (lambda value: value)
    low, high = sorted([one[depth], other[depth]], key=order)
    assume(sample.template.first_of(given, low) != "" and sample.template.last_of(given, high) != "")
    condition = TemplateAttribute("sk", sample.template).between(given, low, high)
    for row in rows:
        expected = row[:depth] == given and order(low) <= order(row[depth]) <= order(high)
        assert selects(condition, sample.template.build(row)) == expected


@given(ranges)
def test_before_and_after_exclude_their_limit(
    drawn: Range,
) -> None:
    sample, depth, rows, limits, _ = drawn
    given, rows = rows_of(sample, depth, rows, limits)
    limit = limits[depth]
    order = sample.kinds[depth].order or (lambda value: value)
    attribute = TemplateAttribute("sk", sample.template)
    try:
        before, after = attribute.before(given, limit), attribute.after(given, limit)
    except KeyPartError:
        assume(False)
    for row in rows:
        key, there = sample.template.build(row), row[:depth] == given
        assert selects(before, key) == (there and order(row[depth]) < order(limit))
        assert selects(after, key) == (there and order(row[depth]) > order(limit))


@given(text_ranges, st.integers(0, 3))
def test_starting_selects_by_the_beginning(drawn: Range, length: int) -> None:
    sample, depth, rows, limit, _ = drawn
    given, rows = rows_of(sample, depth, rows, limit)
    beginning = limit[depth][:length]
    condition = TemplateAttribute("sk", sample.template).starting(given, beginning)
    for row in rows:
        expected = row[:depth] == given and row[depth].startswith(beginning)
        assert selects(condition, sample.template.build(row)) == expected


# Values of the same types, often the same values: the likeliest way to find two equal keys.
@given(samples, samples, st.data())
def test_templates_that_pass_never_build_the_same_key(one: Sample, other: Sample, data: st.DataObject) -> None:
    assume(not may_collide(one.template, other.template))
    values = data.draw(one.values())
    key = built(one, values)
    assert not other.template.matches(key)
    assert built(other, data.draw(other.values())) != key
