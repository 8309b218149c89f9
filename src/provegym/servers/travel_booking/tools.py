"""What can be done at the travel desk."""

from datetime import date, datetime, time, timedelta
from typing import Annotated

from msgspec import Meta, Struct

from provegym.kernel import Label, NotFound, Sensitive, forbid, money

from . import state as known
from .state import Desk, FareName, Flight, FlightBooking, HotelBooking, Room, server

Nights = Annotated[int, Meta(ge=1, le=14)]
Points = Annotated[int, Meta(ge=0, le=100_000)]
Document = Annotated[str, Meta(min_length=6, max_length=12, pattern="^[A-Z0-9]+$")]
FEES = {"standard": money(45), "flex": money(0)}


class SeatMap(Struct, frozen=True):
    """The seats of a flight that can be chosen."""

    exit_row: int
    free: tuple[str, ...]


@server.read
def search_flights(
    desk: Desk, /, origin: str = "", destination: str = "", day: date | None = None
) -> list[Flight]:
    """Find flights yet to depart, the earliest first, with prices and seats left per fare.

    Args:
        origin: Only flights from a city whose name contains this.
        destination: Only flights to a city whose name contains this.
        day: Only flights that depart on this day, e.g. "2026-03-14".
    """
    start, end = origin.lower(), destination.lower()
    found = [f for f in desk.flights if start in f.origin.lower() and end in f.destination.lower()]
    found = [f for f in found if f.departs_at > desk.now and day in (None, f.departs_at.date())]
    return sorted(found, key=lambda flight: flight.departs_at)


@server.read
def get_flight_seats(desk: Desk, /, flight_id: str) -> SeatMap:
    """Show which seats of a flight are free, and which row is at the emergency exit.

    Args:
        flight_id: The flight, e.g. "flt_20417".
    """
    flight = desk.flights[flight_id]
    return SeatMap(flight.rows // 2, tuple(desk.free_seats(flight)))


@server.read
def list_hotels(desk: Desk, /, name: str = "", city: str = "") -> list[known.Hotel]:
    """List the hotels in which rooms can be booked.

    Args:
        name: Only hotels whose name contains this.
        city: Only hotels in a city whose name contains this.
    """
    name, city = name.lower(), city.lower()
    return [h for h in desk.hotels if name in h.name.lower() and city in h.city.lower()]


@server.read
def search_hotel_rooms(
    desk: Desk, /, hotel_id: str, arrival: date, nights: Nights, room: Room = "double"
) -> list[known.RoomNight]:
    """Show, night by night, what a kind of room costs in a hotel and how many are left.

    Args:
        hotel_id: The hotel, e.g. "htl_7301".
        arrival: The first night, e.g. "2026-03-14".
        nights: How many nights.
        room: Which kind of room.
    """
    return desk.nights(desk.hotels[hotel_id].id, room, arrival, nights)


@server.read
def list_travellers(desk: Desk, /, name: str = "") -> list[known.Traveller]:
    """List the people the user books travel for, with birthday and travel document.

    Args:
        name: Only travellers whose name contains this.
    """
    return [traveller for traveller in desk.travellers if name.lower() in traveller.name.lower()]


@server.read
def list_flight_bookings(
    desk: Desk, /, reference: str = "", traveller_name: str = "", itinerary_id: str | None = None
) -> list[FlightBooking]:
    """List flight bookings with fare, seat and status, the latest departure first.

    Args:
        reference: Only the booking with this reference, e.g. "K7QX2M".
        traveller_name: Only bookings of travellers whose name contains this.
        itinerary_id: Only bookings of this itinerary, e.g. "itn_3104".
    """
    code, plan = reference.upper(), itinerary_id and desk.itineraries[itinerary_id].id
    trips = [t for t in desk.trips if code in t.reference and plan in (None, t.itinerary_id)]
    found = [t for t in trips if traveller_name.lower() in t.traveller_name.lower()]
    return sorted(found, key=lambda trip: trip.departs_at, reverse=True)


@server.read
def list_hotel_bookings(
    desk: Desk, /, reference: str = "", hotel_name: str = "", itinerary_id: str | None = None
) -> list[HotelBooking]:
    """List hotel bookings with guest, nights and status, the latest arrival first.

    Args:
        reference: Only the booking with this reference, e.g. "K7QX2M".
        hotel_name: Only bookings in hotels whose name contains this.
        itinerary_id: Only bookings of this itinerary, e.g. "itn_3104".
    """
    code, plan = reference.upper(), itinerary_id and desk.itineraries[itinerary_id].id
    stays = [s for s in desk.stays if code in s.reference and plan in (None, s.itinerary_id)]
    found = [s for s in stays if hotel_name.lower() in s.hotel_name.lower()]
    return sorted(found, key=lambda stay: stay.arrival, reverse=True)


@server.read
def list_itineraries(desk: Desk, /, name: str = "") -> list[known.Itinerary]:
    """List the travel itineraries in which bookings are gathered.

    Args:
        name: Only itineraries whose name contains this.
    """
    return [i for i in desk.itineraries if name.lower() in i.name.lower()]


@server.read
def list_travel_payments(desk: Desk, /, reference: str = "") -> list[known.LedgerEntry]:
    """List travel payments, refunds and loyalty points, newest first; points expire after 60 days.

    Args:
        reference: Only payments for the booking with this reference, e.g. "K7QX2M".
    """
    return [entry for entry in reversed(list(desk.ledger)) if reference.upper() in entry.reference]


@server.write(idempotent=True)
def update_travel_document(
    desk: Desk, /, traveller_id: str, document: Sensitive[Document], expires: date
) -> known.Traveller:
    """Save a traveller's new passport or identity card.

    Args:
        traveller_id: Whose it is, e.g. "trv_8812".
        document: Its number in capitals and digits, e.g. "P48210337".
        expires: Its last day, at least 30 days from now, e.g. "2031-05-20".
    """
    forbid(expires < desk.now.date() + timedelta(days=30), "that document expires within 30 days")
    return desk.travellers.update(traveller_id, document=document, document_expires=expires)


@server.write
def hold_flight(desk: Desk, /, flight_id: str, traveller_id: str, fare: FareName) -> FlightBooking:
    """Hold a place on a flight for a day, or until two hours before it leaves, without paying.

    Args:
        flight_id: The flight, e.g. "flt_20417"; it leaves in three hours or later.
        traveller_id: Who flies, e.g. "trv_8812"; the travel document must last until arrival.
        fare: Basic cannot be changed or refunded, standard can for 45, flex can free of charge.
    """
    traveller, flight = desk.travellers[traveller_id], desk.flights[flight_id]
    price = desk.offer(flight_id, fare, traveller).price
    until = min(desk.now + timedelta(days=1), flight.departs_at - timedelta(hours=2))
    who = {"traveller_id": traveller_id, "traveller_name": traveller.name, "held_until": until}
    terms = {"reference": desk.new_reference(), "fare": fare, "price": price, "status": "held"}
    return desk.trips.add(**who, **terms, **desk.sell(flight_id, fare, 1))


@server.write
def ticket_flight(desk: Desk, /, flight_booking_id: str, points: Points = 0) -> FlightBooking:
    """Pay for a held flight booking with money and, if wanted, loyalty points; 100 are worth 1.

    Args:
        flight_booking_id: The held booking, e.g. "fbk_5120".
        points: How many loyalty points to use, worth no more than the price.
    """
    trip, value = desk.trips[flight_booking_id], money(money(points) / 100)
    forbid(trip.status != "held", f"{trip.reference} is {trip.status}, not held")
    forbid(points > desk.points(), f"there are only {desk.points()} loyalty points; use fewer")
    forbid(value > trip.price, f"the price is only {trip.price}; use fewer points")
    desk.book(trip.reference, trip.price - value, -points)
    return desk.trips.update(trip.id, status="ticketed", held_until=None, points_used=points)


@server.write
def change_flight(desk: Desk, /, flight_booking_id: str, new_flight_id: str) -> FlightBooking:
    """Move a ticketed standard or flex flight, not checked in, to another between the same cities.

    Args:
        flight_booking_id: The booking, e.g. "fbk_5120"; its seat is given up.
        new_flight_id: The other flight, e.g. "flt_20418"; a price rise is due, and 45 if standard.
    """
    trip, flight = desk.ticketed(flight_booking_id), desk.flights[new_flight_id]
    forbid(trip.fare == "basic", "basic fares cannot be changed; cancel it and book anew")
    elsewhere = (flight.origin, flight.destination) != (trip.origin, trip.destination)
    forbid(elsewhere or flight.id == trip.flight_id, "choose another flight on the same route")
    traveller, fee = desk.travellers[trip.traveller_id], FEES[trip.fare]
    price = max(trip.price, desk.offer(flight.id, trip.fare, traveller).price)
    desk.book(trip.reference, price - trip.price + fee)
    desk.sell(trip.flight_id, trip.fare, -1)
    terms = {"price": price, "fees": trip.fees + fee, "seat": None}
    return desk.trips.update(trip.id, **terms, **desk.sell(flight.id, trip.fare, 1))


@server.write(destructive=True)
def cancel_flight_booking(desk: Desk, /, flight_booking_id: str) -> FlightBooking:
    """Cancel a held flight booking, or a ticketed one: flex is refunded, standard less 45.

    Args:
        flight_booking_id: The booking, e.g. "fbk_5120"; not checked in; points used are lost.
    """
    trip, refund = desk.trips[flight_booking_id], money(0)
    if trip.status != "held":
        trip = desk.ticketed(flight_booking_id)
        paid = trip.price - money(money(trip.points_used) / 100)
        refund = max(refund, paid - FEES.get(trip.fare, paid))
        desk.book(trip.reference, -refund)
    desk.sell(trip.flight_id, trip.fare, -1)
    freed = {"held_until": None, "seat": None}
    return desk.trips.update(trip.id, status="cancelled", refunded=refund, **freed)


@server.write
def select_flight_seat(desk: Desk, /, flight_booking_id: str, seat: str) -> FlightBooking:
    """Choose a free seat for a ticketed standard or flex flight booking that is not checked in.

    Args:
        flight_booking_id: The booking, e.g. "fbk_5120".
        seat: Row and letter, e.g. "3C"; nobody under 16 may sit in the exit row.
    """
    trip, place = desk.ticketed(flight_booking_id), seat.strip().upper()
    forbid(trip.fare == "basic", "on basic fares the seat is given out at check-in")
    flight, traveller = desk.flights[trip.flight_id], desk.travellers[trip.traveller_id]
    forbid(place not in desk.free_seats(flight), "that seat is not free; see get_flight_seats")
    child, row = desk.now.date() - traveller.born < timedelta(days=16 * 365), place[:-1]
    forbid(child and row == str(flight.rows // 2), f"{traveller.name} is too young for that row")
    return desk.trips.update(trip.id, seat=place)


@server.write
def check_in_flight(desk: Desk, /, flight_booking_id: str) -> FlightBooking:
    """Check a traveller in for a flight, from 24 hours until one hour before departure.

    Args:
        flight_booking_id: The ticketed booking, e.g. "fbk_5120"; if need be it gets a seat.
    """
    trip = desk.ticketed(flight_booking_id)
    opens = trip.departs_at - timedelta(days=1)
    forbid(desk.now < opens, f"check-in opens on {opens:%d %B at %H:%M}; come back then")
    seat = trip.seat or desk.free_seats(desk.flights[trip.flight_id])[-1]
    return desk.trips.update(trip.id, checked_in=True, seat=seat)


@server.write
def book_hotel_room(
    desk: Desk, /, hotel_id: str, room: Room, arrival: date, nights: Nights, traveller_id: str
) -> HotelBooking:
    """Book and pay for a hotel room that is free on every night of a stay.

    Args:
        hotel_id: The hotel, e.g. "htl_7301".
        room: Which kind of room.
        arrival: The first night, today or later, e.g. "2026-03-14".
        nights: How many nights.
        traveller_id: Who checks in, an adult, e.g. "trv_8812".
    """
    hotel, guest = desk.hotels[hotel_id], desk.travellers[traveller_id]
    forbid(arrival < desk.now.date(), "the first night is over; choose a later one")
    forbid(desk.now.date() - guest.born < timedelta(days=18 * 365), f"{guest.name} is under age")
    free = [night for night in desk.nights(hotel_id, room, arrival, nights) if night.left]
    forbid(len(free) < nights, f"{hotel.name} has that room in {len(free)} of {nights} nights only")
    for night in free:
        desk.room_nights.update(night.key, left=night.left - 1)
    price, reference = sum((night.price for night in free), money(0)), desk.new_reference()
    desk.book(reference, price)
    leaves = datetime.combine(arrival + timedelta(days=nights), time(11), desk.now.tzinfo)
    place = {"hotel_id": hotel.id, "hotel_name": hotel.name, "city": hotel.city, "room": room}
    when = {"arrival": arrival, "nights": nights, "leaves_at": leaves, "status": "booked"}
    return desk.stays.add(reference=reference, price=price, guest_name=guest.name, **place, **when)


@server.write(destructive=True)
def cancel_hotel_booking(desk: Desk, /, hotel_booking_id: str) -> HotelBooking:
    """Cancel a hotel booking before the day of arrival; in the last two days a night is charged.

    Args:
        hotel_booking_id: The booking, e.g. "hbk_6204".
    """
    stay = desk.stays[hotel_booking_id]
    days = (stay.arrival - desk.now.date()).days
    forbid(stay.status != "booked", f"{stay.reference} is {stay.status} already")
    forbid(days <= 0, "the day of arrival has come; it can no longer be cancelled")
    refund = stay.price if days > 2 else stay.price - money(stay.price / stay.nights)
    desk.book(stay.reference, -refund)
    for night in desk.nights(stay.hotel_id, stay.room, stay.arrival, stay.nights):
        desk.room_nights.update(night.key, left=night.left + 1)
    return desk.stays.update(stay.id, status="cancelled", refunded=refund)


@server.write
def create_itinerary(desk: Desk, /, name: Label) -> known.Itinerary:
    """Start a travel itinerary in which bookings can be gathered; its name must be new.

    Args:
        name: What to call it, e.g. "Spring trade fair".
    """
    taken = any(itinerary.name.lower() == name.lower() for itinerary in desk.itineraries)
    forbid(taken, f"there is already an itinerary called {name!r}; choose another name")
    return desk.itineraries.add(name=name)


@server.write(idempotent=True)
def add_itinerary_booking(desk: Desk, /, itinerary_id: str, reference: str) -> known.Itinerary:
    """Put a flight or hotel booking that is not over or cancelled into a travel itinerary.

    Args:
        itinerary_id: The itinerary, e.g. "itn_3104".
        reference: The reference of the booking, e.g. "K7QX2M".
    """
    itinerary, code = desk.itineraries[itinerary_id], reference.strip().upper()
    trips, stays = desk.trips.where(reference=code), desk.stays.where(reference=code)
    if not trips and not stays:
        raise NotFound("no booking has that reference; see list_flight_bookings")
    for trip in trips:
        forbid(trip.status not in ("held", "ticketed"), f"that booking is {trip.status}")
        desk.trips.update(trip.id, itinerary_id=itinerary.id)
    for stay in stays:
        forbid(stay.status != "booked", f"that booking is {stay.status}")
        desk.stays.update(stay.id, itinerary_id=itinerary.id)
    return itinerary
