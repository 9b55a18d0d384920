"""Items are registers that do one call at a time, whichever processes call, and whichever of them are killed.

`make crash` makes 2,000 histories. The other tests make sure that a history can be found to be wrong.
"""

from __future__ import annotations

import math
from itertools import permutations
from random import Random

import pytest

from tests.faults.linearizability.campaign import FAULTS, NotLinearizable, check
from tests.faults.linearizability.register import Answer, Call, Kind, Operation, Value, order_of

HISTORIES = 40
SEED = 20_261_118


def operation(began: float, ended: float, call: Call, answer: Answer | None) -> Operation:
    return Operation("client", call, began, ended, answer)


def put(began: float, ended: float, value: int, old: Value = None) -> Operation:
    return operation(began, ended, Call("put", value), Answer(True, old))


def get(began: float, ended: float, value: Value) -> Operation:
    return operation(began, ended, Call("get"), Answer(False, value))


def put_if(began: float, ended: float, expected: Value, value: int, answer: Answer) -> Operation:
    return operation(began, ended, Call("put if", value, expected), answer)


def add(began: float, ended: float, new: int) -> Operation:
    return operation(began, ended, Call("add", 1), Answer(True, new))


def lost(began: float, call: Call) -> Operation:
    return Operation("killed", call, began)


LINEARIZABLE = {
    "nothing": [],
    "one after another": [put(0, 1, 1), get(2, 3, 1), put(4, 5, 2, old=1), get(6, 7, 2)],
    "a read beside a write sees the old value or the new one": [put(0, 9, 1), get(1, 2, None), get(3, 4, 1)],
    "overlapping writes in the other order": [put(0, 9, 1, old=2), put(1, 8, 2), get(10, 11, 1)],
    "one of two conditional puts": [
        put_if(0, 9, None, 1, Answer(False, 2)),
        put_if(1, 8, None, 2, Answer(True, None)),
    ],
    "counts": [add(0, 9, 2), add(1, 8, 1), add(2, 7, 3)],
    "a lost write that happened": [lost(0, Call("put", 1)), get(1, 2, 1)],
    "a lost write that never happened": [lost(0, Call("put", 1)), get(1, 2, None), get(3, 4, None)],
    "a lost write that happened late": [lost(0, Call("put", 1)), get(1, 2, None), get(3, 4, 1)],
    "a lost delete between two reads": [put(0, 1, 1), lost(2, Call("delete")), get(3, 4, 1), get(5, 6, None)],
}
NOT_LINEARIZABLE = {
    "a stale read": [put(0, 1, 1), put(2, 3, 2, old=1), get(4, 5, 1)],
    "a value that nobody wrote": [get(0, 1, 7)],
    "a lost update": [add(0, 9, 1), add(1, 8, 1)],
    "an acknowledged write that is gone": [put(0, 1, 1), get(2, 3, None)],
    "two reads that go back in time": [put(0, 9, 1), get(1, 2, 1), get(3, 4, None)],
    "both of two conditional puts": [
        put_if(0, 9, None, 1, Answer(True, None)),
        put_if(1, 8, None, 2, Answer(True, None)),
    ],
    "a condition that failed on a value that was never there": [put_if(0, 1, None, 1, Answer(False, 5))],
    "a delete that saw what was replaced before": [
        put(0, 1, 1),
        put(2, 3, 2, old=1),
        operation(4, 5, Call("delete"), Answer(True, 1)),
    ],
    "a lost write that happened before it began": [get(0, 1, 1), lost(2, Call("put", 1))],
    "a lost write that happened twice": [
        lost(0, Call("put", 1)),
        get(1, 2, 1),
        put(3, 4, 2, old=1),
        get(5, 6, 1),
    ],
}


@pytest.mark.parametrize("history", LINEARIZABLE.values(), ids=LINEARIZABLE)
def test_histories_that_are_linearizable(history: list[Operation]) -> None:
    assert order_of(history) is not None


@pytest.mark.parametrize("history", NOT_LINEARIZABLE.values(), ids=NOT_LINEARIZABLE)
def test_histories_that_are_not(history: list[Operation]) -> None:
    assert order_of(history) is None


def is_an_order(order: tuple[Operation, ...]) -> bool:
    """By the definition: no call is before one that was answered before it began, and a variable gives the answers."""
    value: Value = None
    latest = -math.inf
    for each in order:
        if each.ended < latest:
            return False
        latest = max(latest, each.began)
        answer, value = each.call.applied(value)
        if each.answer not in (None, answer):
            return False
    return True


def by_definition(history: list[Operation]) -> bool:
    answered = [each for each in history if each.answer is not None]
    lost = [each for each in history if each.answer is None]
    for number in range(len(lost) + 1):
        for happened in permutations(lost, number):
            if any(is_an_order(order) for order in permutations([*answered, *happened])):
                return True
    return False


def random_history(random: Random) -> list[Operation]:
    kinds: list[Kind] = ["get", "get", "put", "put if", "add", "delete"]
    values: list[Value] = [None, 1, 2]
    history = []
    for _ in range(5):
        began = random.randrange(10)
        call = Call(random.choice(kinds), random.choice((1, 2)), random.choice(values))
        answer, _ = call.applied(random.choice(values))
        if random.random() < 0.2:
            history.append(lost(began, call))
        else:
            history.append(operation(began, began + 0.5 + random.randrange(6), call, answer))
    return history


def test_the_search_agrees_with_the_definition() -> None:
    random = Random(SEED)
    found = []
    for _ in range(400):
        history = random_history(random)
        found.append(order_of(history) is not None)
        assert found[-1] == by_definition(history), history
    assert 40 < sum(found) < 360


def test_processes_that_share_a_folder() -> None:
    result = check(SEED, HISTORIES)
    assert result.histories == HISTORIES
    assert result.faults.keys() == FAULTS.keys()
    # The faults do not miss their subject.
    assert result.answered > 10 * HISTORIES
    assert result.unknown > 0


@pytest.mark.parametrize("flaw", ["stale reads", "lost writes"])
def test_clients_with_a_flaw_are_found_out(flaw: str) -> None:
    with pytest.raises(NotLinearizable, match="history"):
        check(SEED, HISTORIES, flaw=flaw)
