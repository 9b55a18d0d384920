"""The routes of products."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

from sortkey.services.pages import PAGE, AskedPage, PageAnswer, page_answer
from sortkey_services.social.model import Product
from sortkey_services.social.products import Products

Category = Annotated[str, QueryParameter(description="The category, as products have it")]


class ProductBody(msgspec.Struct, frozen=True):
    name: str
    category: str


class ProductAnswer(msgspec.Struct, frozen=True):
    product: str
    name: str
    category: str


def routes(products: Products) -> list[ControllerRouterHandler]:
    @put("/social/products/{product:str}", opt={"fast": True}, summary="Make or replace a product")
    async def write(product: FromPath[str], data: JSONBody[ProductBody]) -> ProductAnswer:
        return _shown(await products.put(product, data.name, data.category))

    @get("/social/products/{product:str}", opt={"fast": True}, summary="A product")
    async def show(product: FromPath[str]) -> ProductAnswer:
        return _shown(await products.get(product))

    @get("/social/products", dependencies={"page": PAGE}, summary="Products of a category, by id")
    async def of_category(category: Category, page: AskedPage) -> PageAnswer[ProductAnswer]:
        return page_answer(await products.of_category(category, page), _shown)

    return [write, show, of_category]


def _shown(product: Product) -> ProductAnswer:
    return ProductAnswer(product.product, product.name, product.category)
