"""The rules of the travel desk, told on three flights, one hotel and two travellers."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.people import acting_user
from provegym.servers.travel_booking import server
from provegym.servers.travel_booking.state import Desk as Office
from provegym.servers.travel_booking.state import Fare, FareName, FlightBooking, RoomNight
from servers.desk import Desk

PRICES: dict[FareName, int] = {"basic": 50, "standard": 80, "flex": 120}


class Agency(Desk[Office]):
    """Ines and her son Bo; flights to Calder in 2 and 5 days, one back, and a hotel there."""

    def __init__(self) -> None:
        super().__init__(server, Office(Seed(0)))
        self.today = self.world.now.date()
        self.ines = self.meet("Ines", years=40, valid=900)
        self.bo = self.meet("Bo", years=10, valid=3)
        self.soon = self.fly("AB 1", 2)
        self.later = self.fly("AB 2", 5, more=30)
        self.back = self.fly("AB 3", 6, origin="Calder", destination="Dorvik")
        self.hotel = self.world.hotels.add(name="Salt Works", city="Calder", stars=3).id
        for day in range(8):
            self.offer_night(day, left=0 if day == 6 else 1)
        self.fair = self.world.itineraries.add(name="Spring fair").id
        self.world.book("welcome", money(0), 6_000)
        self.world.check()
        self.start()

    def meet(self, name: str, years: int, valid: int) -> str:
        """A traveller of some years, whose document is valid for some days."""
        born = self.today - timedelta(days=years * 366)
        expires = self.today + timedelta(days=valid)
        person = {"document": f"P{years}00{valid}", "document_expires": expires}
        return self.world.travellers.add(name=name, born=born, **person).id

    def fly(self, number: str, days: int, *, more: int = 0, **route: str) -> str:
        """A flight with one seat left in each fare; strangers sit everywhere else."""
        departs = self.world.now + timedelta(days=days)
        fares = tuple(Fare(name=n, price=money(p + more), left=1) for n, p in PRICES.items())
        seats = [f"{row}{letter}" for row in range(1, 5) for letter in "ABCD"]
        leg = {"origin": "Dorvik", "destination": "Calder", "departs_at": departs, **route}
        leg |= {"arrives_at": departs + timedelta(hours=2), "fares": fares}
        return self.world.flights.add(number=number, rows=4, taken=tuple(seats[:-3]), **leg).id

    def offer_night(self, day: int, left: int) -> None:
        """A double room in the hotel for one night, or none."""
        night = self.today + timedelta(days=day)
        key = f"{self.hotel} double {night}"
        rooms = {"price": money(90 + day), "rooms": left, "left": left}
        self.world.room_nights.put(RoomNight(key=key, night=night, **rooms))

    def hold(self, flight_id: str, traveller_id: str = "", fare: str = "flex") -> str:
        """The id of a new hold, for Ines unless somebody else is named."""
        whose = {"traveller_id": traveller_id or self.ines, "fare": fare}
        return str(self.done("hold_flight", flight_id=flight_id, **whose)["id"])

    def ticket(self, flight_id: str, traveller_id: str = "", fare: str = "flex") -> str:
        """The id of a new ticketed booking."""
        booking = self.hold(flight_id, traveller_id, fare)
        self.done("ticket_flight", flight_booking_id=booking)
        return booking

    def trip(self, booking: str) -> FlightBooking:
        """A flight booking as it is now."""
        return self.state.trips[booking]

    def paid(self, reference: str) -> Decimal:
        """What was paid for a booking and not refunded."""
        entries = self.state.ledger.where(reference=reference)
        return sum((entry.money for entry in entries), money(0))

    def left(self, flight_id: str, fare: str) -> int:
        """How many seats of a fare are left."""
        return next(f.left for f in self.state.flights[flight_id].fares if f.name == fare)

    def stay(self, days: int, nights: int, traveller_id: str = "") -> dict[str, Any]:
        """The arguments for a double room some days from now."""
        arrival = self.session.now.date() + timedelta(days=days)
        room = {"hotel_id": self.hotel, "room": "double"}
        room |= {"traveller_id": traveller_id or self.ines}
        return {**room, "arrival": str(arrival), "nights": nights}


@pytest.fixture
def desk() -> Agency:
    return Agency()


def test_a_hold_takes_a_seat_and_expires_after_a_day(desk: Agency) -> None:
    booking = desk.hold(desk.soon)
    assert desk.left(desk.soon, "flex") == 0
    desk.wait(days=1)
    assert desk.trip(booking).status == "expired"
    assert desk.left(desk.soon, "flex") == 1
    desk.rejected("ticket_flight", "expired", flight_booking_id=booking)


def test_a_sold_out_fare_cannot_be_held(desk: Agency) -> None:
    desk.hold(desk.soon)
    where = {"flight_id": desk.soon, "traveller_id": desk.bo}
    desk.rejected("hold_flight", "sold out", fare="flex", **where)
    assert desk.done("hold_flight", fare="basic", **where)["status"] == "held"


def test_flights_that_leave_soon_cannot_be_held(desk: Agency) -> None:
    desk.wait(2 * 24 * 60 - 179)
    where = {"flight_id": desk.soon, "traveller_id": desk.ines, "fare": "basic"}
    desk.rejected("hold_flight", "too soon", **where)


def test_documents_must_last_until_arrival(desk: Agency) -> None:
    where = {"flight_id": desk.later, "traveller_id": desk.bo, "fare": "flex"}
    desk.rejected("hold_flight", "document", **where)
    new = {"traveller_id": desk.bo, "document": "C9988776"}
    soon, later = (str(desk.today + timedelta(days=n)) for n in (29, 400))
    desk.rejected("update_travel_document", expires=soon, **new)
    desk.done("update_travel_document", expires=later, **new)
    assert desk.done("hold_flight", **where)["traveller_name"] == "Bo"


def test_nobody_is_booked_on_a_flight_twice(desk: Agency) -> None:
    booking = desk.hold(desk.soon)
    where = {"flight_id": desk.soon, "traveller_id": desk.ines, "fare": "basic"}
    desk.rejected("hold_flight", desk.trip(booking).reference, **where)
    desk.done("ticket_flight", flight_booking_id=booking)
    desk.rejected("hold_flight", "already on AB 1 at that time", **where)
    desk.done("cancel_flight_booking", flight_booking_id=booking)
    desk.done("hold_flight", **where)


def test_nobody_is_on_two_planes_at_a_time(desk: Agency) -> None:
    elsewhere = {"origin": "Elm Bay", "destination": "Fenwick"}
    same_time, after = desk.fly("EB 1", 2, **elsewhere), desk.fly("EB 2", 2, **elsewhere)
    landed = desk.world.flights[desk.soon].arrives_at
    desk.world.flights.update(after, departs_at=landed, arrives_at=landed + timedelta(hours=1))
    desk.start()
    desk.hold(desk.soon)
    where = {"traveller_id": desk.ines, "fare": "flex"}
    desk.rejected("hold_flight", "at that time", flight_id=same_time, **where)
    desk.done("hold_flight", flight_id=after, **where)
    desk.hold(same_time, desk.bo)


def test_a_change_gives_up_the_old_flight_but_no_other(desk: Agency) -> None:
    an_hour_later = desk.world.flights[desk.soon].departs_at + timedelta(hours=1)
    next_plane = desk.fly("AB 4", 2)
    times = {"departs_at": an_hour_later, "arrives_at": an_hour_later + timedelta(hours=2)}
    desk.world.flights.update(next_plane, **times)
    desk.start()
    moved, kept = desk.ticket(desk.soon), desk.ticket(desk.later, fare="standard")
    change = {"flight_booking_id": kept, "new_flight_id": next_plane}
    desk.rejected("change_flight", "at that time", **change)
    desk.done("change_flight", flight_booking_id=moved, new_flight_id=next_plane)


def test_points_pay_for_part_of_a_ticket(desk: Agency) -> None:
    booking = desk.hold(desk.soon, fare="basic")
    where = {"flight_booking_id": booking}
    desk.rejected("ticket_flight", "only 6000", points=6_001, **where)
    desk.rejected("ticket_flight", "50.00", points=5_001, **where)
    made = desk.done("ticket_flight", points=2_000, **where)
    assert desk.paid(made["reference"]) == 30
    assert desk.state.points() == 4_000
    desk.rejected("ticket_flight", "ticketed", **where)


def test_flying_earns_points_and_staying_away_does_not(desk: Agency) -> None:
    flown, missed = desk.ticket(desk.soon), desk.ticket(desk.soon, desk.bo, "basic")
    desk.wait(hours=30)
    desk.done("check_in_flight", flight_booking_id=flown)
    desk.wait(days=1)
    assert (desk.trip(flown).status, desk.trip(missed).status) == ("flown", "no_show")
    assert desk.state.points() == 6_240


def test_points_expire_sixty_days_after_the_last_gain(desk: Agency) -> None:
    desk.wait(60 * 24 * 60 - 1)
    assert desk.state.points() == 6_000
    desk.wait(1)
    assert desk.state.points() == 0
    newest = desk.done("list_travel_payments")["items"][0]
    assert (newest["points"], newest["balance"]) == (-6_000, 0)


def test_a_change_costs_the_difference_and_a_fee(desk: Agency) -> None:
    booking = desk.ticket(desk.soon, fare="standard")
    desk.done("select_flight_seat", flight_booking_id=booking, seat="4b")
    made = desk.done("change_flight", flight_booking_id=booking, new_flight_id=desk.later)
    assert (made["price"], made["fees"], made["flight_number"]) == (110, 45, "AB 2")
    assert desk.paid(made["reference"]) == 155
    assert desk.trip(booking).seat is None
    assert (desk.left(desk.soon, "standard"), desk.left(desk.later, "standard")) == (1, 0)


def test_a_cheaper_flight_is_not_refunded(desk: Agency) -> None:
    booking = desk.ticket(desk.later)
    made = desk.done("change_flight", flight_booking_id=booking, new_flight_id=desk.soon)
    assert desk.paid(made["reference"]) == made["price"] == 150


def test_changes_stay_on_the_route_and_never_touch_basic(desk: Agency) -> None:
    flex, basic = desk.ticket(desk.soon), desk.ticket(desk.soon, desk.bo, "basic")
    change = "change_flight"
    desk.rejected(change, flight_booking_id=flex, new_flight_id=desk.back)
    desk.rejected(change, flight_booking_id=flex, new_flight_id=desk.soon)
    desk.rejected(change, "basic", flight_booking_id=basic, new_flight_id=desk.later)


@pytest.mark.parametrize(("fare", "refund"), [("basic", 0), ("standard", 35), ("flex", 120)])
def test_refunds_depend_on_the_fare(desk: Agency, fare: FareName, refund: int) -> None:
    booking = desk.ticket(desk.soon, fare=fare)
    made = desk.done("cancel_flight_booking", flight_booking_id=booking)
    assert desk.trip(booking).refunded == refund
    assert desk.paid(made["reference"]) == PRICES[fare] - refund
    assert desk.left(desk.soon, fare) == 1
    desk.rejected("cancel_flight_booking", flight_booking_id=booking)


def test_a_hold_is_given_back_for_nothing(desk: Agency) -> None:
    booking = desk.hold(desk.soon)
    made = desk.done("cancel_flight_booking", flight_booking_id=booking)
    assert made["status"] == "cancelled"
    assert desk.paid(made["reference"]) == 0


def test_seats_are_chosen_once_each(desk: Agency) -> None:
    ines, bo = desk.ticket(desk.soon), desk.ticket(desk.soon, desk.bo, "standard")
    free = desk.done("get_flight_seats", flight_id=desk.soon)
    assert free == {"exit_row": 2, "free": ["4B", "4C", "4D"]}
    desk.done("select_flight_seat", flight_booking_id=ines, seat="4B")
    for seat in ("4B", "1A", "9F", ""):
        desk.rejected("select_flight_seat", flight_booking_id=bo, seat=seat)


def test_basic_fares_get_a_seat_at_check_in(desk: Agency) -> None:
    booking = desk.ticket(desk.soon, fare="basic")
    desk.rejected("select_flight_seat", flight_booking_id=booking, seat="4B")
    desk.wait(days=1)
    assert desk.done("check_in_flight", flight_booking_id=booking)["seat"] == "4D"


def test_children_do_not_sit_at_the_exit(desk: Agency) -> None:
    taken = tuple(f"{row}{letter}" for row in (1, 3, 4) for letter in "ABCD")
    left = {"basic": 1, "standard": 1, "flex": 2}
    fares = tuple(
        Fare(name=fare.name, price=fare.price, left=left[fare.name])
        for fare in desk.state.flights[desk.soon].fares
    )
    desk.state.flights.update(desk.soon, taken=taken, fares=fares)
    ines, bo = desk.ticket(desk.soon), desk.ticket(desk.soon, desk.bo)
    desk.rejected("select_flight_seat", "young", flight_booking_id=bo, seat="2A")
    assert desk.done("select_flight_seat", flight_booking_id=ines, seat="2A")


def test_children_are_not_checked_in_at_the_exit(desk: Agency) -> None:
    taken = tuple(f"{row}{letter}" for row in (1, 3, 4) for letter in "ABCD")[1:]
    desk.state.flights.update(desk.soon, taken=taken)
    fares = desk.state.flights[desk.soon].fares
    more = tuple(
        Fare(name=f.name, price=f.price, left=f.left + (f.name == "flex") * 2) for f in fares
    )
    desk.state.flights.update(desk.soon, fares=more)
    bo, ines = desk.ticket(desk.soon, desk.bo, "basic"), desk.ticket(desk.soon)
    full = desk.fork()
    desk.wait(days=1)
    assert desk.done("check_in_flight", flight_booking_id=bo)["seat"] == "1A"
    full.done("select_flight_seat", flight_booking_id=ines, seat="1A")
    full.wait(days=1)
    full.rejected("check_in_flight", "too young", flight_booking_id=bo)


def test_people_come_of_age_on_their_birthday(desk: Agency) -> None:
    today = desk.today
    born = today.replace(year=today.year - 18) + timedelta(days=1)
    desk.world.travellers.update(desk.bo, born=born)
    desk.start()
    desk.rejected("book_hotel_room", "under age", **desk.stay(3, 1, desk.bo))
    desk.wait(days=1)
    desk.done("book_hotel_room", **desk.stay(2, 1, desk.bo))


def test_check_in_has_a_window(desk: Agency) -> None:
    booking = desk.ticket(desk.soon)
    where = {"flight_booking_id": booking}
    desk.wait(24 * 60 - 1)
    desk.rejected("check_in_flight", "opens", **where)
    late = desk.fork()
    desk.wait(1)
    desk.done("check_in_flight", **where)
    for tool in ("check_in_flight", "cancel_flight_booking"):
        desk.rejected(tool, "checked in", **where)
    late.wait(2, hours=23)
    late.rejected("check_in_flight", "closed", **where)


def test_a_stay_takes_a_room_in_every_night(desk: Agency) -> None:
    made = desk.done("book_hotel_room", **desk.stay(3, 3))
    assert made["price"] == desk.paid(made["reference"]) == 93 + 94 + 95
    where = {"hotel_id": desk.hotel, "arrival": made["arrival"], "nights": 4}
    nights = desk.done("search_hotel_rooms", **where)["items"]
    assert [night["left"] for night in nights] == [0, 0, 0, 0]
    desk.rejected("book_hotel_room", "1 of 2", **desk.stay(2, 2))
    desk.wait(days=7)
    assert desk.state.stays[made["id"]].status == "stayed"


def test_rooms_are_for_adults_from_today_on(desk: Agency) -> None:
    desk.rejected("book_hotel_room", "under age", **desk.stay(3, 1, desk.bo))
    desk.rejected("book_hotel_room", "over", **desk.stay(-1, 1))
    desk.rejected("book_hotel_room", **desk.stay(6, 1))
    far = {**desk.stay(3, 1), "arrival": str(date.max)}
    desk.rejected("book_hotel_room", **far)


def test_late_cancelling_costs_the_first_night(desk: Agency) -> None:
    early, late = (desk.done("book_hotel_room", **desk.stay(days, 2)) for days in (4, 1))
    cancel = "cancel_hotel_booking"
    assert desk.done(cancel, hotel_booking_id=early["id"])["refunded"] == early["price"]
    desk.done(cancel, hotel_booking_id=late["id"])
    assert desk.paid(late["reference"]) == 91
    desk.rejected(cancel, hotel_booking_id=late["id"])


def test_a_stay_that_began_is_not_cancelled(desk: Agency) -> None:
    made = desk.done("book_hotel_room", **desk.stay(0, 2))
    desk.rejected("cancel_hotel_booking", hotel_booking_id=made["id"])


def test_an_itinerary_gathers_flights_and_stays(desk: Agency) -> None:
    flight = desk.trip(desk.ticket(desk.soon))
    room = desk.done("book_hotel_room", **desk.stay(2, 3))
    where = {"itinerary_id": desk.fair}
    for reference in (flight.reference, room["reference"].lower()):
        desk.done("add_itinerary_booking", reference=reference, **where)
    assert desk.done("list_flight_bookings", **where)["items"][0]["id"] == flight.id
    assert desk.done("list_hotel_bookings", **where)["items"][0]["id"] == room["id"]


def test_itineraries_take_no_dead_bookings_and_no_name_twice(desk: Agency) -> None:
    booking = desk.hold(desk.soon)
    reference = desk.done("cancel_flight_booking", flight_booking_id=booking)["reference"]
    where = {"itinerary_id": desk.fair}
    desk.rejected("add_itinerary_booking", reference=reference, **where)
    desk.not_found("add_itinerary_booking", reference="AAAAAA", **where)
    desk.rejected("create_itinerary", name="spring FAIR")
    assert desk.done("create_itinerary", name="Autumn fair")["name"] == "Autumn fair"


def test_references_differ_and_find_their_booking(desk: Agency) -> None:
    bookings = [desk.hold(flight_id) for flight_id in (desk.soon, desk.later, desk.back)]
    codes = [desk.trip(booking).reference for booking in bookings]
    assert len(set(codes)) == 3
    assert all(len(code) == 6 for code in codes)
    found = desk.done("list_flight_bookings", reference=codes[1].lower())["items"]
    assert [item["id"] for item in found] == [bookings[1]]


def test_the_acting_user_is_an_adult_in_every_world() -> None:
    for number in range(60):
        world = server.world(number)
        user = acting_user(Seed(number))
        (traveller,) = world.travellers.where(name=user.name)
        assert world.age(traveller.id) >= 18
