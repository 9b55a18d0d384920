"""JSON as a tree with leaves that no encoder would write: numbers out of range, lone surrogates, deep nesting."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

Json = Any
"""What `json` reads, and `Raw` anywhere in it."""


_quote: Final = json.JSONEncoder(ensure_ascii=False).encode
"""`json.dumps` would make an encoder for each text."""


class Raw(NamedTuple):
    """A part of a body, byte for byte."""

    text: bytes


class Spot(NamedTuple):
    """A place in a tree: a dictionary's member or a list's element."""

    container: Any
    key: Any

    def get(self) -> Json:
        return self.container[self.key]

    def put(self, value: Json) -> None:
        self.container[self.key] = value


def encode(tree: Json) -> bytes:
    if isinstance(tree, Raw):
        return tree.text
    if isinstance(tree, dict):
        return b"{" + b",".join(_text(name) + b":" + encode(value) for name, value in tree.items()) + b"}"
    if isinstance(tree, list):
        return b"[" + b",".join(map(encode, tree)) + b"]"
    return _text(tree) if isinstance(tree, str) else json.dumps(tree).encode()


def _text(text: str) -> bytes:
    return _quote(text).encode("utf-8", "surrogatepass")


def clone(tree: Json) -> Json:
    if isinstance(tree, dict):
        return {name: clone(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [clone(value) for value in tree]
    return tree


def spots(tree: Json) -> Iterator[Spot]:
    """Every place below the root, outer ones first."""
    level = [tree] if isinstance(tree, dict | list) else []
    while level:
        below = []
        for container in level:
            keys = list(container) if isinstance(container, dict) else list(range(len(container)))
            for key in keys:
                yield Spot(container, key)
                if isinstance(container[key], dict | list):
                    below.append(container[key])
        level = below
