"""Products that are like others: a vector index over the names of the pricing demonstration's products.

The demonstration has numbers for names, so this program gives them some. The vector of a name is a count of its groups
of three letters, hashed to a fixed number of dimensions: names with common parts are close. It needs no model and no
network; a program in earnest takes the vectors of a language model, and stores and searches them in the same way.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal
from hashlib import blake2b
from math import sqrt

import sortkey as sk
from sortkey_services.pricing.demo import PRODUCTS

CATALOGUE = sk.Table("catalogue")
DIMENSIONS = 64

TASTES = ("green", "black", "smoked", "sweet", "spicy", "salted", "roasted", "fresh")
KINDS = {
    "drinks": ("tea", "coffee", "lemonade", "juice"),
    "snacks": ("almonds", "crackers", "chips", "peanuts"),
    "dairy": ("cheese", "yoghurt", "butter", "milk"),
}
SIZES = ("small", "large", "family pack")


class Product(sk.Item, table=CATALOGUE):
    product: str
    name: str
    category: str
    size: str
    price: Decimal
    vector: sk.Vector

    @sk.Key("PRODUCT#{product}")
    def key(self, *, product: str) -> None: ...

    similar = sk.VectorIndex(
        "by_vector",
        "vector",
        dimensions=DIMENSIONS,
        partition="category",
        filters=["size"],
        projection=["name", "price"],
    )


def vector_of(name: str) -> list[float]:
    """The unit vector of a name."""
    counts = [0.0] * DIMENSIONS
    padded = f"  {name} "
    for start in range(len(padded) - 2):
        digest = blake2b(padded[start : start + 3].encode(), digest_size=2).digest()
        counts[int.from_bytes(digest, "big") % DIMENSIONS] += 1
    length = sqrt(sum(count * count for count in counts))
    return [count / length for count in counts]


def products() -> Iterator[Product]:
    """The demonstration's products, with names."""
    nouns = [(category, noun) for category, names in KINDS.items() for noun in names]
    for number, product in enumerate(PRODUCTS):
        category, noun = nouns[number % len(nouns)]
        taste = TASTES[number // len(nouns) % len(TASTES)]
        size = SIZES[number // (len(nouns) * len(TASTES)) % len(SIZES)]
        yield Product(
            product=product,
            name=f"{taste} {noun}",
            category=category,
            size=size,
            price=Decimal(150 + 7 * number) / 100,
            vector=vector_of(f"{taste} {noun}"),
        )


def main(url: str) -> None:
    with sk.connect(url, tables=[CATALOGUE]) as db:
        db.create_tables()
        db.put_many(products())

        chosen = db.get(Product.key(product=PRODUCTS[0]))
        if chosen is None:
            return
        print(f"chosen: {chosen.size} {chosen.name}")
        # The path of an item searches its partition: products of the same category.
        found = [each for each in db.nearest(chosen.similar, chosen.vector, 20) if each.item.name != chosen.name]
        print("like it:", list(dict.fromkeys(each.item.name for each in found))[:3])

        small = Product.similar(category="drinks", size="small")
        best = db.nearest(small, vector_of("smoky teas"), 1)[0]
        print(f"'smoky teas' in small: {best.item.product}, {best.item.name}, at a distance of {best.score:.2f}")

        db.delete(best.item.key)
        print("without it:", db.nearest(small, vector_of("smoky teas"), 1)[0].item.product)

        # What the index does not have is read by the key.
        whole = db.nearest(Product.similar(category="dairy"), vector_of("fresh milk"), 1, whole=True)[0].item
        print(f"whole: {whole.category}, {whole.name}, {len(whole.vector)} dimensions")
        for path in (chosen.similar, small, Product.similar(category="dairy")):
            print(db.explain(path), "\n")
        print(db.meter)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "memory:")
