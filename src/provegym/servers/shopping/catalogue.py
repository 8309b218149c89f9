"""What can be done around the catalogue: look, read and write reviews, keep a wish list."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Amount, forbid

from .state import Category, Product, Review, Shop, Variant, Wish, server

Stars = Annotated[int, Meta(ge=1, le=5)]
Words = Annotated[str, Meta(min_length=1, max_length=500)]


@server.read
def search_products(
    shop: Shop, /, name: str = "", category: Category | None = None, max_price: Amount | None = None
) -> list[Product]:
    """Find products in the online shop's catalogue, cheapest first.

    Args:
        name: Only products whose name contains this, e.g. "jacket".
        category: Only products of this category.
        max_price: Only products that cost at most this.
    """
    found = [product for product in shop.products if name.lower() in product.name.lower()]
    found = [product for product in found if category in (None, product.category)]
    found = [product for product in found if max_price is None or product.price <= max_price]
    return sorted(found, key=lambda product: product.price)


@server.read
def list_product_variants(shop: Shop, /, product_id: str) -> list[Variant]:
    """List the colours and sizes a product of the shop comes in, and how many there are of each.

    Args:
        product_id: The product, e.g. "prd_4711".
    """
    return shop.variants.where(product_id=shop.products[product_id].id)


@server.read
def list_product_reviews(shop: Shop, /, product_id: str = "", mine: bool = False) -> list[Review]:
    """List what customers wrote about products of the shop, newest first.

    Args:
        product_id: Only reviews of this product, e.g. "prd_4711".
        mine: Only reviews by the user.
    """
    known = product_id and shop.products[product_id].id
    found = [review for review in shop.reviews if not mine or review.author == "you"]
    found = [review for review in found if known in ("", review.product_id)]
    return sorted(found, key=lambda review: review.written_at, reverse=True)


@server.write
def write_product_review(shop: Shop, /, product_id: str, stars: Stars, text: Words) -> Review:
    """Review a product that was delivered to the user; once, but it can be changed for 60 days.

    Args:
        product_id: The product, e.g. "prd_4711".
        stars: From 1, bad, to 5, excellent.
        text: What the review says, or shall say instead.
    """
    name = shop.products[product_id].name
    forbid(not shop.received(product_id), f"{name} was never delivered to you; buy it first")
    for review in shop.reviews.where(product_id=product_id, author="you"):
        old = shop.now - review.written_at > timedelta(days=60)
        forbid(old, f"the review of {name} is older than 60 days and stays as it is")
        return shop.reviews.update(review.id, stars=stars, text=text)
    fields = {"product_id": product_id, "product_name": name, "author": "you"}
    return shop.reviews.add(stars=stars, text=text, written_at=shop.now, **fields)


@server.read
def list_wish_list(shop: Shop, /, name: str = "") -> list[Wish]:
    """List the user's wish list in the shop, with target prices and alerts that have come.

    Args:
        name: Only wishes whose name contains this.
    """
    return [wish for wish in shop.wishes if name.lower() in wish.name.lower()]


@server.write
def add_to_wish_list(shop: Shop, /, variant_id: str, target_price: Amount | None = None) -> Wish:
    """Put a variant on the shop wish list; the user is told once it is cheap or in stock again.

    Args:
        variant_id: The product in one colour and size, e.g. "vnt_310"; not on the list yet.
        target_price: The price to wait for, below today's; if left out, only stock counts.
    """
    variant = shop.variants[variant_id]
    price = shop.products[variant.product_id].price
    forbid(bool(shop.wishes.where(variant_id=variant_id)), f"{variant.name} is on the list already")
    cheap = target_price is not None and target_price >= price
    forbid(cheap, f"{variant.name} costs {price} already; choose a lower target")
    wish = {"product_id": variant.product_id, "name": variant.name, "target_price": target_price}
    return shop.wishes.add(variant_id=variant_id, **wish)


@server.write(destructive=True)
def remove_from_wish_list(shop: Shop, /, variant_id: str) -> Wish:
    """Take a variant off the shop wish list, with its alert.

    Args:
        variant_id: The product in one colour and size, e.g. "vnt_310".
    """
    name, wishes = shop.variants[variant_id].name, shop.wishes.where(variant_id=variant_id)
    forbid(not wishes, f"{name} is not on the wish list; list_wish_list shows what is")
    shop.wishes.remove(wishes[0].id)
    return wishes[0]
