"""The tests that the benchmark times pass in the process and on our endpoint."""

from __future__ import annotations

import pytest

from benchmarks import _boto3_tests
from benchmarks._boto3_tests import TESTS
from benchmarks.testing import run_tests


@pytest.fixture(autouse=True)
def configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")


@pytest.mark.slow
@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.__name__)
def test_it_passes_in_the_process(test: _boto3_tests.Test) -> None:
    with _boto3_tests.in_process() as aws:
        test(aws)


@pytest.mark.slow
def test_all_pass_on_our_endpoint(our_endpoint: str) -> None:
    assert set(run_tests("endpoint", our_endpoint).seconds) == {test.__name__ for test in TESTS}


# A way that fails must not be timed.
@pytest.mark.slow
def test_a_failing_test_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="a test failed"):
        run_tests("local", "an argument that it does not take")
