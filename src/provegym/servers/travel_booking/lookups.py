"""What can be looked up at the travel desk."""

from datetime import date

from msgspec import Struct

from .state import (
    Desk,
    Flight,
    FlightBooking,
    Hotel,
    HotelBooking,
    Itinerary,
    LedgerEntry,
    Nights,
    Room,
    RoomNight,
    Traveller,
    server,
)


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
    found = [flight for flight in desk.flights if flight.departs_at > desk.now]
    found = [flight for flight in found if origin.lower() in flight.origin.lower()]
    found = [flight for flight in found if destination.lower() in flight.destination.lower()]
    if day is not None:
        found = [flight for flight in found if flight.departs_at.date() == day]
    return sorted(found, key=lambda flight: flight.departs_at)


@server.read
def get_flight_seats(desk: Desk, /, flight_id: str) -> SeatMap:
    """Show which seats of a flight are free, and which row is at the emergency exit.

    Args:
        flight_id: The flight, e.g. "flt_20417".
    """
    flight = desk.flights[flight_id]
    return SeatMap(exit_row=flight.exit_row, free=tuple(desk.free_seats(flight)))


@server.read
def list_hotels(desk: Desk, /, name: str = "", city: str = "") -> list[Hotel]:
    """List the hotels in which rooms can be booked.

    Args:
        name: Only hotels whose name contains this.
        city: Only hotels in a city whose name contains this.
    """
    found = [hotel for hotel in desk.hotels if name.lower() in hotel.name.lower()]
    return [hotel for hotel in found if city.lower() in hotel.city.lower()]


@server.read
def search_hotel_rooms(
    desk: Desk, /, hotel_id: str, arrival: date, nights: Nights, room: Room = "double"
) -> list[RoomNight]:
    """Show, night by night, what a kind of room costs in a hotel and how many are left.

    Args:
        hotel_id: The hotel, e.g. "htl_7301".
        arrival: The first night, e.g. "2026-03-14".
        nights: How many nights.
        room: Which kind of room.
    """
    hotel = desk.hotels[hotel_id]
    return desk.nights(hotel.id, room, arrival, nights)


@server.read
def list_travellers(desk: Desk, /, name: str = "") -> list[Traveller]:
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
    found = [trip for trip in desk.trips if reference.upper() in trip.reference]
    found = [trip for trip in found if traveller_name.lower() in trip.traveller_name.lower()]
    # An empty id is that of no booking, so it finds none; an unknown id is an error.
    if itinerary_id:
        itinerary_id = desk.itineraries[itinerary_id].id
    if itinerary_id is not None:
        found = [trip for trip in found if trip.itinerary_id == itinerary_id]
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
    found = [stay for stay in desk.stays if reference.upper() in stay.reference]
    found = [stay for stay in found if hotel_name.lower() in stay.hotel_name.lower()]
    # An empty id is that of no booking, so it finds none; an unknown id is an error.
    if itinerary_id:
        itinerary_id = desk.itineraries[itinerary_id].id
    if itinerary_id is not None:
        found = [stay for stay in found if stay.itinerary_id == itinerary_id]
    return sorted(found, key=lambda stay: stay.arrival, reverse=True)


@server.read
def list_itineraries(desk: Desk, /, name: str = "") -> list[Itinerary]:
    """List the travel itineraries in which bookings are gathered.

    Args:
        name: Only itineraries whose name contains this.
    """
    return [plan for plan in desk.itineraries if name.lower() in plan.name.lower()]


@server.read
def list_travel_payments(desk: Desk, /, reference: str = "") -> list[LedgerEntry]:
    """List travel payments, refunds and loyalty points, newest first; points expire after 60 days.

    Args:
        reference: Only payments for the booking with this reference, e.g. "K7QX2M".
    """
    found = [entry for entry in desk.ledger if reference.upper() in entry.reference]
    return found[::-1]
