"""Products by category, on every store."""

from __future__ import annotations

from sortkey.services.pages import page_arguments
from tests.sortkey_services.social.conftest import Service


def test_products_move_between_categories(service: Service) -> None:
    products = service.social.products

    def listed(category: str) -> list[str]:
        return [each.product for each in service.wait(products.of_category(category, page_arguments()))]

    for product, category in (("radio", "electronics"), ("abacus", "electronics"), ("radio", "kitchen")):
        service.wait(products.put(product, product.title(), category))
    assert (listed("electronics"), listed("kitchen"), listed("books")) == (["abacus"], ["radio"], [])
