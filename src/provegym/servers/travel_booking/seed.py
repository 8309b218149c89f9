"""Draws an account's travellers, the flights and rooms around today, and a week of bookings."""

from contextlib import suppress
from datetime import timedelta
from itertools import product
from random import Random

from provegym.kernel import Seed, ToolError, money
from provegym.servers import people, words

from . import tools
from .state import SEATS, Desk, Fare, RoomNight, server

WORDS = words("travel_booking")
FARES = list(WORDS["fares"].items())


@server.seed
def draw(seed: Seed) -> Desk:
    """Eight travellers, sixty flights to and from one of three cities, and five hotels."""
    desk, chance, cities = Desk(seed), seed.random, seed.random.sample(WORDS["cities"], 3)
    for person in chance.sample([people.acting_user(seed), *people.others(seed, 7)], 8):
        days, valid = chance.randrange(4_000, 21_000), chance.choice((-40, 2, 400, 800, 900, 1_600))
        born, expires = (desk.now.date() + timedelta(days=n) for n in (-days, valid + days % 30))
        number = f"P{chance.randrange(10**7, 10**8)}"
        desk.travellers.add(name=person.name, born=born, document=number, document_expires=expires)
    for _ in range(60):
        _plan_flight(desk, chance, chance.sample([cities[0], chance.choice(cities[1:])], 2))
    for name in chance.sample(WORDS["hotels"], 5):
        city, stars = chance.choice(cities), chance.randint(2, 5)
        _open_rooms(desk, chance, desk.hotels.add(name=name, city=city, stars=stars).id)
    for name in chance.sample(WORDS["itineraries"], 5):
        desk.itineraries.add(name=name)
    desk.now -= timedelta(days=6)
    desk.book("welcome", money(0), 10 * chance.randrange(100, 900))
    for _ in range(6 * 12):
        with suppress(ToolError):
            _act(desk, chance)
        desk.pass_time(120)
    return desk


def _plan_flight(desk: Desk, chance: Random, route: list[str]) -> None:
    hours = chance.randrange(*chance.choice(((-140, 0), (2, 30), (6, 60), (60, 340))))
    departs = desk.now + timedelta(hours=hours, minutes=5 * chance.randrange(12))
    arrives = departs + timedelta(minutes=5 * chance.randrange(10, 60))
    rows, price = chance.randint(6, 8), chance.randrange(20, 95)
    seats = [f"{row}{letter}" for row in range(1, rows + 1) for letter in SEATS]
    fares = [Fare(name=n, price=money(price * k), left=chance.randint(0, 6)) for n, k in FARES]
    taken = tuple(chance.sample(seats, len(seats) - sum(fare.left for fare in fares)))
    leg = {"origin": route[0], "destination": route[1], "fares": tuple(fares), "taken": taken}
    number = f"{chance.choice(WORDS['airlines'])} {chance.randrange(100, 999)}"
    desk.flights.add(number=number, departs_at=departs, arrives_at=arrives, rows=rows, **leg)


def _open_rooms(desk: Desk, chance: Random, hotel_id: str) -> None:
    for room, day in product(chance.sample(WORDS["rooms"], 2), range(-6, 14)):
        night, left = desk.now.date() + timedelta(days=day), chance.randrange(6)
        key, price = f"{hotel_id} {room} {night}", money(5 * chance.randrange(11, 40))
        desk.room_nights.put(RoomNight(key=key, night=night, price=price, rooms=left, left=left))


def _act(desk: Desk, chance: Random) -> None:
    """What somebody at the desk tries to do within two hours; the rules may forbid it."""
    for trip in desk.trips.where(status="ticketed", checked_in=False):
        if chance.random() < 0.15 and trip.departs_at < desk.now + timedelta(days=1):
            tools.check_in_flight(desk, trip.id)
    who, journey = chance.choice(list(desk.travellers)).id, chance.choice(list(desk.itineraries)).id
    hotel, room = chance.choice(list(desk.hotels)), chance.choice(WORDS["rooms"])
    flight, fare = chance.choice(list(desk.flights)), chance.choice(FARES)[0]
    if chance.random() < 0.4:
        arrival = desk.now.date() + timedelta(days=chance.randrange(12))
        stay = tools.book_hotel_room(desk, hotel.id, room, arrival, chance.randint(1, 3), who)
        tools.add_itinerary_booking(desk, journey, stay.reference)
    trip = tools.hold_flight(desk, flight.id, who, fare)
    if chance.random() < 0.75:
        tools.ticket_flight(desk, trip.id, 100 * chance.randrange(3))
        tools.select_flight_seat(desk, trip.id, chance.choice(desk.free_seats(flight)))
        tools.add_itinerary_booking(desk, journey, trip.reference)
