"""Products: what they are, and which a category has."""

from __future__ import annotations

import sortkey as sk
from sortkey.services.pages import PageArguments
from sortkey_services.social.checks import check_id, check_key_text, check_text
from sortkey_services.social.model import Product
from sortkey_services.social.reading import must_be_readable, page_of


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
