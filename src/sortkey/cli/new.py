"""`sortkey new`: a small project with a service of one's own, which runs and passes its tests.

The files of `new_project/` are its templates: `$name` is the service, `$package` the package that it is imported as.
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from string import Template
from typing import Final

from sortkey.cli.arguments import Parser, print_error
from sortkey.cli.services import registered_names

LONGEST: Final = 40
_NAME: Final = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_SUFFIX: Final = ".txt"
"""Of the templates: tools would take them for code."""
_RENAMED: Final = {"gitignore": ".gitignore"}


class BadName(Exception):
    """No project can have this name; the message says why."""


def add_arguments(command: Parser) -> None:
    command.add_argument("name", metavar="NAME", help="of the service, and of the folder; for example notes")


def run(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.name)
    try:
        check_name(arguments.name)
        if folder.exists():
            return print_error("new", f"there is a {folder} in this folder already; nothing was written")
        write_project(arguments.name, folder)
    except BadName as error:
        return print_error("new", str(error))
    except OSError as error:
        return print_error("new", f"cannot write {error.filename or folder}: {error.strerror}")
    sys.stdout.write(
        f"wrote {folder}/, a project with the service {arguments.name}. Next:\n\n"
        f"    cd {folder}\n"
        "    pip install -e '.[test]'\n"
        "    python -m pytest\n"
        f"    sortkey serve {arguments.name}\n"
    )
    return 0


def check_name(name: str) -> None:
    """Raises BadName for one that cannot be that of a package, a table and a route."""
    package = _package(name)
    if not _NAME.fullmatch(name) or not 3 <= len(name) <= LONGEST:
        raise BadName(
            f"{name!r} is not a name: use 3 to {LONGEST} lower-case letters and digits, with - or _ between words"
        )
    if keyword.iskeyword(package) or package in sys.stdlib_module_names or package == "tests":
        raise BadName(f"{name!r} means something else in Python; choose another name")
    if name in registered_names():
        raise BadName(f"there is a service {name!r} already; choose another name")
    if find_spec(package) is not None:
        raise BadName(f"there is a package {package!r} already; choose another name")


def write_project(name: str, folder: Path) -> None:
    """Writes the project to a new folder. Raises OSError."""
    words = {
        "name": name,
        "package": _package(name),
        "Class": "".join(word.capitalize() for word in re.split("[-_]", name)),
        "CONSTANT": _package(name).upper(),
    }
    folder.mkdir()
    for path, text in _templates(files("sortkey.cli").joinpath("new_project"), PurePosixPath()):
        file = folder / _file(path, words)
        file.parent.mkdir(exist_ok=True)
        file.write_text(Template(text).substitute(words), encoding="utf-8")


def _package(name: str) -> str:
    return name.replace("-", "_")


def _file(template: PurePosixPath, words: Mapping[str, str]) -> str:
    parts = [part.removesuffix(_SUFFIX).replace("package", words["package"]) for part in template.parts]
    return "/".join(_RENAMED.get(part, part) for part in parts)


def _templates(folder: Traversable, inside: PurePosixPath) -> Iterator[tuple[PurePosixPath, str]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _templates(each, inside / each.name)
        elif each.name.endswith(_SUFFIX):
            yield inside / each.name, each.read_text(encoding="utf-8")
