"""Members as AWS's service model declares them, with values of the declared types, near the declared bounds.

Requests that are only mutated never get the members that they do not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from random import Random
from typing import Any, Final

from botocore.loaders import Loader

from tests.faults.fuzz import values
from tests.faults.fuzz.json_text import Json

STREAMS: Final = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
KNOWN: Final[dict[str, tuple[str, ...]]] = {
    "TableName": ("orders", "plain", "numbers"),
    "TableArn": ("orders", "plain"),
    "IndexName": ("by_city", "by_sum", "by_sk"),
    "AttributeName": ("pk", "sk", "sum", "city", "basket"),
    "KeySchemaAttributeName": ("pk", "sk", "sum", "city"),
    "ExpressionAttributeNameVariable": ("#n", "#s"),
    "ExpressionAttributeValueVariable": (":v", ":p"),
}
"""Text that refers to something that exists, by the name of its shape."""
DEEPEST: Final = 5


Path = tuple[tuple[str | None, str], ...]
"""The way to a value: names of members and of the shapes behind them; None for an element of a list or a map."""


@cache
def _models() -> list[dict[str, Any]]:
    """Of tables and of streams. To read them takes longer than some hundred cases."""
    loader = Loader()
    return [loader.load_service_model(name, "service-2") for name in ("dynamodb", "dynamodbstreams")]


class ServiceModel:
    def __init__(self) -> None:
        self._models = _models()

    def members(self, operation: str) -> list[str]:
        return list(self._input(operation).get("members", {}))

    def member(self, random: Random, operation: str, name: str) -> Json:
        shapes = self._models[operation in STREAMS]["shapes"]
        return _value(random, shapes, self._input(operation)["members"][name]["shape"], 0)

    def set_number(self, random: Random, operation: str, members: dict[str, Any]) -> None:
        """Give one of the operation's numbers, however deep, a value at or beyond its bounds. The rest is kept."""
        shapes = self._models[operation in STREAMS]["shapes"]
        paths = _number_paths_of(operation)
        if paths:
            *way, (last, name) = random.choice(paths)
            container: Any = members
            for step, shape in way:
                container = _enter(random, shapes, container, step, shape)
            _put(container, last, _bound(random, shapes, name))

    def _input(self, operation: str) -> dict[str, Any]:
        model = self._models[operation in STREAMS]
        shape: dict[str, Any] = model["shapes"][model["operations"][operation]["input"]["shape"]]
        return shape


@cache
def _number_paths_of(operation: str) -> list[Path]:
    model = _models()[operation in STREAMS]
    return list(_number_paths(model["shapes"], model["operations"][operation]["input"]["shape"], ()))


def _number_paths(shapes: dict[str, Any], name: str, path: Path) -> Iterator[Path]:
    shape = shapes[name]
    if shape["type"] in ("integer", "long", "double"):
        yield path
    if name == "AttributeValue" or len(path) > DEEPEST:
        return
    if shape["type"] == "structure":
        for member, declared in shape["members"].items():
            yield from _number_paths(shapes, declared["shape"], (*path, (member, declared["shape"])))
    elif shape["type"] in ("list", "map"):
        inner = shape["member" if shape["type"] == "list" else "value"]["shape"]
        yield from _number_paths(shapes, inner, (*path, (None, inner)))


def _enter(random: Random, shapes: dict[str, Any], container: Any, step: str | None, name: str) -> Any:
    """What the container has there; made, with what it requires, if it has nothing."""
    present = container.get(step) if step is not None else next(iter(_elements(container)), None)
    if not isinstance(present, dict | list):
        present = [] if shapes[name]["type"] == "list" else _required(random, shapes, name)
        _put(container, step, present)
    return present


def _required(random: Random, shapes: dict[str, Any], name: str) -> dict[str, Any]:
    required = shapes[name].get("required", ())
    return {member: _value(random, shapes, shapes[name]["members"][member]["shape"], 0) for member in required}


def _elements(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def _put(container: Any, step: str | None, value: Json) -> None:
    if isinstance(container, dict):
        container["x" if step is None else step] = value
    else:
        container[:1] = [value]


def _value(random: Random, shapes: dict[str, Any], name: str, depth: int) -> Json:
    if random.random() < 0.03:
        return values.any_value(random)
    if name == "AttributeValue":
        return values.attribute_value(random)
    shape = shapes[name]
    if depth > DEEPEST and shape["type"] in ("structure", "list", "map"):
        return {} if shape["type"] != "list" else []
    return _MAKERS[shape["type"]](random, shapes, name, depth)


def _structure(random: Random, shapes: dict[str, Any], name: str, depth: int) -> Json:
    required = shapes[name].get("required", ())
    return {
        member: _value(random, shapes, declared["shape"], depth + 1)
        for member, declared in shapes[name]["members"].items()
        if random.random() < (0.95 if member in required else 0.4)
    }


def _list(random: Random, shapes: dict[str, Any], name: str, depth: int) -> Json:
    member = shapes[name]["member"]["shape"]
    return [_value(random, shapes, member, depth + 1) for _ in range(random.choice((1, 1, 1, 2, 0)))]


def _map(random: Random, shapes: dict[str, Any], name: str, depth: int) -> Json:
    declared = shapes[name]
    keys = {_string(random, shapes, declared["key"]["shape"], 0) for _ in range(random.choice((1, 1, 2, 0)))}
    return {
        key: _value(random, shapes, declared["value"]["shape"], depth + 1)
        for key in sorted(key for key in keys if isinstance(key, str))
    }


def _string(random: Random, shapes: dict[str, Any], name: str, _: int) -> Json:
    declared = shapes[name]
    if "enum" in declared:
        return random.choice(declared["enum"])
    if name in KNOWN and random.random() < 0.8:
        return random.choice(KNOWN[name])
    if random.random() < 0.3:
        bounds = [declared.get(bound, 3) + offset for bound in ("min", "max") for offset in (-1, 0, 1)]
        return "a" * max(0, random.choice(bounds))
    return values.text(random)


def _number(random: Random, shapes: dict[str, Any], name: str, _: int) -> Json:
    return random.choice((1, 5)) if random.random() < 0.4 else _bound(random, shapes, name)


def _bound(random: Random, shapes: dict[str, Any], name: str) -> Json:
    """At a bound that is declared, or at one of a computer's numbers."""
    declared = shapes[name]
    bounds = [declared[bound] + offset for bound in ("min", "max") if bound in declared for offset in (-1, 0, 1)]
    return random.choice(random.choice((bounds or values.LARGE_NUMBERS, values.LARGE_NUMBERS, values.NUMBERS)))


def _boolean(random: Random, *_: Any) -> Json:
    return random.choice((True, False))


_MAKERS: Final[dict[str, Callable[[Random, dict[str, Any], str, int], Json]]] = {
    "structure": _structure,
    "list": _list,
    "map": _map,
    "string": _string,
    "blob": _string,
    "integer": _number,
    "long": _number,
    "double": _number,
    "timestamp": _number,
    "boolean": _boolean,
}
