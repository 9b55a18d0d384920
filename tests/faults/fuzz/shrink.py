"""Makes a failing case smaller while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, TypeVar

from tests.faults.fuzz.case import Case, Message, Stream
from tests.faults.fuzz.json_text import Json, Raw, clone, encode, spots

Element = TypeVar("Element")

ATTEMPTS: Final = 1000
SIMPLEST: Final[tuple[Json, ...]] = ("", 0, {}, [])


def shrink(case: Case, fails: Callable[[Case], bool], attempts: int = ATTEMPTS) -> Case:
    """Takes every smaller case that still fails, and goes over them again until none does."""
    at, shrunk = 0, False
    for _ in range(attempts):
        smaller = next(islice(_smaller(case), at, None), None)
        if smaller is None:
            if not shrunk:
                break
            at, shrunk = 0, False
        elif fails(smaller):
            # The rest has moved to this place.
            case, shrunk = smaller, True
        else:
            at += 1
    return case


def shrink_sequence(cases: Sequence[Element], fails: Callable[[Sequence[Element]], bool]) -> Sequence[Element]:
    """Drops parts of a sequence, halves first and then ever smaller ones, while the rest still fails."""
    size = len(cases) // 2
    while size:
        start = 0
        while start < len(cases):
            rest = [*cases[:start], *cases[start + size :]]
            if rest and fails(rest):
                cases = rest
            else:
                start += size
        size //= 2
    return cases


def _smaller(case: Case) -> Iterator[Case]:
    if isinstance(case, Stream):
        for pieces in _smaller_pieces(case.pieces):
            yield replace(case, pieces=pieces)
        return
    if case.forged or case.genuine:
        # Any change would invalidate the signature.
        return
    for at in range(1, len(case.headers)):
        yield replace(case, headers=case.headers[:at] + case.headers[at + 1 :])
    yield from _smaller_messages(case)


def _smaller_messages(case: Message) -> Iterator[Message]:
    if isinstance(case.body, bytes):
        for data in _shorter(case.body):
            yield case.with_body(data)
        return
    for tree in _smaller_trees(case.body):
        yield case.with_body(tree)


def _smaller_trees(tree: Json) -> Iterator[Json]:
    """Without half of a list; without one part; then with a simpler value in one place."""
    count = sum(1 for _ in spots(tree))
    for at in range(count):
        value = _spot(tree, at).get()
        if isinstance(value, list) and len(value) > 3:
            half = len(value) // 2
            for rest in (value[:half], value[half:]):
                changed = clone(tree)
                _spot(changed, at).put(clone(rest))
                yield changed
    for at in range(count):
        changed = clone(tree)
        spot = _spot(changed, at)
        del spot.container[spot.key]
        yield changed
    for at in range(count):
        for value in _simpler(_spot(tree, at).get()):
            changed = clone(tree)
            _spot(changed, at).put(value)
            yield changed


def _spot(tree: Json, at: int) -> Json:
    for number, spot in enumerate(spots(tree)):
        if number == at:
            return spot
    raise IndexError(at)


def _simpler(value: Json) -> Iterator[Json]:
    size = len(encode(value))
    yield from (simple for simple in SIMPLEST if len(encode(simple)) < size)
    if isinstance(value, str):
        yield from _shorter(value)
    elif isinstance(value, Raw):
        yield from map(Raw, _shorter(value.text))


Text = TypeVar("Text", str, bytes)


def _shorter(text: Text) -> Iterator[Text]:
    """Without parts of it, the largest first."""
    size = len(text) // 2
    while size:
        for start in range(0, len(text), size):
            yield text[:start] + text[start + size :]
        size //= 2
        if len(text) // max(size, 1) > 64:
            return


def _smaller_pieces(pieces: tuple[bytes, ...]) -> Iterator[tuple[bytes, ...]]:
    if len(pieces) > 1:
        yield (b"".join(pieces),)
    for at in range(len(pieces)):
        if len(pieces) > 1:
            yield pieces[:at] + pieces[at + 1 :]
    for at, piece in enumerate(pieces):
        for shorter in _shorter(piece):
            yield (*pieces[:at], shorter, *pieces[at + 1 :])
