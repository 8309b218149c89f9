"""What the tea shop knows, and how a shop is drawn from a seed."""

from provegym.kernel import Record, Seed, Server, State, Table, table

NAMES = [
    f"{place} {sort}"
    for place in ("Assam", "Darjeeling", "Nilgiri", "Keemun", "Yunnan", "Kandy", "Kericho")
    for sort in ("Black", "Green", "White", "Oolong", "Smoked", "Spring", "Autumn")
]


class Tea(Record, frozen=True):
    """A tea, and how many grams of it are left."""

    id: str
    name: str
    grams: int


class Order(Record, frozen=True):
    """Some grams that were ordered."""

    id: str
    tea_id: str
    grams: int


class Shop(State):
    """The shop; `look_up` names the tool that shows the ids of a table."""

    teas: Table[Tea] = table(Tea, "tea", look_up="list_teas")
    orders: Table[Order] = table(Order, "teaorder")

    def check(self) -> None:
        """What is always true."""
        assert all(tea.grams >= 0 for tea in self.teas)


server = Server("tea_shop", Shop, category="own", about="A shop that sells tea by the gram.")


@server.seed
def draw(seed: Seed) -> Shop:
    """Forty teas; equal seeds give equal shops, since all chance comes from the seed."""
    shop = Shop(seed)
    for name in seed.random.sample(NAMES, 40):
        shop.teas.add(name=name, grams=seed.random.randrange(0, 2000, 50))
    return shop
