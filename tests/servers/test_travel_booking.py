"""The rules of the travel desk, told on three flights, one hotel and two travellers."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session, money
from provegym.servers.travel_booking import server
from provegym.servers.travel_booking.state import Desk, Fare, FareName, FlightBooking, RoomNight

Ids = dict[str, str]
PRICES: dict[FareName, int] = {"basic": 50, "standard": 80, "flex": 120}


@pytest.fixture
def ids() -> Ids:
    """Ids by short names."""
    return {}


@pytest.fixture
def session(ids: Ids) -> Session:
    """Ines and her son Bo; flights to Calder in 2 and 5 days, one back, and a hotel there."""
    desk = Desk(Seed(0))
    today = desk.now.date()
    for name, years, valid in (("Ines", 40, 900), ("Bo", 10, 3)):
        born, expires = today - timedelta(days=years * 366), today + timedelta(days=valid)
        person = {"document": f"P{years}00{valid}", "document_expires": expires}
        ids[name] = desk.travellers.add(name=name, born=born, **person).id
    for number, days, more in (("AB 1", 2, 0), ("AB 2", 5, 30), ("AB 3", 6, 0)):
        back = number == "AB 3"
        origin, destination = ("Calder", "Dorvik") if back else ("Dorvik", "Calder")
        departs = desk.now + timedelta(days=days)
        fares = tuple(Fare(name=n, price=money(p + more), left=1) for n, p in PRICES.items())
        leg = {"origin": origin, "destination": destination, "departs_at": departs}
        leg |= {"arrives_at": departs + timedelta(hours=2), "fares": fares, "taken": ("1A",)}
        ids[number] = desk.flights.add(number=number, rows=4, **leg).id
    _fill(desk)
    hotel = desk.hotels.add(name="Salt Works", city="Calder", stars=3)
    ids["hotel"] = hotel.id
    for day in range(8):
        night = today + timedelta(days=day)
        left = 0 if day == 6 else 1
        key = f"{hotel.id} double {night}"
        desk.room_nights.put(
            RoomNight(key=key, night=night, price=money(90 + day), rooms=left, left=left)
        )
    ids["trip"] = desk.itineraries.add(name="Spring fair").id
    desk.book("welcome", money(0), 6_000)
    desk.check()
    return Session.over(server, desk)


def _fill(desk: Desk) -> None:
    """Let strangers sit wherever no fare is on offer."""
    for flight in list(desk.flights):
        seats = [f"{row}{letter}" for row in range(1, flight.rows + 1) for letter in "ABCD"]
        desk.flights.update(flight.id, taken=tuple(seats[: len(seats) - 3]))


def desk_of(session: Session) -> Desk:
    """The state, with its invariants asserted."""
    session.check()
    state = session.state(server)
    assert isinstance(state, Desk)
    return state


def done(session: Session, tool: str, **arguments: Any) -> Any:
    """The result of a call that must succeed."""
    outcome = session.call(tool, arguments)
    assert outcome.ok, outcome.text
    desk_of(session)
    return outcome.value


def refused(session: Session, tool: str, **arguments: Any) -> Outcome:
    """The refusal of a call that a rule must stop."""
    outcome = session.call(tool, arguments)
    assert outcome.error == "rejected", outcome.text
    return outcome


def hold(session: Session, ids: Ids, flight: str, who: str = "Ines", fare: str = "flex") -> str:
    """The id of a new hold."""
    where = {"flight_id": ids[flight], "traveller_id": ids[who], "fare": fare}
    return str(done(session, "hold_flight", **where)["id"])


def ticket(session: Session, ids: Ids, flight: str, who: str = "Ines", fare: str = "flex") -> str:
    """The id of a new ticketed booking."""
    booking = hold(session, ids, flight, who, fare)
    done(session, "ticket_flight", flight_booking_id=booking)
    return booking


def trip(session: Session, booking: str) -> FlightBooking:
    return desk_of(session).trips[booking]


def paid(session: Session, reference: str) -> Decimal:
    """What was paid for a booking and not refunded."""
    entries = desk_of(session).ledger.where(reference=reference)
    return sum((entry.money for entry in entries), money(0))


def left(session: Session, flight_id: str, fare: str) -> int:
    """How many seats of a fare are left."""
    return next(f.left for f in desk_of(session).flights[flight_id].fares if f.name == fare)


def stay(session: Session, ids: Ids, days: int, nights: int, who: str = "Ines") -> dict[str, Any]:
    """Arguments for a double room some days from now."""
    arrival = session.now.date() + timedelta(days=days)
    room = {"hotel_id": ids["hotel"], "room": "double", "traveller_id": ids[who]}
    return {**room, "arrival": str(arrival), "nights": nights}


def test_a_hold_takes_a_seat_and_expires_after_a_day(session: Session, ids: Ids) -> None:
    booking = hold(session, ids, "AB 1")
    assert left(session, ids["AB 1"], "flex") == 0
    session.advance(24 * 60)
    assert trip(session, booking).status == "expired"
    assert left(session, ids["AB 1"], "flex") == 1
    assert "expired" in refused(session, "ticket_flight", flight_booking_id=booking).text


def test_a_sold_out_fare_cannot_be_held(session: Session, ids: Ids) -> None:
    hold(session, ids, "AB 1")
    where = {"flight_id": ids["AB 1"], "traveller_id": ids["Bo"]}
    assert "sold out" in refused(session, "hold_flight", fare="flex", **where).text
    assert done(session, "hold_flight", fare="basic", **where)["status"] == "held"


def test_flights_that_leave_soon_cannot_be_held(session: Session, ids: Ids) -> None:
    session.advance(2 * 24 * 60 - 179)
    where = {"flight_id": ids["AB 1"], "traveller_id": ids["Ines"], "fare": "basic"}
    assert "too soon" in refused(session, "hold_flight", **where).text


def test_documents_must_last_until_arrival(session: Session, ids: Ids) -> None:
    where = {"flight_id": ids["AB 2"], "traveller_id": ids["Bo"], "fare": "flex"}
    assert "document" in refused(session, "hold_flight", **where).text
    new = {"traveller_id": ids["Bo"], "document": "C9988776"}
    soon, later = (str(session.now.date() + timedelta(days=n)) for n in (29, 400))
    assert refused(session, "update_travel_document", expires=soon, **new)
    done(session, "update_travel_document", expires=later, **new)
    assert done(session, "hold_flight", **where)["traveller_name"] == "Bo"


def test_nobody_sits_on_a_flight_twice(session: Session, ids: Ids) -> None:
    ticket(session, ids, "AB 1")
    where = {"flight_id": ids["AB 1"], "traveller_id": ids["Ines"], "fare": "basic"}
    assert "already" in refused(session, "hold_flight", **where).text


def test_points_pay_for_part_of_a_ticket(session: Session, ids: Ids) -> None:
    booking = hold(session, ids, "AB 1", fare="basic")
    where = {"flight_booking_id": booking}
    assert "only 6000" in refused(session, "ticket_flight", points=6_001, **where).text
    assert "50.00" in refused(session, "ticket_flight", points=5_001, **where).text
    made = done(session, "ticket_flight", points=2_000, **where)
    assert paid(session, made["reference"]) == 30
    assert desk_of(session).points() == 4_000
    assert "ticketed" in refused(session, "ticket_flight", **where).text


def test_flying_earns_points_and_staying_away_does_not(session: Session, ids: Ids) -> None:
    flown, missed = ticket(session, ids, "AB 1"), ticket(session, ids, "AB 1", "Bo", "basic")
    session.advance(30 * 60)
    done(session, "check_in_flight", flight_booking_id=flown)
    session.advance(24 * 60)
    assert (trip(session, flown).status, trip(session, missed).status) == ("flown", "no_show")
    assert desk_of(session).points() == 6_240


def test_points_expire_sixty_days_after_the_last_gain(session: Session) -> None:
    session.advance(60 * 24 * 60 - 1)
    assert desk_of(session).points() == 6_000
    session.advance(1)
    assert desk_of(session).points() == 0
    newest = done(session, "list_travel_payments")["items"][0]
    assert (newest["points"], newest["balance"]) == (-6_000, 0)


def test_a_change_costs_the_difference_and_a_fee(session: Session, ids: Ids) -> None:
    booking = ticket(session, ids, "AB 1", fare="standard")
    done(session, "select_flight_seat", flight_booking_id=booking, seat="4b")
    made = done(session, "change_flight", flight_booking_id=booking, new_flight_id=ids["AB 2"])
    assert (made["price"], made["fees"], made["flight_number"]) == (110, 45, "AB 2")
    assert paid(session, made["reference"]) == 155
    assert trip(session, booking).seat is None
    assert (left(session, ids["AB 1"], "standard"), left(session, ids["AB 2"], "standard")) == (
        1,
        0,
    )


def test_a_cheaper_flight_is_not_refunded(session: Session, ids: Ids) -> None:
    booking = ticket(session, ids, "AB 2")
    made = done(session, "change_flight", flight_booking_id=booking, new_flight_id=ids["AB 1"])
    assert paid(session, made["reference"]) == made["price"] == 150


def test_changes_stay_on_the_route_and_never_touch_basic(session: Session, ids: Ids) -> None:
    flex, basic = ticket(session, ids, "AB 1"), ticket(session, ids, "AB 1", "Bo", "basic")
    change = "change_flight"
    assert refused(session, change, flight_booking_id=flex, new_flight_id=ids["AB 3"])
    assert refused(session, change, flight_booking_id=flex, new_flight_id=ids["AB 1"])
    assert (
        "basic" in refused(session, change, flight_booking_id=basic, new_flight_id=ids["AB 2"]).text
    )


@pytest.mark.parametrize(("fare", "refund"), [("basic", 0), ("standard", 35), ("flex", 120)])
def test_refunds_depend_on_the_fare(
    session: Session, ids: Ids, fare: FareName, refund: int
) -> None:
    booking = ticket(session, ids, "AB 1", fare=fare)
    made = done(session, "cancel_flight_booking", flight_booking_id=booking)
    assert trip(session, booking).refunded == refund
    assert paid(session, made["reference"]) == PRICES[fare] - refund
    assert left(session, ids["AB 1"], fare) == 1
    assert refused(session, "cancel_flight_booking", flight_booking_id=booking)


def test_a_hold_is_given_back_for_nothing(session: Session, ids: Ids) -> None:
    booking = hold(session, ids, "AB 1")
    made = done(session, "cancel_flight_booking", flight_booking_id=booking)
    assert made["status"] == "cancelled"
    assert paid(session, made["reference"]) == 0


def test_seats_are_chosen_once_each(session: Session, ids: Ids) -> None:
    ines, bo = ticket(session, ids, "AB 1"), ticket(session, ids, "AB 1", "Bo", "standard")
    free = done(session, "get_flight_seats", flight_id=ids["AB 1"])
    assert free == {"exit_row": 2, "free": ["4B", "4C", "4D"]}
    done(session, "select_flight_seat", flight_booking_id=ines, seat="4B")
    for seat in ("4B", "1A", "9F", ""):
        assert refused(session, "select_flight_seat", flight_booking_id=bo, seat=seat)


def test_basic_fares_get_a_seat_at_check_in(session: Session, ids: Ids) -> None:
    booking = ticket(session, ids, "AB 1", fare="basic")
    assert refused(session, "select_flight_seat", flight_booking_id=booking, seat="4B")
    session.advance(24 * 60)
    assert done(session, "check_in_flight", flight_booking_id=booking)["seat"] == "4D"


def test_children_do_not_sit_at_the_exit(session: Session, ids: Ids) -> None:
    desk = desk_of(session)
    taken = tuple(f"{row}{letter}" for row in (1, 3, 4) for letter in "ABCD")
    left = {"basic": 1, "standard": 1, "flex": 2}
    fares = tuple(
        Fare(name=fare.name, price=fare.price, left=left[fare.name])
        for fare in desk.flights[ids["AB 1"]].fares
    )
    desk.flights.update(ids["AB 1"], taken=taken, fares=fares)
    ines, bo = ticket(session, ids, "AB 1"), ticket(session, ids, "AB 1", "Bo")
    assert "young" in refused(session, "select_flight_seat", flight_booking_id=bo, seat="2A").text
    assert done(session, "select_flight_seat", flight_booking_id=ines, seat="2A")


def test_check_in_has_a_window(session: Session, ids: Ids) -> None:
    booking = ticket(session, ids, "AB 1")
    where = {"flight_booking_id": booking}
    session.advance(24 * 60 - 1)
    assert "opens" in refused(session, "check_in_flight", **where).text
    late = session.fork()
    session.advance(1)
    done(session, "check_in_flight", **where)
    for tool in ("check_in_flight", "cancel_flight_booking"):
        assert "checked in" in refused(session, tool, **where).text
    late.advance(23 * 60 + 2)
    assert "closed" in refused(late, "check_in_flight", **where).text


def test_a_stay_takes_a_room_in_every_night(session: Session, ids: Ids) -> None:
    made = done(session, "book_hotel_room", **stay(session, ids, 3, 3))
    assert made["price"] == paid(session, made["reference"]) == 93 + 94 + 95
    where = {"hotel_id": ids["hotel"], "arrival": made["arrival"], "nights": 4}
    nights = done(session, "search_hotel_rooms", **where)["items"]
    assert [night["left"] for night in nights] == [0, 0, 0, 0]
    assert "1 of 2" in refused(session, "book_hotel_room", **stay(session, ids, 2, 2)).text
    session.advance(7 * 24 * 60)
    assert desk_of(session).stays[made["id"]].status == "stayed"


def test_rooms_are_for_adults_from_today_on(session: Session, ids: Ids) -> None:
    assert "under age" in refused(session, "book_hotel_room", **stay(session, ids, 3, 1, "Bo")).text
    assert "over" in refused(session, "book_hotel_room", **stay(session, ids, -1, 1)).text
    assert refused(session, "book_hotel_room", **stay(session, ids, 6, 1))
    far = {**stay(session, ids, 3, 1), "arrival": str(date.max)}
    assert refused(session, "book_hotel_room", **far)


def test_late_cancelling_costs_a_night(session: Session, ids: Ids) -> None:
    early, late = (
        done(session, "book_hotel_room", **stay(session, ids, days, 2)) for days in (4, 1)
    )
    cancel = "cancel_hotel_booking"
    assert done(session, cancel, hotel_booking_id=early["id"])["refunded"] == early["price"]
    done(session, cancel, hotel_booking_id=late["id"])
    assert paid(session, late["reference"]) == Decimal("91.50")
    assert refused(session, cancel, hotel_booking_id=late["id"])


def test_a_stay_that_began_is_not_cancelled(session: Session, ids: Ids) -> None:
    made = done(session, "book_hotel_room", **stay(session, ids, 0, 2))
    assert refused(session, "cancel_hotel_booking", hotel_booking_id=made["id"])


def test_an_itinerary_gathers_flights_and_stays(session: Session, ids: Ids) -> None:
    flight = trip(session, ticket(session, ids, "AB 1"))
    room = done(session, "book_hotel_room", **stay(session, ids, 2, 3))
    where = {"itinerary_id": ids["trip"]}
    for reference in (flight.reference, room["reference"].lower()):
        done(session, "add_itinerary_booking", reference=reference, **where)
    assert done(session, "list_flight_bookings", **where)["items"][0]["id"] == flight.id
    assert done(session, "list_hotel_bookings", **where)["items"][0]["id"] == room["id"]


def test_itineraries_take_no_dead_bookings_and_no_name_twice(session: Session, ids: Ids) -> None:
    booking = hold(session, ids, "AB 1")
    reference = done(session, "cancel_flight_booking", flight_booking_id=booking)["reference"]
    where = {"itinerary_id": ids["trip"]}
    assert refused(session, "add_itinerary_booking", reference=reference, **where)
    unknown = session.call("add_itinerary_booking", {"reference": "AAAAAA", **where})
    assert unknown.error == "not_found"
    assert refused(session, "create_itinerary", name="spring FAIR")
    assert done(session, "create_itinerary", name="Autumn fair")["name"] == "Autumn fair"


def test_references_differ_and_find_their_booking(session: Session, ids: Ids) -> None:
    bookings = [hold(session, ids, "AB 1", fare=fare) for fare in PRICES]
    codes = [trip(session, booking).reference for booking in bookings]
    assert len(set(codes)) == 3
    assert all(len(code) == 6 for code in codes)
    found = done(session, "list_flight_bookings", reference=codes[1].lower())["items"]
    assert [item["id"] for item in found] == [bookings[1]]
