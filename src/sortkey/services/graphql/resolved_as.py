"""A field whose resolver returns a type of the service, which GraphQL shows as one of the schema's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import strawberry

F = TypeVar("F", bound=Callable[..., Any])


def resolved_as(graphql_type: Any, **options: Any) -> Callable[[F], F]:
    """Strawberry's own decorator would take the type from the resolver, and leaves it without one for a checker."""
    return cast(Callable[[F], F], strawberry.field(graphql_type=graphql_type, **options))
