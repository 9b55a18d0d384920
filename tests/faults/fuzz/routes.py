"""Mutated requests of every route that the services describe in /openapi.json."""

from __future__ import annotations

from random import Random
from typing import Any, Final
from urllib.parse import quote

from tests.faults.fuzz import mutations, values
from tests.faults.fuzz.case import Headers, Message
from tests.faults.fuzz.json_text import Json, Raw, encode

METHODS: Final = ("get", "put", "post", "patch", "delete", "head", "options", "trace")
KNOWN: Final[dict[str, tuple[str, ...]]] = {
    "tenant": ("de", "gr", "tr", "xx"),
    "district": ("BER-01", "ATH-02"),
    "partner_id": ("1", "10740321", "p2"),
    "partnerId": ("1", "10740321", "p2"),
    "partnerIds": ("1", "10740321", "p2"),
    "campaignId": ("c1", "c2"),
    "eventId": ("e1", "e2"),
    "areas": ("BER-01", "ATH-02", "*"),
}
"""Text that the services know, by the name of its property or parameter."""
USUAL_TIME: Final = "2026-08-24T12:00:00+02:00"
TIMES: Final = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999-23:59", "2026-08-24", "2026-02-30T00:00:00Z")
CONTENT_TYPES: Final = (
    "application/json",
    "application/json; charset=utf-16",
    "text/plain",
    "multipart/form-data",
    "x",
)


class Routes:
    def __init__(self, document: dict[str, Any]) -> None:
        self._schemas: dict[str, Any] = document.get("components", {}).get("schemas", {})
        self._routes = [
            (method, path, route)
            for path, routes in document["paths"].items()
            for method, route in routes.items()
            if method in METHODS
        ]

    @property
    def names(self) -> set[str]:
        return {f"{method.upper()} {path}" for method, path, _ in self._routes}

    def make(self, random: Random) -> Message:
        method, path, route = random.choice(self._routes)
        name = f"{method.upper()} {path}"
        for parameter in route.get("parameters", ()):
            path = path.replace(f"{{{parameter['name']}}}", self._path_part(random, parameter["name"]))
        # Without this slash the request takes the fast path, with it Litestar's.
        path += random.choice(("", "", "", "/"))
        query = "" if random.random() < 0.9 else "?" + quote(_odd_text(random), safe="=&%")
        body: Json | bytes = b""
        headers: Headers = (("Host", "localhost"),)
        if "requestBody" in route:
            schema = next(iter(route["requestBody"]["content"].values()))["schema"]
            tree = self.instance(random, schema, "")
            body = tree if random.random() < 0.2 else mutations.mutated(random, tree, [tree] if tree else [[1]])
            kind = CONTENT_TYPES[0] if random.random() < 0.95 else random.choice(CONTENT_TYPES)
            headers += (("Content-Type", kind),)
            if random.random() < 0.03:
                body = mutations.damaged(random, encode(body))
        return Message("service", name, method.upper(), path + query, headers, body)

    def _path_part(self, random: Random, name: str) -> str:
        if random.random() < 0.8:
            return quote(random.choice(KNOWN.get(name, ("x",))), safe="")
        return quote(_odd_text(random)[:2000], safe="" if random.random() < 0.8 else "/%")

    def instance(self, random: Random, schema: dict[str, Any], name: str) -> Json:
        """A value of the schema."""
        if "$ref" in schema:
            return self.instance(random, self._schemas[schema["$ref"].rpartition("/")[2]], name)
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self.instance(random, random.choice(schema[choice]), name)
        if "enum" in schema:
            return random.choice(schema["enum"])
        return self._of_type(random, schema, name)

    def _of_type(self, random: Random, schema: dict[str, Any], name: str) -> Json:
        kind = schema.get("type")
        if kind == "object":
            required = schema.get("required", ())
            return {
                member: self.instance(random, declared, member)
                for member, declared in schema.get("properties", {}).items()
                if member in required or random.random() < 0.7
            }
        if kind == "array":
            count = random.choice((schema.get("minItems", 0), 1, 1, 2, min(schema.get("maxItems", 20), 1100)))
            items = [self.instance(random, schema["items"], name) for _ in range(count)]
            return list(dict.fromkeys(items)) if schema.get("uniqueItems") else items
        if kind in ("number", "integer"):
            return random.choice((1, 1.5, 7, schema.get("maximum", 3)))
        if kind == "boolean":
            return random.choice((True, False))
        if schema.get("format") == "date-time":
            return USUAL_TIME if random.random() < 0.7 else random.choice(TIMES)
        return None if kind == "null" else random.choice(KNOWN.get(name, ("x", "y")))


def _odd_text(random: Random) -> str:
    value = values.text(random)
    return value.text.decode("latin-1") if isinstance(value, Raw) else str(value)
