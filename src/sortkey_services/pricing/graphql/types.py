"""The types of the schema. They only describe: resolvers return the service's own structs, which have these names."""

from __future__ import annotations

from typing import Final

import strawberry

from sortkey.graphql.schema import DateTime, Decimal
from sortkey_services.pricing import types

PriceKind: Final = strawberry.enum(types.PriceKind, description="A SWAP's product is `COMBO#OPTION`.")
PriceAction: Final = strawberry.enum(types.PriceAction)
ChangeStatus: Final = strawberry.enum(types.ChangeStatus)


@strawberry.type(description="What a product costs in a store.")
class Price:
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: types.PriceKind
    amount: Decimal
    currency: str
    effective_from: DateTime


@strawberry.type(description="A change of a price, at its instant.")
class PriceChange:
    id: strawberry.ID
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: types.PriceKind
    action: types.PriceAction
    amount: Decimal | None
    effective_at: DateTime
    status: types.ChangeStatus


@strawberry.type(description="A change that has taken effect, and who asked for it.")
class PriceRecord:
    store: strawberry.ID
    product: strawberry.ID
    channel: str
    kind: types.PriceKind
    action: types.PriceAction
    amount: Decimal | None
    previous_amount: Decimal | None
    effective_at: DateTime
    requested_by: str | None
    recorded_at: DateTime


@strawberry.type
class ChangePricesPayload:
    ids: list[strawberry.ID]
    changes: list[PriceChange]


@strawberry.input(description="A change to make; without effectiveAt, it is in force when it is answered.")
class PriceChangeInput:
    store: strawberry.ID
    product: strawberry.ID
    channel: str | None = "ALL"
    kind: types.PriceKind | None = types.PriceKind.BASE
    action: types.PriceAction | None = types.PriceAction.SET
    amount: Decimal | None = strawberry.UNSET
    currency: str | None = strawberry.UNSET
    effective_at: DateTime | None = strawberry.UNSET
