"""What can be done in the tea shop; the docstring of a tool is what a model reads."""

from typing import Annotated

from msgspec import Meta

from provegym.kernel import Rejected

from .state import Order, Shop, Tea, server

Grams = Annotated[int, Meta(ge=10, le=1000)]


@server.read
def list_teas(shop: Shop, /, name: str = "") -> list[Tea]:
    """List the teas of the shop, and how many grams are left of each.

    Args:
        name: Only teas whose name contains this, e.g. "Assam".
    """
    return [tea for tea in shop.teas if name.lower() in tea.name.lower()]


@server.write
def order_tea(shop: Shop, /, tea_id: str, grams: Grams) -> Order:
    """Order some grams of a tea.

    Args:
        tea_id: Which tea, e.g. "tea_1204".
        grams: How many grams.
    """
    tea = shop.teas[tea_id]
    if tea.grams < grams:
        raise Rejected(f"only {tea.grams} grams of {tea.name} are left; order less")
    shop.teas.update(tea_id, grams=tea.grams - grams)
    return shop.orders.add(tea_id=tea_id, grams=grams)
