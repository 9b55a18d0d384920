"""The layers: each module imports only from layers below its own. Services import public names only."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import sortkey

SOURCE = Path(__file__).parents[1] / "src"
FRAMEWORK = "sortkey"
SERVICES = "sortkey_services"

# `sk.patterns` and its like.
SK_MODULES = {name for name in sortkey.__all__ if isinstance(getattr(sortkey, name), ModuleType)}

# From the top down; layers on one line are independent of each other.
LAYERS = (
    ("__main__", "lambda_functions"),
    ("cli",),
    ("server",),
    ("diagnosis",),
    ("", "public", "testing"),  # `import sortkey`
    ("graphql",),
    ("services",),
    ("copies",),
    ("feeds",),
    ("patterns", "compat"),
    ("model",),
    ("client",),
    ("wire",),
    ("http",),
    ("engine",),
    ("expressions",),
    ("storage",),
    ("values",),
    ("errors", "limits", "clock", "extras", "late_imports", "object_storage"),
)

# The framework's modules that services may import, besides `import sortkey as sk`: each lists its names in `__all__`.
PUBLIC_MODULES = (
    "sortkey.clock",
    "sortkey.graphql.endpoint",
    "sortkey.graphql.schema",
    "sortkey.object_storage",
    "sortkey.services.pages",
)

DEPTH = {layer: depth for depth, layers in enumerate(LAYERS) for layer in layers}

# Both know only the client interface, so that a model runs on any endpoint and the engine serves any client.
INDEPENDENT = {("model", "engine"), ("engine", "model")}

# Pure layers get the time as an argument and do no IO, so their tests need neither.
PURE = {"values", "expressions"}
IMPURE = {"asyncio", "io", "lmdb", "os", "pathlib", "random", "secrets", "socket", "subprocess", "time", "uuid"}
IMPURE_HERE = {"sortkey.clock", "sortkey.storage"}

# Packages whose folders import each other in one direction.
ONE_WAY = (
    "cli",
    "client",
    "copies",
    "diagnosis",
    "engine",
    "expressions",
    "feeds",
    "graphql",
    "http",
    "model",
    "patterns",
    "server",
    "services",
    "storage",
    "values",
    "wire",
)


BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
"""Where a statement has others."""


@dataclass(frozen=True)
class Import:
    target: str
    line: int
    at_top: bool


@dataclass(frozen=True)
class Module:
    name: str
    imports: tuple[Import, ...]

    @property
    def layer(self) -> str:
        """The name below `sortkey`; empty for the package itself, which has the public names."""
        return layer_of(self.name)

    def at(self, imported: Import) -> str:
        return f"{self.name}, line {imported.line}: imports {imported.target}"


def layer_of(name: str) -> str:
    return name.partition(".")[2].partition(".")[0]


@cache
def modules() -> dict[str, Module]:
    files = {module_name(path): path for path in SOURCE.rglob("*.py")}
    return {name: parse(name, path, frozenset(files)) for name, path in files.items()}


def framework() -> list[Module]:
    return [module for name, module in modules().items() if name.partition(".")[0] == FRAMEWORK]


def services() -> list[Module]:
    """The package beside the framework."""
    return [module for name, module in modules().items() if name.partition(".")[0] == SERVICES]


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


def parse(name: str, path: Path, known: frozenset[str]) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    top = {id(node) for node in at_top(tree)}
    imports = (
        Import(target, node.lineno, id(node) in top)
        for node in statements(tree.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets(node, known)
    )
    return Module(name, tuple(imports))


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """All of them, at any depth. An import is no expression, and most of a tree are expressions."""
    for node in body:
        yield node
        for name in BODIES:
            for inner in getattr(node, name, ()):
                # A handler and a case are no statements, but have some.
                yield from statements([inner] if isinstance(inner, ast.stmt) else inner.body)


def at_top(tree: ast.Module) -> Iterator[ast.stmt]:
    """The module's own statements, with those under `if TYPE_CHECKING` and the like."""
    for node in tree.body:
        yield node
        if isinstance(node, ast.If | ast.Try):
            yield from statements([node])


def targets(node: ast.Import | ast.ImportFrom, known: frozenset[str]) -> Iterator[str]:
    """What a statement imports: `from a import b` means the module a.b where there is one, else a."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module is not None:
        for alias in node.names:
            submodule = f"{node.module}.{alias.name}"
            yield submodule if submodule in known else node.module


def internal(module: Module) -> Iterator[Import]:
    """What a module imports of the framework."""
    return (imported for imported in module.imports if imported.target.partition(".")[0] == FRAMEWORK)


def ours(module: Module) -> Iterator[Import]:
    """What a module imports of either package."""
    return (imported for imported in module.imports if imported.target.partition(".")[0] in (FRAMEWORK, SERVICES))


def test_every_module_belongs_to_a_layer() -> None:
    assert [module.name for module in framework() if module.layer not in DEPTH] == []


def test_imports_point_down() -> None:
    upward = [
        module.at(imported)
        for module in framework()
        for imported in internal(module)
        if DEPTH.get(layer_of(imported.target), -1) < DEPTH[module.layer]
    ]
    assert upward == []


# The framework is anybody's: it knows the services by entry points alone.
def test_the_framework_does_not_mention_the_services() -> None:
    assert [str(path) for path in (SOURCE / FRAMEWORK).rglob("*.py") if SERVICES in path.read_text("utf-8")] == []


# Users copy services, so a service uses only what they can use.
def test_services_import_public_modules() -> None:
    deep = [
        module.at(imported)
        for module in services()
        for imported in internal(module)
        if imported.target not in (FRAMEWORK, *PUBLIC_MODULES)
    ]
    assert deep == []


def test_every_public_module_is_used() -> None:
    used = {imported.target for module in services() for imported in internal(module)}
    assert set(PUBLIC_MODULES) - used == set()


def public_names() -> set[str]:
    """`sk.Item`, `sk.services.Service` and so on, and the names of the public modules."""
    found = {f"sk.{name}" for name in sortkey.__all__}
    for module in [value for name in sortkey.__all__ if isinstance(value := getattr(sortkey, name), ModuleType)]:
        own = vars(module).items()
        names = {name for name, value in own if not name.startswith("_") and not isinstance(value, ModuleType)}
        found |= {f"sk.{module.__name__.rpartition('.')[2]}.{name}" for name in names}
    for name in PUBLIC_MODULES:
        found |= {f"{name}.{each}" for each in import_module(name).__all__}
    return found


def used_names(path: Path) -> Iterator[str]:
    """The framework's names in a module: `from sortkey.services.pages import PAGE`, and `sk.services.Service`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module)) if module.partition(".")[0] == FRAMEWORK:
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Attribute(value=ast.Name(id="sk"), attr=name) if name not in SK_MODULES:
                yield f"sk.{name}"
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="sk"), attr=module), attr=name):
                if module in SK_MODULES:
                    yield f"sk.{module}.{name}"


def test_services_use_public_names() -> None:
    public = public_names()
    unknown = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in (SOURCE / SERVICES).rglob("*.py")
        for name in used_names(path)
        if name not in public
    ]
    assert unknown == []


def test_model_and_engine_are_independent() -> None:
    met = [
        module.at(imported)
        for module in framework()
        for imported in internal(module)
        if (module.layer, layer_of(imported.target)) in INDEPENDENT
    ]
    assert met == []


def test_pure_layers_touch_nothing_outside() -> None:
    impure = [
        module.at(imported)
        for module in framework()
        if module.layer in PURE
        for imported in module.imports
        if imported.target.partition(".")[0] in IMPURE or ".".join(imported.target.split(".")[:2]) in IMPURE_HERE
    ]
    assert impure == []


# An import inside a function hides a cycle, and costs a lookup at each call.
def test_sortkey_modules_are_imported_at_the_top() -> None:
    hidden = [module.at(imported) for module in modules().values() for imported in ours(module) if not imported.at_top]
    assert hidden == []


def folder_of(name: str) -> str:
    """The folder of a module inside its package; `.` for the package's own modules."""
    inside = name.split(".")[2:]
    is_folder = any(other.startswith(f"{name}.") for other in modules())
    return inside[0] if len(inside) > 1 or (inside and is_folder) else "."


def check_acyclic(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_there_are_no_cycles() -> None:
    check_acyclic(
        {module.name: {imported.target for imported in ours(module)} - {module.name} for module in modules().values()}
    )


# If folder a imports from folder b, then b imports nothing from a. A package's own modules are one folder, too.
@pytest.mark.parametrize("package", ONE_WAY)
def test_folders_import_each_other_in_one_direction(package: str) -> None:
    graph: dict[str, set[str]] = {}
    for module in framework():
        if module.layer == package:
            folder = folder_of(module.name)
            targets = [imported.target for imported in internal(module) if layer_of(imported.target) == package]
            graph.setdefault(folder, set()).update({folder_of(target) for target in targets} - {folder})
    check_acyclic(graph)
