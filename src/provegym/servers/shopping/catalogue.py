"""Tools for the catalogue: search it, read and write reviews, keep a wish list."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Amount, Rejected

from .state import Category, Product, Review, Shop, Variant, Wish, server

Stars = Annotated[int, Meta(ge=1, le=5)]
Words = Annotated[str, Meta(min_length=1, max_length=500)]

REVIEW_WINDOW = timedelta(days=60)


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
    if category is not None:
        found = [product for product in found if product.category == category]
    if max_price is not None:
        found = [product for product in found if product.price <= max_price]
    return sorted(found, key=lambda product: product.price)


@server.read
def list_product_variants(shop: Shop, /, product_id: str) -> list[Variant]:
    """List the colours and sizes a product of the shop comes in, and how many there are of each.

    Args:
        product_id: The product, e.g. "prd_4711".
    """
    product = shop.products[product_id]
    return shop.variants.where(product_id=product.id)


@server.read
def list_product_reviews(shop: Shop, /, product_id: str = "", mine: bool = False) -> list[Review]:
    """List what customers wrote about products of the shop, newest first.

    Args:
        product_id: Only reviews of this product, e.g. "prd_4711".
        mine: Only reviews by the user.
    """
    found = list(shop.reviews)
    if product_id:
        product = shop.products[product_id]
        found = [review for review in found if review.product_id == product.id]
    if mine:
        found = [review for review in found if review.author == "you"]
    return sorted(found, key=lambda review: review.written_at, reverse=True)


@server.write
def write_product_review(shop: Shop, /, product_id: str, stars: Stars, text: Words) -> Review:
    """Review a product that was delivered to the user; once, but it can be changed for 60 days.

    Args:
        product_id: The product, e.g. "prd_4711".
        stars: From 1, bad, to 5, excellent.
        text: What the review says, or shall say instead.
    """
    product = shop.products[product_id]
    if not shop.received(product_id):
        raise Rejected(f"{product.name} was never delivered to you; buy it first")
    earlier = shop.reviews.where(product_id=product_id, author="you")
    if not earlier:
        return shop.reviews.add(
            product_id=product.id,
            product_name=product.name,
            author="you",
            stars=stars,
            text=text,
            written_at=shop.now,
        )
    review = earlier[0]
    if shop.now - review.written_at > REVIEW_WINDOW:
        raise Rejected(f"the review of {product.name} is older than 60 days and stays as it is")
    return shop.reviews.update(review.id, stars=stars, text=text)


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
    if shop.wishes.where(variant_id=variant_id):
        raise Rejected(f"{variant.name} is on the list already")
    if target_price is not None and target_price >= price:
        raise Rejected(f"{variant.name} costs {price} already; choose a lower target")
    return shop.wishes.add(
        product_id=variant.product_id,
        variant_id=variant.id,
        name=variant.name,
        target_price=target_price,
    )


@server.write(destructive=True)
def remove_from_wish_list(shop: Shop, /, variant_id: str) -> Wish:
    """Take a variant off the shop wish list, with its alert.

    Args:
        variant_id: The product in one colour and size, e.g. "vnt_310".
    """
    variant = shop.variants[variant_id]
    wishes = shop.wishes.where(variant_id=variant_id)
    if not wishes:
        raise Rejected(f"{variant.name} is not on the wish list; list_wish_list shows what is")
    wish = wishes[0]
    shop.wishes.remove(wish.id)
    return wish
