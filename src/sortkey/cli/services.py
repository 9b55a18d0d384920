"""The services that commands run: found by their names, with their settings.

A service is named as it is registered under the entry point group `sortkey.services`, or as `package.module:NAME`, from
the current folder or installed. Only the definition that is needed is imported.
"""

from __future__ import annotations

import tomllib
import traceback
from collections.abc import Callable, Collection, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sortkey.cli.arguments import NoModule, Parser, import_user_module
from sortkey.client.stores import parse
from sortkey.model.errors import suggestion
from sortkey.services.interface import BadSettings, ServiceDefinition

GROUP: Final = "sortkey.services"
PLACE: Final = "package.module:NAME"
"""How a service is named that is not registered."""


def add_service_argument(command: Parser, **options: Any) -> None:
    command.add_argument("service", metavar="SERVICE", help=service_help(), **options)


def service_help() -> str:
    return f"{', '.join([*registered_names(), ''])}or {PLACE}"


def registered_names() -> list[str]:
    return sorted(entry_points(group=GROUP).names)


def service_named(text: str) -> ServiceDefinition:
    """The definition of a registered name, or at `package.module:NAME`. Raises BadSettings."""
    if ":" in text:
        return _definition(text, text, import_user_module)
    entries = entry_points(group=GROUP)
    names = sorted(entries.names)
    if text not in names:
        there_are = f"there are {', '.join(names)}" if names else "none is registered"
        near = suggestion(text, names)
        hint = near if "did you mean" in near else f"; name one that is not registered as {PLACE}"
        raise BadSettings(f"there is no service {text!r}; {there_are}{hint}")
    return _registered(text, entries)


def service_with(text: str, has: Callable[[ServiceDefinition], object], lacks: str) -> ServiceDefinition:
    """The named service, if it has what the command needs. `lacks` is the error of one that has not: {name} is its
    name, and {others} are the registered ones that have it. Raises BadSettings."""
    definition = service_named(text)
    if not has(definition):
        others = ", ".join(each.name for each in registered_services(lambda _: None) if has(each)) or "none"
        raise BadSettings(lacks.format(name=definition.name, others=others))
    return definition


def registered_services(report: Callable[[str], None]) -> list[ServiceDefinition]:
    """All registered services. One that cannot be loaded is left out, and reported by a line."""
    found = []
    entries = entry_points(group=GROUP)
    for name in sorted(entries.names):
        try:
            found.append(_registered(name, entries))
        except BadSettings as error:
            report(str(error))
    return found


def _registered(name: str, entries: EntryPoints) -> ServiceDefinition:
    named = entries.select(name=name)
    if len({entry.value for entry in named}) > 1:
        places = " and ".join(f"{entry.value} of {_distribution(entry)}" for entry in named)
        raise BadSettings(f"two packages register a service {name!r}: {places}; name one as {PLACE}")
    (entry, *_) = named
    what = f"the service {name!r} of {_distribution(entry)}"
    definition = _definition(entry.value, what, import_module)
    if definition.name != name:
        raise BadSettings(f"{what} is called {definition.name!r} in its definition; register it under that name")
    return definition


def _distribution(entry: EntryPoint) -> str:
    return "an unknown package" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _definition(place: str, what: str, import_: Callable[[str], ModuleType]) -> ServiceDefinition:
    """What a module has under a name. `what` begins the line of an error."""
    module_name, _, name = place.replace(" ", "").partition(":")
    if not module_name or not name:
        raise BadSettings(f"{what} cannot be loaded: {place!r} is not {PLACE}")
    try:
        module = import_(module_name)
    except (ImportError, NoModule) as error:
        raise BadSettings(f"{what} cannot be loaded: {error}") from None
    except Exception as error:  # the code of others, which may raise anything
        raise BadSettings(f"{what} cannot be loaded: {_where(error)}") from error
    definitions = {key: value for key, value in vars(module).items() if isinstance(value, ServiceDefinition)}
    if name in definitions:
        return definitions[name]
    there = f"its definitions: {', '.join(definitions)}" if definitions else "it has no ServiceDefinition"
    if not hasattr(module, name):
        raise BadSettings(f"{what} cannot be loaded: module {module_name!r} has no {name!r}; {there}")
    raise BadSettings(f"{what} cannot be loaded: {name} is not a ServiceDefinition; {there}")


def _where(error: Exception) -> str:
    (*_, frame) = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__} in {frame.filename}, line {frame.lineno}: {' '.join(str(error).split())}"


def settings_of(path: Path | None, service: str, beside: Collection[str] = ()) -> Mapping[str, Any]:
    """A service's table in the file that `--config` names; without one, empty, which means the defaults.

        [boosts]
        design = "v2"

        [boosts.tenants.de]
        timezone = "Europe/Berlin"

    `beside` are services that the command runs, too. Each service defines what its table may hold. Raises BadSettings.
    """
    if path is None:
        return {}
    tables = _tables(path)
    # A mistyped table would be ignored silently.
    names = {service, *beside, *registered_names()}
    unknown = sorted(tables.keys() - names)
    if unknown:
        known = ", ".join(f"[{name}]" for name in sorted(names))
        raise BadSettings(f"{path}: there is no service {unknown[0]!r}; the known tables are {known}")
    settings = tables.get(service, {})
    if not isinstance(settings, dict):
        raise BadSettings(f"{path}: {service!r} must be a table, [{service}], not {type(settings).__name__}")
    return settings


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadSettings(f"cannot read the configuration in {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadSettings(f"{path} is not UTF-8: {error.reason} at byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{path} is not TOML: {error}") from error


def existing_store(url: str, otherwise: str) -> str:
    """As `shared_store`. Rejects a folder without a store, too, which opening it would create."""
    shared = shared_store(url, otherwise)
    try:
        parse(url).require_existing()
    except ValueError as error:
        raise BadSettings(str(error)) from error
    return shared


def shared_store(url: str, otherwise: str) -> str:
    """The store's URL, absolute. Rejects a store in memory: `otherwise` says what would become of it."""
    try:
        store = parse(url)
    except ValueError as error:
        raise BadSettings(str(error)) from error
    if store.path is None and store.remote is None:
        raise BadSettings(f"--store {url} {otherwise}; use a folder or a URL")
    if store.path is None:
        return url
    _, mark, options = url.partition("?")
    return f"file:{store.path.absolute()}{mark}{options}"
