"""What `pip install sortkey` and each extra install: declared is what is imported, and a missing extra is one line."""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from sortkey.cli.main import COMMANDS
from sortkey.diagnosis import machine
from sortkey.extras import EXTRAS as OWN_PACKAGES
from sortkey.extras import PACKAGES, MissingExtra, installed_by
from tests.maven import cache_folder

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]

# Extras that our code imports today.
IN_USE = ("endpoint", "aws", "server", "kafka", "batch", "graphql", "spark", "vector", "zstd", "ion")
# The library that reads Ion has no wheels for newer ones.
HAS_ION = sys.version_info < (3, 14)
# Extras that add no command, and what is imported with them.
WITHOUT_COMMAND = {
    "postgres": ["psycopg"],
    "spark": ["pyspark.sql"],
    "vector": ["sortkey.engine.vectors.vector_memory"],
    "zstd": [] if sys.version_info >= (3, 14) else ["backports.zstd"],
    "ion": ["amazon.ion.simpleion"] if HAS_ION else [],
}
# Published as source only, so its wheel is built here.
BUILT = {"spark"}
# Time zones are data: nothing imports them by name.
DATA = {"tzdata"}

WORKING = {
    "": ["bench", "check", "doctor", "explain", "new", "tables"],
    "aws": [],
    "endpoint": ["db"],
    "server": ["batch", "follow", "serve", "token", "up"],
    "kafka": ["worker"],
    "batch": ["batch"],
    "graphql": [],
}
"""The commands that each extra adds."""
MISSING = {
    "": ["batch", "db", "follow", "serve", "token", "up", "worker"],
    "aws": ["db"],
    "endpoint": ["serve", "worker"],
    "server": ["worker"],
    "kafka": [],
    "batch": ["worker"],
    "graphql": ["worker"],
}
"""Commands that need another extra."""

USE_EMBEDDED = """
import asyncio
import sortkey as sk

class Note(sk.Item, table="notes"):
    owner: str
    key = sk.Key("OWNER#{owner}")

with sk.connect("memory:") as db:
    db.create_tables(Note)
    db.put(Note(owner="ada"))
    assert db.get(Note.key(owner="ada")) == Note(owner="ada")

async def use() -> None:
    async with sk.async_connect("memory:") as db:
        await db.create_tables(Note)

asyncio.run(use())
sk.client("http://127.0.0.1:1").close()
"""
OPEN_REMOTE = "import sortkey as sk; sk.async_client('dynamodb://eu-west-1')"


def declared(extra: str = "") -> set[str]:
    """The distributions that an extra declares, with those of the extras it includes."""
    found: set[str] = set()
    for each in map(Requirement, EXTRAS[extra] if extra else PROJECT["dependencies"]):
        if each.marker is not None and not each.marker.evaluate():
            continue
        if each.name == "sortkey":
            found = found.union(*map(declared, each.extras))
        else:
            found.add(canonicalize_name(each.name))
    return found


# The packages themselves; what newer versions of Python have; what is there already when pydantic asks for a schema;
# what PySpark cannot be without; what a program's tests have that use the plugin; what type checkers alone import.
OURS = {"sortkey", "sortkey_services", "pytest_sortkey"}
NOT_INSTALLED = OURS | {
    "annotationlib",
    "boto3",
    "compression",
    "mypy_boto3_dynamodb",
    "py4j",
    "pydantic_core",
    "pytest",
}


def imported() -> set[str]:
    """The modules of other distributions that the packages import, by an `import` or by name."""
    found: set[str] = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import(names=names):
                    found.update(alias.name for alias in names)
                case ast.ImportFrom(module=str(module)):
                    found.add(module)
                case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(module))]):
                    found.add(module)
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - NOT_INSTALLED


def distributions(modules: set[str]) -> set[str]:
    known = packages_distributions()
    return {canonicalize_name(distribution) for module in modules for distribution in known.get(module, ())}


@pytest.mark.slow
def test_what_is_imported_is_declared() -> None:
    assert distributions(imported()) == declared().union(*map(declared, IN_USE)) - DATA


@pytest.mark.slow
def test_the_error_knows_each_package_that_an_extra_installs() -> None:
    assert distributions(set(PACKAGES)) == set().union(*map(declared, IN_USE)) - declared() - DATA


def test_doctor_shows_the_packages_of_the_library() -> None:
    assert set(machine.LIBRARY) == {"sortkey", *declared()}


def test_the_packages_that_each_extra_adds() -> None:
    added = {extra: {canonicalize_name(Requirement(each).name) for each in EXTRAS[extra]} for extra in IN_USE}
    assert {extra: set(packages) for extra, packages in OWN_PACKAGES.items()} == {
        extra: packages - {"sortkey"} for extra, packages in added.items()
    }


def test_all_includes_every_extra_but_spark() -> None:
    tools = {"all", "spark", "docs", "test", "dev"} | (set() if HAS_ION else {"ion"})
    assert declared("all") == set().union(*map(declared, EXTRAS.keys() - tools))
    assert declared("spark") & declared("all") == set()


# A misspelled import of our own must not look like a missing extra.
def test_only_packages_of_extras_are_reported_as_missing() -> None:
    with pytest.raises(ModuleNotFoundError, match="misspelled") as error, installed_by("server"):
        raise ModuleNotFoundError("No module named 'sortkey.misspelled'", name="sortkey.misspelled")
    assert not isinstance(error.value, MissingExtra)


def run(*command: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(each) for each in command], cwd=folder, capture_output=True, text=True, timeout=600)


def pip(*arguments: str | Path) -> None:
    done = run(sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built of a copy: setuptools would leave its own folder in the checkout."""
    copy, built = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", built, copy)
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def wheels(wheel: Path) -> Path:
    """A folder with a wheel of every package that the extras need, downloaded once: those in use as they are locked."""
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    versions = "\n".join(re.findall(r"^[\w.-]+==[\w.]+(?: ; [^\\\n]+)?", lock, re.MULTILINE))
    extras = ",".join([*IN_USE, *WITHOUT_COMMAND])
    version = hashlib.sha256(f"{sys.version_info[:2]}\n{PROJECT}\n{extras}\n{versions}".encode()).hexdigest()[:16]
    cache = cache_folder() / "wheels"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (cache / version).is_dir():
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                constraints, fetched = Path(folder) / "constraints.txt", Path(folder) / "wheels"
                constraints.write_text(versions)
                wanted = f"{wheel}[{','.join({*IN_USE, *WITHOUT_COMMAND} - BUILT)}]"
                try:
                    pip("download", "--only-binary=:all:", "--constraint", constraints, "--dest", fetched, wanted)
                    for extra in BUILT:
                        pip("wheel", "--wheel-dir", fetched, *EXTRAS[extra])
                except RuntimeError as error:
                    pytest.skip(f"pip could not download the packages: {str(error).splitlines()[-1]}")
                (fetched / wheel.name).unlink()
                fetched.rename(cache / version)
    return cache / version


@pytest.fixture
def programs(extra: str, wheel: Path, wheels: Path, tmp_path: Path) -> Iterator[Path]:
    """The programs of a fresh virtual environment with one extra."""
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv)
    wanted = f"{wheel}[{extra}]" if extra else wheel
    offline = ("--no-index", "--find-links", wheels, "--no-compile")
    pip("--python", venv / "bin" / "python", "install", *offline, wanted)
    yield venv / "bin"
    shutil.rmtree(venv)


@pytest.mark.slow
@pytest.mark.parametrize("extra", WORKING, ids=lambda extra: extra or "library")
def test_an_extra_installs_what_it_runs(programs: Path, extra: str, tmp_path: Path) -> None:
    used = run(programs / "python", "-W", "error", "-c", USE_EMBEDDED, folder=tmp_path)
    assert (used.returncode, used.stderr) == (0, "")
    assert run(programs / "sortkey", "--help").returncode == 0
    for command in WORKING[extra]:
        helped = run(programs / "sortkey", command, "--help", folder=tmp_path)
        assert (helped.returncode, helped.stderr) == (0, "")
    examined = run(programs / "sortkey", "doctor", folder=tmp_path)
    assert (examined.returncode, examined.stderr) == (0, ""), examined.stdout
    for command in MISSING[extra]:
        line = rf"sortkey {command}: [\w-]+ is not installed; run: pip install 'sortkey\[{COMMANDS[command].extra}\]'\n"
        rejected = run(programs / "sortkey", command, "--help", folder=tmp_path)
        assert (rejected.returncode, rejected.stdout) == (2, "")
        assert re.fullmatch(line, rejected.stderr)
    opened = run(programs / "python", "-c", OPEN_REMOTE)
    line = "sortkey.extras.MissingExtra: aiobotocore is not installed; run: pip install 'sortkey[aws]'"
    assert opened.stderr.strip().rpartition("\n")[2] == ("" if extra == "aws" else line)
    if "db" in WORKING[extra]:
        assert_console(programs, tmp_path)
    if "serve" in WORKING[extra]:
        served = run(programs / "sortkey", "serve", "boosts", "--port", "0", "--store", "dynamodb://eu-west-1")
        assert served.stderr == "sortkey serve: aiobotocore is not installed; run: pip install 'sortkey[aws]'\n"


# The endpoint's extra has all that its console needs: no framework, no terminal.
def assert_console(programs: Path, folder: Path) -> None:
    command = [str(programs / "sortkey"), "db", "--memory", "--port", "0"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().removeprefix("ready ").strip()
            with urlopen(Request(url, headers={"Accept": "text/html"}), timeout=60) as page:
                assert b"<title>Sortkey</title>" in page.read()
            assert call_console(url, "about", {})["command"] == "db"
            assert call_console(url, "overview", {})["store"]["kind"] == "memory"
            assert call_console(url, "tables", {}) == {"tables": []}
            source = "class Note(sk.Item, table='notes'):\n    owner: str\n    key = sk.Key('{owner}')"
            assert call_console(url, "design", {"source": source})["problems"] == []
        finally:
            process.terminate()
            assert process.communicate()[1] == ""


def call_console(url: str, name: str, body: object) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    request = Request(f"{url}/console/api/{name}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=60) as answer:
        return dict(json.load(answer))


# As above, without a fresh environment.
@pytest.mark.every_python
@pytest.mark.slow
def test_the_console_of_the_endpoint_imports_what_the_endpoint_has() -> None:
    # Where ZSTD is not installed, imports of such files are rejected.
    modules = sorted(PACKAGES.keys() - {"httptools", "isal", "uvloop", "backports"})
    program = f"""
import sys
import sortkey.server.console.designer.child
import sortkey.server.console.of_endpoint
print(sorted(set({modules}) & set(sys.modules)))
"""
    used = run(sys.executable, "-c", program)
    assert (used.stdout, used.stderr) == ("[]\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("extra", WITHOUT_COMMAND)
def test_an_extra_without_a_command_installs_beside_the_library(programs: Path, extra: str, tmp_path: Path) -> None:
    imports = "\n".join(f"import {module}" for module in ["sortkey", *WITHOUT_COMMAND[extra]])
    used = run(programs / "python", "-c", imports, folder=tmp_path)
    assert (used.returncode, used.stderr) == (0, "")
