"""Products: what they are, and which a category has."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.types import ControllerRouterHandler

import sortkey as sk
from sortkey.services.pages import PAGE, AskedPage, PageAnswer, PageArguments, page_answer
from sortkey_services.social.checks import check_id, check_key_text, check_text, must_be_readable, page_of
from sortkey_services.social.model import Product

Category = Annotated[str, QueryParameter(description="The category, as products have it")]


class ProductBody(msgspec.Struct, frozen=True):
    name: str
    category: str


class ProductAnswer(msgspec.Struct, frozen=True):
    product: str
    name: str
    category: str


class Products:
    def __init__(self, session: sk.AsyncSession) -> None:
        self._session = session

    async def put(self, product: str, name: str, category: str) -> Product:
        """Makes the product or replaces it."""
        check_id("product", product)
        check_text("name", name)
        check_key_text("category", category)
        made = Product(product=product, name=name, category=category)
        await self._session.put(made)
        return made

    async def get(self, product: str) -> Product:
        """Raises NotFound."""
        check_id("product", product)
        with must_be_readable(f"the product {product!r}"):
            found = await self._session.get(Product.key(product=product), consistent=True)
        if found is None:
            raise sk.services.NotFound(f"there is no product {product!r}")
        return found

    async def of_category(self, category: str, page: PageArguments) -> sk.Page[Product]:
        """By id."""
        check_key_text("category", category)
        return await page_of(self._session, Product.by_category(category=category), page)

    @property
    def routes(self) -> list[ControllerRouterHandler]:
        @put("/social/products/{product:str}", opt={"fast": True}, summary="Make or replace a product")
        async def write(product: FromPath[str], data: JSONBody[ProductBody]) -> ProductAnswer:
            return _answer(await self.put(product, data.name, data.category))

        @get("/social/products/{product:str}", opt={"fast": True}, summary="A product")
        async def show(product: FromPath[str]) -> ProductAnswer:
            return _answer(await self.get(product))

        @get("/social/products", dependencies={"page": PAGE}, summary="Products of a category, by id")
        async def of_category(category: Category, page: AskedPage) -> PageAnswer[ProductAnswer]:
            return page_answer(await self.of_category(category, page), _answer)

        return [write, show, of_category]


def _answer(product: Product) -> ProductAnswer:
    return ProductAnswer(product.product, product.name, product.category)
