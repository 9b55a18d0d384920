"""The OpenAPI document: Litestar's description of the routes, with our errors and tokens.

Litestar would serve it together with pages that load scripts from other hosts, and describes its own shape of errors.
So an app that serves nothing produces the description only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, Final

import msgspec
from litestar import Litestar
from litestar.openapi.config import OpenAPIConfig
from litestar.openapi.spec import Tag
from litestar.types import ControllerRouterHandler

from sortkey.server.exchange import KEY_METHODS
from sortkey.services.interface import Service

_ERROR: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "details"],
            "properties": {
                "code": {"type": "string", "description": "For programs; stable."},
                "message": {"type": "string", "description": "For people; may change."},
                "details": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["message"],
                        "properties": {
                            "field": {"type": "string", "description": "Where in the request."},
                            "message": {"type": "string"},
                        },
                    },
                },
            },
        }
    },
}
_ERROR_ANSWER: Final[dict[str, Any]] = {
    "description": "The request failed",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
}
_BEARER: Final = "token"
_KEY: Final[dict[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key and request within a day gets the same answer, and changes nothing more; the same key "
    "with another body or query is 409.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


def openapi_document(routes: Sequence[ControllerRouterHandler], services: Sequence[Service], tokens: bool) -> bytes:
    config = OpenAPIConfig(
        title="Sortkey",
        version=version("sortkey"),
        use_handler_docstrings=True,
        tags=[Tag(name=service.name) for service in services],
    )
    described = Litestar(routes, openapi_config=config, logging_config=None).openapi_schema.to_schema()
    components = described.setdefault("components", {})
    components.setdefault("schemas", {})["Error"] = _ERROR
    if tokens:
        components["securitySchemes"] = {_BEARER: {"type": "http", "scheme": "bearer"}}
    names = {service.name for service in services}
    for method, operation in _operations(described):
        # Litestar's shape of an error, which the middleware replaces.
        operation["responses"].pop("400", None)
        operation["responses"]["default"] = _ERROR_ANSWER
        is_of_service = bool(names.intersection(operation.get("tags", ())))
        if is_of_service and method.upper() in KEY_METHODS:
            operation.setdefault("parameters", []).append(_KEY)
        if tokens and is_of_service:
            operation["security"] = [{_BEARER: []}]
    return msgspec.json.encode(described)


def _operations(described: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with its method."""
    for path in described["paths"].values():
        yield from ((method, operation) for method, operation in path.items() if "responses" in operation)
