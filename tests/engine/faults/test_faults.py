"""The declaration of faults, in code and as text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sortkey as sk


def test_text_and_declaration_say_the_same() -> None:
    assert sk.testing.Faults.parse("throttle=0.01, unprocessed=1,seed=7") == sk.testing.Faults(
        seed=7, throttle=0.01, unprocessed=1
    )
    assert sk.testing.Faults.parse("") == sk.testing.Faults()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("throttel=0.1", "there is no fault 'throttel'; there are seed, throttle, "),
        ("throttle", "throttle has no value: write throttle=VALUE"),
        ("throttle=often", "throttle must be a number, not 'often'"),
        ("throttle=1.5", "throttle must be a probability from 0 to 1, not 1.5"),
        ("throttle=nan", "throttle must be a finite number, not nan"),
        ("throttle=0.1,throttle=0.2", "throttle is given twice"),
        ("seed=1.5", "seed must be a whole number, not '1.5'"),
    ],
)
def test_what_is_wrong_in_a_text_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        sk.testing.Faults.parse(text)


@pytest.mark.parametrize("given", [{"throttle": "0.1"}, {"throttle": True}, {"seed": 0.5}])
def test_values_of_another_type_are_rejected(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=f"{next(iter(given))} must be a "):
        sk.testing.Faults(**given)


# Two faults with the same numbers would come together, always.
def test_each_fault_has_random_numbers_of_its_own() -> None:
    faults = sk.testing.Faults(seed=7)
    drawn = [faults.random(fault).random() for fault in ("throttle", "unprocessed", "throttle")]
    assert drawn[0] == drawn[2] != drawn[1]
    assert sk.testing.Faults(seed=8).random("throttle").random() != drawn[0]


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "dynamodb://eu-west-1"])
def test_a_remote_store_cannot_be_given_faults(url: str) -> None:
    for open_store in (sk.client, sk.async_client, sk.connect):
        with pytest.raises(ValueError, match=r"is not a store in the process.*sortkey db --faults"):
            open_store(url, faults=sk.testing.Faults(throttle=0.1))


def test_faults_are_no_text_in_a_program() -> None:
    given: Any = "throttle=0.1"
    with pytest.raises(TypeError, match=r"faults must be sk\.testing\.Faults, not 'throttle=0\.1'"):
        sk.client("memory:", faults=given)


# All clients of a folder share one engine, and it has these faults or others.
def test_a_folder_is_open_with_one_set_of_faults(tmp_path: Path) -> None:
    with sk.client(tmp_path, faults=sk.testing.Faults(throttle=0.1)):
        sk.client(tmp_path, faults=sk.testing.Faults(throttle=0.1)).close()
        for other in (None, sk.testing.Faults(throttle=0.2)):
            with pytest.raises(ValueError, match=r"is open in this process with Faults.*open it with the same faults"):
                sk.client(tmp_path, faults=other)
    sk.client(tmp_path).close()
