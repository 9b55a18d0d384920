"""Whether this machine is fit: its Python, the installed packages, the limits of its processes, its clock."""

from __future__ import annotations

import platform
import resource
import sys
import sysconfig
import time
from collections.abc import Callable
from importlib import metadata
from typing import Final

from sortkey.clock import Clock, monotonic
from sortkey.diagnosis.finding import Finding, bytes_text, fail, ok, seconds_text, warn
from sortkey.extras import EXTRAS
from sortkey.storage.environment import HEAP_BYTES, MAP_BYTES, SMALLEST_MAP_BYTES

OLDEST_PYTHON: Final = (3, 11)
NEWEST_PYTHON: Final = (3, 14)
LIBRARY: Final = ("sortkey", "botocore", "lmdb", "msgspec", "orjson", "python-dateutil", "urllib3")
DESCRIPTORS: Final = 10_064
"""What a server uses at most: 10,000 connections and its own files."""
FEWEST_DESCRIPTORS: Final = 256
CLOCK_STEP_SECONDS: Final = 0.1

Versions = Callable[[str], str | None]
"""The installed version of a package, or None."""


def installed_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def examine_machine(versions: Versions = installed_version) -> list[Finding]:
    return [
        examine_python(sys.version_info[:2], platform.python_implementation()),
        examine_build(sysconfig.get_config_var("CONFIG_ARGS"), bool(sysconfig.get_config_var("Py_DEBUG"))),
        examine_library(versions),
        *(examine_extra(extra, versions) for extra in EXTRAS),
        examine_descriptors(*resource.getrlimit(resource.RLIMIT_NOFILE)),
        examine_address_space(resource.getrlimit(resource.RLIMIT_AS)[0]),
        examine_file_size(resource.getrlimit(resource.RLIMIT_FSIZE)[0]),
    ]


def examine_python(version: tuple[int, int], implementation: str) -> Finding:
    found = f"{implementation} {platform.python_version()}, {platform.system()} {platform.release()}"
    advice = "Sortkey is tested with CPython 3.11 to 3.14: use one of them"
    if version < OLDEST_PYTHON:
        return fail("python", found, advice)
    if implementation != "CPython" or version > NEWEST_PYTHON:
        return warn("python", found, advice)
    return ok("python", found)


def examine_build(configure_arguments: str | None, is_debug: bool) -> Finding:
    """How the interpreter was compiled. The quarter is measured in docs/internals/benchmarks.md."""
    advice = (
        "use a distribution's Python, or build with PYTHON_CONFIGURE_OPTS='--enable-optimizations --with-lto' "
        "pyenv install"
    )
    if is_debug:
        return warn("interpreter", "a debug build: several times slower", advice)
    if configure_arguments is None:
        return ok("interpreter", "its build options are unknown")
    if "--enable-optimizations" not in configure_arguments:
        return warn("interpreter", "built without optimisation: about a quarter fewer requests a second", advice)
    return ok("interpreter", "built with optimisation")


def examine_library(versions: Versions) -> Finding:
    found = {package: versions(package) for package in LIBRARY}
    missing = [package for package, version in found.items() if version is None]
    text = ", ".join(f"{package} {version}" for package, version in found.items() if version is not None)
    if missing:
        return warn("library", f"{text}; not installed: {', '.join(missing)}", "run: pip install sortkey")
    return ok("library", text)


def examine_extra(extra: str, versions: Versions) -> Finding:
    """An extra that is not installed is a choice; one that is installed in part is a mistake."""
    found = {package: versions(package) for package in EXTRAS[extra]}
    there = ", ".join(f"{package} {version}" for package, version in found.items() if version is not None)
    missing = ", ".join(package for package, version in found.items() if version is None)
    subject, install = f"extra {extra}", f"run: pip install 'sortkey[{extra}]'"
    if not missing:
        return ok(subject, there)
    if there:
        return warn(subject, f"{there}; not installed: {missing}", install)
    return ok(subject, "not installed", f"if you need it, {install}")


def examine_descriptors(soft: int, hard: int) -> Finding:
    """The servers raise the soft limit to the hard one where they need to."""
    allowed = max(soft, hard) if resource.RLIM_INFINITY not in (soft, hard) else resource.RLIM_INFINITY
    if allowed == resource.RLIM_INFINITY or allowed >= DESCRIPTORS:
        shown = "unlimited" if allowed == resource.RLIM_INFINITY else f"{allowed:,}"
        return ok("descriptors", f"{shown}; a server uses up to {DESCRIPTORS:,}")
    found = f"{allowed:,}: a server takes {max(allowed - 64, 0):,} connections, not 10,000"
    advice = f"raise it with ulimit -n {DESCRIPTORS} or systemd's LimitNOFILE={DESCRIPTORS}"
    judge = fail if allowed < FEWEST_DESCRIPTORS else warn
    return judge("descriptors", found, advice, descriptors=allowed)


def examine_address_space(limit: int) -> Finding:
    if limit == resource.RLIM_INFINITY:
        return ok("address space", "unlimited")
    advice = "a data folder is mapped whole: lift the limit with ulimit -v unlimited or systemd's LimitAS=infinity"
    found = f"limited to {bytes_text(limit)}"
    if limit <= SMALLEST_MAP_BYTES + HEAP_BYTES:
        return fail("address space", f"{found}: too small to serve a data folder", advice, bytes=limit)
    if limit < MAP_BYTES:
        return warn("address space", f"{found}: a data folder cannot grow beyond it", advice, bytes=limit)
    return ok("address space", found)


def examine_file_size(limit: int) -> Finding:
    if limit == resource.RLIM_INFINITY:
        return ok("file size", "unlimited")
    found = f"limited to {bytes_text(limit)}: a data folder's file cannot grow beyond it"
    return warn("file size", found, "lift the limit: ulimit -f unlimited, or LimitFSIZE=infinity", bytes=limit)


class ClockWatch:
    """Compares the system's clock with the monotonic clock while other things are examined."""

    def __init__(self, clock: Clock, steady: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._steady = steady
        self._began = clock.now(), steady()

    def finding(self) -> Finding:
        now, elapsed = self._clock.now(), self._steady() - self._began[1]
        step = now - self._began[0] - elapsed
        found = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        if abs(step) > CLOCK_STEP_SECONDS:
            return warn(
                "clock",
                f"{found}; it was set by {seconds_text(abs(step))} during this examination",
                "let one service keep the time, by slewing (chrony, systemd-timesyncd): expiry and signatures use it",
                step=step,
            )
        return ok("clock", f"{found}, steady")
