"""Draws a city: a grid of streets with houses, businesses, and the traces its user left."""

from datetime import timedelta
from itertools import pairwise
from math import ceil
from random import Random
from typing import NamedTuple, get_args

from provegym.kernel import Seed
from provegym.servers import people, words

from .records import Category, Junction, Mode, Place, ProblemKind
from .state import City, server

WORDS = words("maps")
GRID_SIZES = ((7, 8), (8, 8), (8, 7), (9, 7), (8, 9), (9, 8))

# A row and a column of the grid; a junction lies at every cell.
Cell = tuple[int, int]


class Street(NamedTuple):
    """A row or a column of the grid; it has one name from end to end."""

    name: str
    kind: str
    has_tram: bool
    is_row: bool
    cells: list[Cell]


class Plan(NamedTuple):
    """What a city is built from; businesses leave the list as they find a house."""

    junction_ids: dict[Cell, str]
    rows: list[Street]
    columns: list[Street]
    districts: list[str]
    businesses: list[tuple[Category, str]]

    def is_thoroughfare(self, street: Street, cell: Cell) -> bool:
        """Whether the block that begins at a cell needs a two-way road.

        Rows, outer columns and the ways to the motorway do, so that cars get anywhere.
        """
        row, column = cell
        return street.is_row or row == 0 or column in (0, len(self.columns) - 1)

    def cross_street(self, street: Street, cell: Cell) -> str:
        """The name of the street that a street meets at a cell."""
        row, column = cell
        return self.columns[column].name if street.is_row else self.rows[row].name

    def district(self, cell: Cell) -> str:
        """The quarter of the city that a cell lies in."""
        row, column = cell
        is_south = 2 * row > len(self.rows) - 1
        is_east = 2 * column > len(self.columns) - 1
        return self.districts[2 * is_south + is_east]


@server.seed
def draw(seed: Seed) -> City:
    """A city of some sixty junctions and somebody who lives there."""
    city = City(seed)
    chance = seed.random
    junction_ids = _lay_out_junctions(city, chance)
    plan = _plan_streets(chance, junction_ids)
    _build_blocks(city, chance, plan)
    _connect_junctions(city)
    friends = [person.name for person in people.others(seed, 6)]
    known_places = [place for place in city.places if not place.closed_for_good]
    _save_places(city, chance, known_places, friends)
    _make_journeys(city, chance, known_places, friends)
    _report_problems(city, chance)
    return city


def _lay_out_junctions(city: City, chance: Random) -> dict[Cell, str]:
    """Junctions on a slightly uneven grid somewhere in Europe, by the cell they lie at."""
    rows, columns = chance.choice(GRID_SIZES)
    north = chance.uniform(38, 58)
    west = chance.uniform(-8, 28)
    column_width = chance.uniform(3, 5)
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    junction_ids = {}
    for row, column in chance.sample(cells, len(cells)):
        latitude = north - (row + chance.uniform(-0.2, 0.2)) * 0.0025
        longitude = west + (column + chance.uniform(-0.2, 0.2)) * column_width / 1000
        junction = city.junctions.add(latitude=round(latitude, 5), longitude=round(longitude, 5))
        junction_ids[row, column] = junction.id
    return junction_ids


def _plan_streets(chance: Random, junction_ids: dict[Cell, str]) -> Plan:
    """A street per row and column, four districts, and forty businesses that want a house."""
    cells = sorted(junction_ids)
    last_row, last_column = cells[-1]
    rows = [[cell for cell in cells if cell[0] == row] for row in range(last_row + 1)]
    columns = [[cell for cell in cells if cell[1] == column] for column in range(last_column + 1)]
    lines = rows + columns
    all_names = [f"{stem} {chance.choice(WORDS['endings'])}" for stem in WORDS["streets"]]
    names = chance.sample(all_names, len(lines))
    names[0] = f"{names[0].split()[0]} Bypass"
    districts = chance.sample(WORDS["districts"], 4)
    kinds = ["motorway", *chance.choices(("main", "residential", "residential"), k=len(lines))]
    stems = chance.sample(WORDS["stems"], 40)
    streets = [
        Street(
            name=names[index],
            kind=kinds[index],
            has_tram=index % 3 == 1,
            is_row=index < len(rows),
            cells=line,
        )
        for index, line in enumerate(lines)
    ]
    return Plan(
        junction_ids=junction_ids,
        rows=streets[: len(rows)],
        columns=streets[len(rows) :],
        districts=districts,
        businesses=list(zip(get_args(Category) * 5, stems, strict=True)),
    )


def _build_blocks(city: City, chance: Random, plan: Plan) -> None:
    """Roads from junction to junction, and houses along most of them.

    Where a block is no thoroughfare, it may have no road, a mere path or a one-way road.
    """
    streets = plan.rows + plan.columns
    blocks = [(street, block) for street in streets for block in pairwise(street.cells)]
    for street, block in chance.sample(blocks, len(blocks)):
        start, end = chance.sample(block, 2)
        dice = 1 if plan.is_thoroughfare(street, block[0]) else chance.random()
        if dice < 0.1:
            continue
        kind = "path" if dice < 0.2 else street.kind
        start_junction = city.junctions[plan.junction_ids[start]]
        end_junction = city.junctions[plan.junction_ids[end]]
        distance = start_junction.distance(end_junction.latitude, end_junction.longitude)
        city.segments.add(
            street=street.name,
            from_street=plan.cross_street(street, start),
            to_street=plan.cross_street(street, end),
            kind=kind,
            meters=ceil(distance * chance.uniform(1, 1.2)),
            speed_kmh=WORDS["speeds"][kind],
            start_id=start_junction.id,
            end_id=end_junction.id,
            one_way=0.2 < dice < 0.6,
            tram=street.has_tram,
        )
        if kind in ("main", "residential") and chance.random() < 0.8:
            address = _draw_address(chance, street, block[0])
            district = plan.district(block[0])
            house = _build_house(city, chance, start_junction, address, district)
            if plan.businesses and chance.random() < 0.6:
                category, stem = plan.businesses.pop()
                _open_business(city, chance, house, category, stem)


def _draw_address(chance: Random, street: Street, cell: Cell) -> str:
    """An address in the block that begins at a cell; numbers rise by twenty from block to block."""
    row, column = cell
    blocks_before = column if street.is_row else row
    number = 20 * blocks_before + chance.randrange(1, 20)
    return f"{number} {street.name}"


def _build_house(
    city: City, chance: Random, junction: Junction, address: str, district: str
) -> Place:
    """A house a few steps from a junction; its address is its name."""
    latitude = junction.latitude + chance.uniform(-5, 5) / 10_000
    longitude = junction.longitude + chance.uniform(-5, 5) / 10_000
    return city.places.add(
        name=address,
        address=address,
        district=district,
        junction_id=junction.id,
        meters=chance.randint(5, 90),
        latitude=round(latitude, 5),
        longitude=round(longitude, 5),
    )


def _open_business(city: City, chance: Random, house: Place, category: Category, stem: str) -> None:
    """Make a house a business: some have no reviews, some one of the user's, some are gone."""
    opens = chance.randint(6, 11)
    closes = chance.randint(16, 23)
    suffix = chance.choice(WORDS["suffixes"][category])
    review_count = max(0, chance.randrange(-9, 99))
    rating = chance.randint(20, 49) / 10 if review_count else None
    is_reviewed_by_user = review_count > 0 and review_count % 4 == 0
    my_stars = chance.randint(1, 5) if is_reviewed_by_user else None
    city.places.update(
        house.id,
        name=f"{stem} {suffix}",
        category=category,
        opens=opens,
        closes=closes,
        closed_for_good=chance.random() < 0.12,
        day_off=chance.choice(WORDS["days"]),
        rating=rating,
        review_count=review_count,
        my_stars=my_stars,
    )


def _connect_junctions(city: City) -> None:
    """Tell every junction which roads touch it."""
    for junction in list(city.junctions):
        exits = [road.id for road in city.segments if junction.id in (road.start_id, road.end_id)]
        city.junctions.update(junction.id, exits=tuple(exits))


def _save_places(city: City, chance: Random, known_places: list[Place], friends: list[str]) -> None:
    """The user's lists: Favourites is full, Home and Work have one house each."""
    businesses = [place for place in known_places if place.category]
    houses = [place for place in known_places if not place.category]
    other_lists = chance.choices(WORDS["lists"], k=7)
    list_names = ["Favourites"] * 6 + other_lists + ["Home", "Work"]
    places = chance.sample(businesses, 13) + chance.sample(houses, 2)
    entries = list(zip(list_names, places, strict=True))
    for list_name, place in chance.sample(entries, len(entries)):
        # Now and then a friend put a business there; nine of fifteen times it was the user.
        added_by = chance.choice([*[""] * 9, *friends]) if place.category else ""
        city.saved.add(list_name=list_name, place_id=place.id, name=place.name, added_by=added_by)


def _make_journeys(
    city: City, chance: Random, known_places: list[Place], friends: list[str]
) -> None:
    """About ten journeys of the last two weeks; in half of the worlds one begins just now."""
    minutes_ago = [chance.randrange(200, 20_000) for _ in range(chance.randint(8, 12))]
    if chance.random() < 0.5:
        minutes_ago.append(0)
    for age in minutes_ago:
        origin, destination = chance.sample(known_places, 2)
        mode = chance.choice(get_args(Mode))
        start = city.now - timedelta(minutes=age)
        followers = chance.sample(friends, age % 4)
        route = city.routes(origin, [destination], mode, start)[0]
        city.journeys.add(
            destination=destination.name,
            route=route,
            arrives_at=start + timedelta(minutes=route.minutes),
            status="arrived" if age else "active",
            contact_names=tuple(followers),
        )


def _report_problems(city: City, chance: Random) -> None:
    """Problems on nine roads, which end within some hours."""
    for road in chance.sample(list(city.segments), 9):
        kind = chance.choice(get_args(ProblemKind))
        until = city.now + timedelta(minutes=chance.randrange(10, 400))
        city.segments.update(road.id, problem=kind, problem_until=until)
