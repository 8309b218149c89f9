"""What can be booked, changed and cancelled at the travel desk."""

from datetime import date, datetime, time, timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Label, NotFound, Rejected, Sensitive, money

from .state import (
    Desk,
    FareName,
    FlightBooking,
    HotelBooking,
    Itinerary,
    Nights,
    Room,
    Traveller,
    server,
    worth,
)

Points = Annotated[int, Meta(ge=0, le=100_000)]
Document = Annotated[str, Meta(min_length=6, max_length=12, pattern="^[A-Z0-9]+$")]
# What it costs to change or cancel a ticket; basic fares can be neither changed nor refunded.
FEES = {"standard": money(45), "flex": money(0)}
FULL_AGE = 18
CHECK_OUT = time(11)


@server.write(idempotent=True)
def update_travel_document(
    desk: Desk, /, traveller_id: str, document: Sensitive[Document], expires: date
) -> Traveller:
    """Save a traveller's new passport or identity card.

    Args:
        traveller_id: Whose it is, e.g. "trv_8812".
        document: Its number in capitals and digits, e.g. "P48210337".
        expires: Its last day, at least 30 days from now, e.g. "2031-05-20".
    """
    if expires < desk.now.date() + timedelta(days=30):
        raise Rejected("that document expires within 30 days")
    return desk.travellers.update(traveller_id, document=document, document_expires=expires)


@server.write
def hold_flight(desk: Desk, /, flight_id: str, traveller_id: str, fare: FareName) -> FlightBooking:
    """Hold a place on a flight for a day, or until two hours before it leaves, without paying.

    Nobody can be booked on two flights at the same time, held or ticketed.

    Args:
        flight_id: The flight, e.g. "flt_20417"; it leaves in three hours or later.
        traveller_id: Who flies, e.g. "trv_8812"; the travel document must last until arrival.
        fare: Basic cannot be changed or refunded, standard can for 45, flex can free of charge.
    """
    traveller = desk.travellers[traveller_id]
    flight = desk.flights[flight_id]
    offer = desk.offer(flight_id, fare, traveller)
    desk.take_seat(flight_id, fare)
    return desk.trips.add(
        reference=desk.new_reference(),
        flight_id=flight.id,
        flight_number=flight.number,
        origin=flight.origin,
        destination=flight.destination,
        departs_at=flight.departs_at,
        traveller_id=traveller.id,
        traveller_name=traveller.name,
        fare=fare,
        price=offer.price,
        status="held",
        held_until=min(desk.now + timedelta(days=1), flight.departs_at - timedelta(hours=2)),
    )


@server.write
def ticket_flight(desk: Desk, /, flight_booking_id: str, points: Points = 0) -> FlightBooking:
    """Pay for a held flight booking with money and, if wanted, loyalty points; 100 are worth 1.

    Args:
        flight_booking_id: The held booking, e.g. "fbk_5120".
        points: How many loyalty points to use, worth no more than the price.
    """
    trip = desk.trips[flight_booking_id]
    value = worth(points)
    if trip.status != "held":
        raise Rejected(f"{trip.reference} is {trip.status}, not held")
    if points > desk.points():
        raise Rejected(f"there are only {desk.points()} loyalty points; use fewer")
    if value > trip.price:
        raise Rejected(f"the price is only {trip.price}; use fewer points")
    desk.book(trip.reference, trip.price - value, -points)
    return desk.trips.update(trip.id, status="ticketed", held_until=None, points_used=points)


@server.write
def change_flight(desk: Desk, /, flight_booking_id: str, new_flight_id: str) -> FlightBooking:
    """Move a ticketed standard or flex flight, not checked in, to another between the same cities.

    Nobody can be booked on two flights at the same time, held or ticketed.

    Args:
        flight_booking_id: The booking, e.g. "fbk_5120"; its seat is given up.
        new_flight_id: The other flight, e.g. "flt_20418"; a price rise is due, and 45 if standard.
    """
    trip = desk.ticketed(flight_booking_id)
    flight = desk.flights[new_flight_id]
    if trip.fare == "basic":
        raise Rejected("basic fares cannot be changed; cancel it and book anew")
    same_route = (flight.origin, flight.destination) == (trip.origin, trip.destination)
    if not same_route or flight.id == trip.flight_id:
        raise Rejected("choose another flight on the same route")
    traveller = desk.travellers[trip.traveller_id]
    offer = desk.offer(flight.id, trip.fare, traveller, instead_of=trip.id)
    price = max(trip.price, offer.price)
    fee = FEES[trip.fare]
    desk.book(trip.reference, price - trip.price + fee)
    desk.return_seat(trip.flight_id, trip.fare)
    desk.take_seat(flight.id, trip.fare)
    return desk.trips.update(
        trip.id,
        flight_id=flight.id,
        flight_number=flight.number,
        origin=flight.origin,
        destination=flight.destination,
        departs_at=flight.departs_at,
        price=price,
        fees=trip.fees + fee,
        seat=None,
    )


@server.write(destructive=True)
def cancel_flight_booking(desk: Desk, /, flight_booking_id: str) -> FlightBooking:
    """Cancel a held flight booking, or a ticketed one: flex is refunded, standard less 45.

    Args:
        flight_booking_id: The booking, e.g. "fbk_5120"; not checked in; points used are lost.
    """
    trip = desk.trips[flight_booking_id]
    refund = money(0)
    if trip.status != "held":
        trip = desk.ticketed(flight_booking_id)
        if trip.fare != "basic":
            paid = trip.price - worth(trip.points_used)
            refund = max(refund, paid - FEES[trip.fare])
        desk.book(trip.reference, -refund)
    desk.return_seat(trip.flight_id, trip.fare)
    return desk.trips.update(
        trip.id, status="cancelled", refunded=refund, held_until=None, seat=None
    )


@server.write
def select_flight_seat(desk: Desk, /, flight_booking_id: str, seat: str) -> FlightBooking:
    """Choose a free seat for a ticketed standard or flex flight booking that is not checked in.

    Args:
        flight_booking_id: The booking, e.g. "fbk_5120".
        seat: Row and letter, e.g. "3C"; nobody under 16 may sit in the exit row.
    """
    trip = desk.ticketed(flight_booking_id)
    if trip.fare == "basic":
        raise Rejected("on basic fares the seat is given out at check-in")
    flight = desk.flights[trip.flight_id]
    place = seat.strip().upper()
    if place not in desk.free_seats(flight):
        raise Rejected("that seat is not free; see get_flight_seats")
    if place not in desk.seats_for(trip):
        raise Rejected(f"{trip.traveller_name} is too young for the exit row; choose another row")
    return desk.trips.update(trip.id, seat=place)


@server.write
def check_in_flight(desk: Desk, /, flight_booking_id: str) -> FlightBooking:
    """Check a traveller in for a flight, from 24 hours until one hour before departure.

    Args:
        flight_booking_id: The ticketed booking, e.g. "fbk_5120"; without a seat it is given one.
    """
    trip = desk.ticketed(flight_booking_id)
    opens = trip.departs_at - timedelta(days=1)
    if desk.now < opens:
        raise Rejected(f"check-in opens on {opens:%d %B at %H:%M}; come back then")
    seats = [trip.seat] if trip.seat else desk.seats_for(trip)
    if not seats:
        raise Rejected(f"only exit row seats are left, and {trip.traveller_name} is too young")
    return desk.trips.update(trip.id, checked_in=True, seat=seats[-1])


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
    hotel = desk.hotels[hotel_id]
    guest = desk.travellers[traveller_id]
    if arrival < desk.now.date():
        raise Rejected("the first night is over; choose a later one")
    if desk.age(guest.id) < FULL_AGE:
        raise Rejected(f"{guest.name} is under age; an adult must check in")
    offered = desk.nights(hotel_id, room, arrival, nights)
    free = [night for night in offered if night.left > 0]
    if len(free) < nights:
        raise Rejected(f"{hotel.name} has that room in {len(free)} of {nights} nights only")
    for night in free:
        desk.room_nights.update(night.key, left=night.left - 1)
    price = sum((night.price for night in free), money(0))
    reference = desk.new_reference()
    desk.book(reference, price)
    last_day = arrival + timedelta(days=nights)
    return desk.stays.add(
        reference=reference,
        hotel_id=hotel.id,
        hotel_name=hotel.name,
        city=hotel.city,
        room=room,
        arrival=arrival,
        nights=nights,
        guest_name=guest.name,
        price=price,
        leaves_at=datetime.combine(last_day, CHECK_OUT, desk.now.tzinfo),
        status="booked",
    )


@server.write(destructive=True)
def cancel_hotel_booking(desk: Desk, /, hotel_booking_id: str) -> HotelBooking:
    """Cancel a hotel booking before the day of arrival; in the last two days one night is charged.

    It is charged at the price of the first night.

    Args:
        hotel_booking_id: The booking, e.g. "hbk_6204".
    """
    stay = desk.stays[hotel_booking_id]
    days_ahead = (stay.arrival - desk.now.date()).days
    if stay.status != "booked":
        raise Rejected(f"{stay.reference} is {stay.status} already")
    if days_ahead <= 0:
        raise Rejected("the day of arrival has come; it can no longer be cancelled")
    refund = stay.price
    if days_ahead <= 2:
        refund -= desk.first_night(stay).price
    desk.book(stay.reference, -refund)
    for night in desk.nights(stay.hotel_id, stay.room, stay.arrival, stay.nights):
        desk.room_nights.update(night.key, left=night.left + 1)
    return desk.stays.update(stay.id, status="cancelled", refunded=refund)


@server.write
def create_itinerary(desk: Desk, /, name: Label) -> Itinerary:
    """Start a travel itinerary in which bookings can be gathered; its name must be new.

    Args:
        name: What to call it, e.g. "Spring trade fair".
    """
    if any(itinerary.name.lower() == name.lower() for itinerary in desk.itineraries):
        raise Rejected(f"there is already an itinerary called {name!r}; choose another name")
    return desk.itineraries.add(name=name)


@server.write(idempotent=True)
def add_itinerary_booking(desk: Desk, /, itinerary_id: str, reference: str) -> Itinerary:
    """Put a flight or hotel booking that is not over or cancelled into a travel itinerary.

    Args:
        itinerary_id: The itinerary, e.g. "itn_3104".
        reference: The reference of the booking, e.g. "K7QX2M".
    """
    itinerary = desk.itineraries[itinerary_id]
    code = reference.strip().upper()
    trips = desk.trips.where(reference=code)
    stays = desk.stays.where(reference=code)
    if not trips and not stays:
        raise NotFound("no booking has that reference; see list_flight_bookings")
    for trip in trips:
        if trip.status not in ("held", "ticketed"):
            raise Rejected(f"that booking is {trip.status}")
        desk.trips.update(trip.id, itinerary_id=itinerary.id)
    for stay in stays:
        if stay.status != "booked":
            raise Rejected(f"that booking is {stay.status}")
        desk.stays.update(stay.id, itinerary_id=itinerary.id)
    return itinerary
