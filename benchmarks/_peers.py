"""The servers that are compared: how to install each, outside Sortkey's environment, and how to start it.

The peers keep their tables in memory, where they are fastest; Sortkey syncs to disk. Dynoxide is in Rust, and is built
by cargo, for minutes, where there is one.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

import sortkey
from tests import dynoxide, maven
from tests.oracle import local

DYNALITE: Final = "4.0.0"
MOTO: Final = "5.2.5"
INSTALL_SECONDS: Final = 300


class Unavailable(Exception):
    """The peer cannot run on this machine; the message gives the reason."""


class ServerDefinition(msgspec.Struct, frozen=True):
    """A server: `install` runs before the measurement, `command` starts it on a port with its own folder."""

    name: str
    install: Callable[[], None]
    command: Callable[[int, Path], list[str]]
    source: Path | None = None
    """Where Python looks for Sortkey first."""
    streams: bool = True
    """Whether its tables may have a stream."""


def cache_folder(name: str) -> Path:
    return maven.cache_folder() / name


def working_folder() -> Path:
    """On the checkout's disk, ignored by git."""
    folder = cache_folder("benchmarks").absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def require(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        raise Unavailable(f"{program} is not installed")
    return found


def install_once(folder: Path, *commands: list[str]) -> None:
    """Runs the commands that fill the folder, unless they have succeeded before."""
    finished = folder / "installed"
    if finished.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for command in commands:
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.CalledProcessError as error:
            last_line = (error.stdout + error.stderr).strip().rpartition("\n")[2]
            raise Unavailable(f"{Path(command[0]).name} failed: {last_line}") from error
        except subprocess.TimeoutExpired as error:
            raise Unavailable(f"{Path(command[0]).name} took more than {INSTALL_SECONDS} s") from error
    finished.touch()


def _compile_sortkey() -> None:
    """Compiles to bytecode, as pip does for the peers; a fresh checkout has none."""
    compileall.compile_dir(Path(sortkey.__file__).parent, quiet=1)


def _sortkey(port: int, folder: Path) -> list[str]:
    return [sys.executable, "-m", "sortkey", "db", "--data", str(folder / "data"), "--port", str(port)]


def _install_dynamodb_local() -> None:
    try:
        local.install()
    except maven.Unavailable as error:
        raise Unavailable(str(error)) from error


def _dynamodb_local(port: int, _: Path) -> list[str]:
    jars = local.install()
    java = ["java", f"-Djava.library.path={jars}", "-cp", f"{jars}/*", local.MAIN_CLASS]
    return [*java, "-inMemory", "-disableTelemetry", "-port", str(port)]


def _install_dynalite() -> None:
    require("node")
    folder = cache_folder(f"dynalite-{DYNALITE}")
    npm = [require("npm"), "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder)]
    install_once(folder, [*npm, f"dynalite@{DYNALITE}"])


def _dynalite(port: int, _: Path) -> list[str]:
    program = cache_folder(f"dynalite-{DYNALITE}") / "node_modules" / ".bin" / "dynalite"
    return [str(program), "--host", "127.0.0.1", "--port", str(port), "--createTableMs", "0"]


def _install_dynoxide() -> None:
    try:
        dynoxide.build(optimised=True)
    except maven.Unavailable as error:
        raise Unavailable(str(error)) from error


def _dynoxide(port: int, _: Path) -> list[str]:
    return [str(dynoxide.program(optimised=True)), "serve", "--host", "127.0.0.1", "--port", str(port)]


def _install_moto() -> None:
    folder = cache_folder(f"moto-{MOTO}")
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    install_once(folder, [sys.executable, "-m", "venv", str(folder)], [*pip, f"moto[server]=={MOTO}"])


def _moto(port: int, _: Path) -> list[str]:
    program = cache_folder(f"moto-{MOTO}") / "bin" / "moto_server"
    return [str(program), "--host", "127.0.0.1", "--port", str(port)]


SORTKEY: Final = ServerDefinition("Sortkey", _compile_sortkey, _sortkey)
PEERS: Final = (
    ServerDefinition("DynamoDB Local", _install_dynamodb_local, _dynamodb_local),
    ServerDefinition("Dynoxide", _install_dynoxide, _dynoxide),
    ServerDefinition("dynalite", _install_dynalite, _dynalite, streams=False),
    ServerDefinition("moto server", _install_moto, _moto),
)


def environment(definition: ServerDefinition) -> dict[str, str]:
    """Without variables that would make a peer look elsewhere for credentials or a region."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    if definition.source is not None:
        kept["PYTHONPATH"] = str(definition.source)
    return kept | {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
