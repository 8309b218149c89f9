"""Draws an account's travellers, the flights and rooms around today, and six days of bookings."""

from contextlib import suppress
from datetime import timedelta
from random import Random

from provegym.kernel import Seed, ToolError, money
from provegym.servers import people, words

from . import reservations
from .state import Desk, Fare, Hotel, RoomNight, seat_names, server

WORDS = words("travel_booking")
# Flights leave so many hours from now (from, and before): some have left, most leave soon.
DEPARTURES = ((-140, 0), (2, 30), (6, 60), (60, 340))
# The least age in days: an adult is 19, a child 10. The acting user is always an adult.
ADULT = 7_000
CHILD = 4_000


@server.seed
def draw(seed: Seed) -> Desk:
    """Eight travellers, sixty flights to and from one of three cities, and five hotels."""
    desk = Desk(seed)
    chance = seed.random
    home, *abroad = chance.sample(WORDS["cities"], 3)
    user = people.acting_user(seed)
    for person in chance.sample([user, *people.others(seed, 7)], 8):
        _add_traveller(desk, chance, person, youngest=ADULT if person == user else CHILD)
    for _ in range(60):
        origin, destination = chance.sample([home, chance.choice(abroad)], 2)
        _plan_flight(desk, chance, origin, destination)
    for name in chance.sample(WORDS["hotels"], 5):
        city = chance.choice([home, *abroad])
        hotel = desk.hotels.add(name=name, city=city, stars=chance.randint(2, 5))
        _open_rooms(desk, chance, hotel)
    for name in chance.sample(WORDS["itineraries"], 5):
        desk.itineraries.add(name=name)
    _live_through_six_days(desk, chance)
    return desk


def _add_traveller(desk: Desk, chance: Random, person: people.Person, youngest: int) -> None:
    """Add somebody up to 57 years old, whose document may have expired or expire soon."""
    today = desk.now.date()
    days_old = chance.randrange(youngest, 21_000)
    days_valid = chance.choice((-40, 2, 400, 800, 900, 1_600)) + days_old % 30
    desk.travellers.add(
        name=person.name,
        born=today - timedelta(days=days_old),
        document=f"P{chance.randrange(10**7, 10**8)}",
        document_expires=today + timedelta(days=days_valid),
    )


def _plan_flight(desk: Desk, chance: Random, origin: str, destination: str) -> None:
    """Plan a flight; strangers sit in every seat that no fare offers."""
    hours = chance.randrange(*chance.choice(DEPARTURES))
    departs_at = desk.now + timedelta(hours=hours, minutes=5 * chance.randrange(12))
    arrives_at = departs_at + timedelta(minutes=5 * chance.randrange(10, 60))
    rows = chance.randint(6, 8)
    fares = _draw_fares(chance)
    seats = seat_names(rows)
    taken = chance.sample(seats, len(seats) - sum(fare.left for fare in fares))
    airline = chance.choice(WORDS["airlines"])
    desk.flights.add(
        number=f"{airline} {chance.randrange(100, 999)}",
        origin=origin,
        destination=destination,
        departs_at=departs_at,
        arrives_at=arrives_at,
        rows=rows,
        fares=fares,
        taken=tuple(taken),
    )


def _draw_fares(chance: Random) -> tuple[Fare, ...]:
    """The fares of a flight, each a multiple of its base price, some of them sold out."""
    base_price = chance.randrange(20, 95)
    return tuple(
        Fare(name=name, price=money(base_price * factor), left=chance.randint(0, 6))
        for name, factor in WORDS["fares"].items()
    )


def _open_rooms(desk: Desk, chance: Random, hotel: Hotel) -> None:
    """Offer two kinds of room from six days ago to two weeks ahead."""
    for room in chance.sample(WORDS["rooms"], 2):
        for day in range(-6, 14):
            night = desk.now.date() + timedelta(days=day)
            rooms = chance.randrange(6)
            offered = RoomNight(
                key=f"{hotel.id} {room} {night}",
                night=night,
                price=money(5 * chance.randrange(11, 40)),
                rooms=rooms,
                left=rooms,
            )
            desk.room_nights.put(offered)


def _live_through_six_days(desk: Desk, chance: Random) -> None:
    """Go back six days, give points as a welcome, and try things every two hours until now."""
    desk.now -= timedelta(days=6)
    desk.book("welcome", money(0), 10 * chance.randrange(100, 900))
    for _ in range(6 * 12):
        with suppress(ToolError):
            _use_desk(desk, chance)
        desk.pass_time(120)


def _use_desk(desk: Desk, chance: Random) -> None:
    """Try to check in and to book; a rule that forbids a step ends the attempt there."""
    _check_in(desk, chance)
    traveller_id = chance.choice(list(desk.travellers)).id
    itinerary_id = chance.choice(list(desk.itineraries)).id
    hotel_id = chance.choice(list(desk.hotels)).id
    room = chance.choice(WORDS["rooms"])
    flight = chance.choice(list(desk.flights))
    fare = chance.choice(list(WORDS["fares"]))
    if chance.random() < 0.4:
        arrival = desk.now.date() + timedelta(days=chance.randrange(12))
        nights = chance.randint(1, 3)
        stay = reservations.book_hotel_room(desk, hotel_id, room, arrival, nights, traveller_id)
        reservations.add_itinerary_booking(desk, itinerary_id, stay.reference)
    trip = reservations.hold_flight(desk, flight.id, traveller_id, fare)
    if chance.random() < 0.75:
        reservations.ticket_flight(desk, trip.id, 100 * chance.randrange(3))
        reservations.select_flight_seat(desk, trip.id, chance.choice(desk.free_seats(flight)))
        reservations.add_itinerary_booking(desk, itinerary_id, trip.reference)


def _check_in(desk: Desk, chance: Random) -> None:
    """Check some of those in who leave within a day."""
    for trip in desk.trips.where(status="ticketed", checked_in=False):
        if chance.random() < 0.15 and trip.departs_at < desk.now + timedelta(days=1):
            reservations.check_in_flight(desk, trip.id)
