"""Draws a city: a grid of streets with houses, businesses, and the traces its user left."""

from datetime import timedelta
from itertools import pairwise
from math import ceil
from random import Random
from typing import Any, get_args

from provegym.kernel import Seed
from provegym.servers import people, words

from .records import Category, Mode, ProblemKind
from .state import City, server

WORDS = words("maps")
Grid = dict[tuple[int, int], str]


@server.seed
def draw(seed: Seed) -> City:
    """A city of some sixty junctions and somebody who lives there."""
    city, chance, grid = City(seed), seed.random, Grid()
    rows, columns = chance.choice(((7, 8), (8, 8), (8, 7), (9, 7), (8, 9), (9, 8)))
    north, west, wide = chance.uniform(38, 58), chance.uniform(-8, 28), chance.uniform(3, 5)
    cells = [(row, column) for row in range(rows) for column in range(columns)]
    for row, column in chance.sample(cells, len(cells)):
        latitude = round(north - (row + chance.uniform(-0.2, 0.2)) * 0.0025, 5)
        longitude = round(west + (column + chance.uniform(-0.2, 0.2)) * wide / 1000, 5)
        grid[row, column] = city.junctions.add(latitude=latitude, longitude=longitude).id
    _build(city, chance, grid)
    _leave_traces(city, chance, [person.name for person in people.others(seed, 6)])
    return city


def _build(city: City, chance: Random, grid: Grid) -> None:
    """A street per row and column; rows and outer columns are whole, so that cars get anywhere."""
    rows, columns = max(grid)
    lines = [[cell for cell in sorted(grid) if cell[0] == row] for row in range(rows + 1)]
    lines += [[cell for cell in sorted(grid) if cell[1] == column] for column in range(columns + 1)]
    names = [f"{stem} {chance.choice(WORDS['endings'])}" for stem in WORDS["streets"]]
    names, areas = chance.sample(names, len(lines)), chance.sample(WORDS["districts"], 4)
    names[0] = f"{names[0].split()[0]} Bypass"
    kinds = ["motorway", *chance.choices(("main", "residential", "residential"), k=len(lines))]
    trades = list(zip(get_args(Category) * 5, chance.sample(WORDS["stems"], 40), strict=True))
    blocks = [(index, pair) for index, line in enumerate(lines) for pair in pairwise(line)]
    for index, block in chance.sample(blocks, len(blocks)):
        (row, column), across, ends = block[0], index <= rows, chance.sample(block, 2)
        dice = 1 if across or row == 0 or column in (0, columns) else chance.random()
        if dice < 0.1:
            continue
        crossings = [names[rows + 1 + c] if across else names[r] for r, c in ends]
        start, end = (city.junctions[grid[cell]] for cell in ends)
        kind = "path" if dice < 0.2 else kinds[index]
        road = {"street": names[index], "kind": kind, "speed_kmh": WORDS["speeds"][kind]}
        road |= {"from_street": crossings[0], "to_street": crossings[1], "tram": index % 3 == 1}
        road |= {"start_id": start.id, "end_id": end.id, "one_way": 0.2 < dice < 0.6}
        length = start.distance(end.latitude, end.longitude) * chance.uniform(1, 1.2)
        city.segments.add(meters=ceil(length), **road)
        if kind in ("main", "residential") and chance.random() < 0.8:
            number = 20 * (column if across else row) + chance.randrange(1, 20)
            spot = [x + chance.uniform(-5, 5) / 10_000 for x in (start.latitude, start.longitude)]
            address, area = (
                f"{number} {names[index]}",
                2 * (2 * row > rows) + (2 * column > columns),
            )
            house = {"junction_id": start.id, "meters": chance.randint(5, 90), "address": address}
            trade = _trade(chance, *trades.pop()) if trades and chance.random() < 0.6 else {}
            house |= {"district": areas[area], "name": address, **trade}
            city.places.add(latitude=round(spot[0], 5), longitude=round(spot[1], 5), **house)
    for junction in list(city.junctions):
        roads = (road.id for road in city.segments if junction.id in (road.start_id, road.end_id))
        city.junctions.update(junction.id, exits=tuple(roads))


def _trade(chance: Random, kind: Category, stem: str) -> dict[str, Any]:
    """A business: some have nobody's review, some the user's, some are gone."""
    hours = {"opens": chance.randint(6, 11), "closes": chance.randint(16, 23)}
    name, count = f"{stem} {chance.choice(WORDS['suffixes'][kind])}", chance.randrange(-9, 99)
    stars = {"rating": chance.randint(20, 49) / 10, "review_count": count} if count > 0 else {}
    mine = {"my_stars": chance.randint(1, 5)} if stars and count % 4 == 0 else {}
    status = {"closed_for_good": chance.random() < 0.12, "day_off": chance.choice(WORDS["days"])}
    return {"name": name, "category": kind, **hours, **status, **stars, **mine}


def _leave_traces(city: City, chance: Random, friends: list[str]) -> None:
    """Lists, one of them full; journeys, maybe one that still runs; problems on the roads."""
    known = [place for place in city.places if not place.closed_for_good]
    shops, homes = [p for p in known if p.category], [p for p in known if not p.category]
    titles = ["Favourites"] * 6 + chance.choices(WORDS["lists"], k=7) + ["Home", "Work"]
    places = [*chance.sample(shops, 13), *chance.sample(homes, 2)]
    for title, place in chance.sample(list(zip(titles, places, strict=True)), 15):
        friend = chance.choice([*[""] * 9, *friends]) if place.category else ""
        city.saved.add(list_name=title, place_id=place.id, name=place.name, added_by=friend)
    ages = [chance.randrange(200, 20_000) for _ in range(chance.randint(8, 12))]
    for age in [*ages, 0] if chance.random() < 0.5 else ages:
        (origin, target), mode = chance.sample(known, 2), chance.choice(get_args(Mode))
        start, told = city.now - timedelta(minutes=age), tuple(chance.sample(friends, age % 4))
        route = city.routes(origin, [target], mode, start)[0]
        trip = {"route": route, "arrives_at": start + timedelta(minutes=route.minutes)}
        trip |= {"contact_names": told, "status": "arrived" if age else "active"}
        city.journeys.add(destination=target.name, **trip)
    for road in chance.sample(list(city.segments), 9):
        kind, left = chance.choice(get_args(ProblemKind)), chance.randrange(10, 400)
        until = city.now + timedelta(minutes=left)
        city.segments.update(road.id, problem=kind, problem_until=until)
