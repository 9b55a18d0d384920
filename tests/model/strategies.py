"""Random key parts of every type, and random templates made of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple
from uuid import UUID

from hypothesis import strategies as st

from sortkey.model.fields.annotation import Annotation
from sortkey.model.keys.template import Template, parse_template


class Size(Enum):
    SMALL = "S#"
    LARGE = "L$"
    OTHER = ""


# The characters around the separator and the escape are where an encoding would go wrong.
texts = st.text(
    st.sampled_from('\0\x1f !"#$%&-09AZaz~é\ud7ff\ue000\U0010fffe')
    | st.characters(exclude_categories=["Cs"], max_codepoint=0x10FFFE),
    max_size=6,
)
integers = st.integers(-200, 200) | st.integers() | st.integers(-(10**40), 10**40)
decimals = st.decimals(allow_nan=False, allow_infinity=False) | st.decimals(-100, 100, places=2)
zones = st.sampled_from([UTC, timezone(timedelta(hours=2)), timezone(timedelta(hours=-9, minutes=-30))])
instants = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=zones)  # noqa: DTZ001


milliseconds = st.datetimes(datetime(2002, 1, 1), datetime(2280, 1, 1), timezones=zones).map(  # noqa: DTZ001
    lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000)
)


class Kind(NamedTuple):
    base: Any
    spec: str
    values: st.SearchStrategy[Any]
    delimited: bool
    order: Any = None
    """What the value sorts by, where it has no order of its own."""
    ordered: bool = True
    """Whether its keys sort by its values, so that it can have a range."""
    descending: bool = False
    """Whether the greatest value, a number, comes first."""


FIELDS = {
    "text": Kind(str, "", texts, delimited=False),
    "bytes": Kind(bytes, "", st.binary(max_size=5), delimited=False),
    "int": Kind(int, "", integers, delimited=True),
    "padded": Kind(int, "04", st.integers(0, 9999), delimited=True),
    "decimal": Kind(Decimal, "", decimals, delimited=True),
    "instant": Kind(datetime, "", instants, delimited=True),
    "duration": Kind(timedelta, "", st.timedeltas(), delimited=True),
    "date": Kind(date, "", st.dates(), delimited=True),
    "uuid": Kind(UUID, "", st.uuids(), delimited=True),
    "raw": Kind(str, "raw", texts.map(lambda text: text.replace("#", "")), delimited=False, ordered=False),
    "seconds": Kind(datetime, "%Y-%m-%dT%H:%M:%SZ", instants.map(lambda time: time.replace(microsecond=0)), True),
    "milliseconds": Kind(datetime, "%s%L", milliseconds, delimited=True),
    "compact": Kind(date, "%Y%m%d", st.dates(), delimited=True),
    "upper": Kind(UUID, "upper", st.uuids(), delimited=True),
    "unpadded": Kind(int, "d", integers, delimited=False, order=str, ordered=False),
    "descending": Kind(int, "desc", integers, delimited=True, descending=True),
    "backward": Kind(date, "%d.%m.%Y", st.dates(), True, order=lambda day: f"{day:%d%m}{day.year:04}", ordered=False),
    "clock": Kind(time, "", st.times(), delimited=True),
    "minutes": Kind(time, "%H:%M", st.times().map(lambda at: at.replace(second=0, microsecond=0)), delimited=True),
    "bool": Kind(bool, "", st.booleans(), delimited=True),
    "enum": Kind(Size, "", st.sampled_from(Size), delimited=False, order=lambda member: member.value),
}


class Sample(NamedTuple):
    """A sort key's template, with what its fields may hold."""

    template: Template
    kinds: tuple[Kind, ...]

    def values(self) -> st.SearchStrategy[list[Any]]:
        return st.tuples(*(kind.values for kind in self.kinds)).map(list)

    def order(self, values: list[Any]) -> list[Any]:
        return [_order(kind, value) for kind, value in zip(self.kinds, values, strict=True)]


def _order(kind: Kind, value: Any) -> Any:
    if kind.descending:
        return -value
    return kind.order(value) if kind.order else value


def _sample(names: list[str], literals: list[str], first: str, tail: str) -> Sample:
    kinds = tuple(FIELDS[name] for name in names)
    text = first
    for index, kind in enumerate(kinds):
        spec = f":{kind.spec}" if kind.spec else ""
        text += f"{{f{index}{spec}}}"
        if index < len(kinds) - 1:
            text += literals[index] if kind.delimited else f"#{literals[index].replace('#', '')}#"
        else:
            text += tail if kind.delimited or not tail else f"#{tail}"
    types = {f"f{index}": Annotation(kind.base, optional=False, inexact=False) for index, kind in enumerate(kinds)}
    return Sample(Template(parse_template(text), types), kinds)


samples = st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=4).flatmap(
    lambda names: st.builds(
        _sample,
        st.just(names),
        st.lists(st.sampled_from(["#", "#DAY#", "-", "#a", " "]), min_size=len(names), max_size=len(names)),
        st.sampled_from(["", "ORDER#", "A-"]),
        st.sampled_from(["", "", "#END", "!"]),
    )
)
