from __future__ import annotations

import resource

import pytest

from sortkey.clock import ManualClock
from sortkey.diagnosis import machine
from sortkey.diagnosis.finding import Finding, Status
from sortkey.diagnosis.machine import ClockWatch
from sortkey.extras import EXTRAS
from sortkey.http import server

GIB = 1 << 30
UNLIMITED = resource.RLIM_INFINITY


def status(finding: Finding) -> str:
    """What does not work must come with advice."""
    assert finding.status is Status.OK or finding.advice
    return finding.status.value


@pytest.mark.parametrize(
    ("version", "implementation", "expected"),
    [
        ((3, 10), "CPython", "fail"),
        ((3, 11), "CPython", "ok"),
        ((3, 14), "CPython", "ok"),
        ((3, 15), "CPython", "warn"),
        ((3, 11), "PyPy", "warn"),
    ],
)
def test_versions_of_python(version: tuple[int, int], implementation: str, expected: str) -> None:
    assert status(machine.examine_python(version, implementation)) == expected


@pytest.mark.parametrize(
    ("arguments", "is_debug", "expected"),
    [
        ("'--enable-optimizations' '--with-lto'", False, "ok"),
        ("'--prefix=/usr/local'", False, "warn"),
        ("'--enable-optimizations'", True, "warn"),
        (None, False, "ok"),
    ],
)
def test_builds_of_python(arguments: str | None, is_debug: bool, expected: str) -> None:
    assert status(machine.examine_build(arguments, is_debug)) == expected


def test_an_extra_may_be_missing_but_not_in_part() -> None:
    installed = {"httptools": "0.7.1", "isal": "1.8.0", "uvloop": "0.22.1", "rich": "14.0"}
    assert machine.examine_extra("endpoint", installed.get).found == "httptools 0.7.1, isal 1.8.0, uvloop 0.22.1"
    kafka = machine.examine_extra("kafka", installed.get)
    assert (status(kafka), kafka.advice) == ("ok", "if you need it, run: pip install 'sortkey[kafka]'")
    server_extra = machine.examine_extra("server", installed.get)
    assert status(server_extra) == "warn"
    assert "not installed: litestar, tzdata" in server_extra.found


def test_the_library_alone_is_enough() -> None:
    versions = dict.fromkeys(machine.LIBRARY, "1.0")
    extras = [finding for finding in machine.examine_machine(versions.get) if finding.subject.startswith("extra ")]
    assert [finding.status for finding in extras] == [Status.OK] * len(EXTRAS)


def test_a_package_of_the_library_is_missing() -> None:
    found = machine.examine_library({"sortkey": "1.0"}.get)
    assert status(found) == "warn"
    assert "lmdb" in found.found


def test_the_descriptors_are_those_that_a_server_uses() -> None:
    assert machine.DESCRIPTORS == server.CONNECTIONS + server.OTHER_FILES


# A server raises the soft limit itself.
@pytest.mark.parametrize(
    ("soft", "hard", "expected"),
    [
        (1024, 20_000, "ok"),
        (1024, UNLIMITED, "ok"),
        (UNLIMITED, UNLIMITED, "ok"),
        (1024, 4096, "warn"),
        (64, 128, "fail"),
    ],
)
def test_limits_of_descriptors(soft: int, hard: int, expected: str) -> None:
    assert status(machine.examine_descriptors(soft, hard)) == expected


@pytest.mark.parametrize(("limit", "expected"), [(UNLIMITED, "ok"), (1 << 45, "ok"), (8 * GIB, "warn"), (GIB, "fail")])
def test_limits_of_address_space(limit: int, expected: str) -> None:
    assert status(machine.examine_address_space(limit)) == expected


@pytest.mark.parametrize(("limit", "expected"), [(UNLIMITED, "ok"), (8 * GIB, "warn")])
def test_limits_of_file_size(limit: int, expected: str) -> None:
    assert status(machine.examine_file_size(limit)) == expected


@pytest.mark.parametrize(("elapsed", "expected"), [(3.0, "ok"), (3.05, "ok"), (63.0, "warn"), (-57.0, "warn")])
def test_a_clock_that_is_set_meanwhile(elapsed: float, expected: str) -> None:
    clock, readings = ManualClock(), iter([100.0, 103.0])
    watch = ClockWatch(clock, lambda: next(readings))
    clock.advance(elapsed)
    assert status(watch.finding()) == expected
