"""What the travel desk knows, what happens by itself, and what is always true."""

from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from msgspec.structs import replace

from provegym.kernel import Record, Server, State, Table, forbid, money, table

FareName = Literal["basic", "standard", "flex"]
Room = Literal["single", "double", "family"]
LETTERS, SEATS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789", "ABCD"


class Fare(Record, frozen=True):
    """A price under certain rules, and how many seats are left at it."""

    name: FareName
    price: Decimal
    left: int


class Flight(Record, frozen=True):
    """A departure; `taken` are the seats that strangers sit in."""

    id: str
    number: str
    origin: str
    destination: str
    departs_at: datetime
    arrives_at: datetime
    rows: int
    fares: tuple[Fare, Fare, Fare]
    taken: tuple[str, ...]


class Traveller(Record, frozen=True):
    """Somebody the account books for, with a travel document."""

    id: str
    name: str
    born: date
    document: str
    document_expires: date


class FlightBooking(Record, frozen=True):
    """One traveller's place on a flight, from hold to landing."""

    id: str
    reference: str
    flight_id: str
    flight_number: str
    origin: str
    destination: str
    departs_at: datetime
    traveller_id: str
    traveller_name: str
    fare: FareName
    price: Decimal
    status: Literal["held", "ticketed", "flown", "no_show", "cancelled", "expired"]
    fees: Decimal = money(0)
    refunded: Decimal = money(0)
    points_used: int = 0
    held_until: datetime | None = None
    seat: str | None = None
    checked_in: bool = False
    itinerary_id: str | None = None


class Hotel(Record, frozen=True):
    """A house with rooms."""

    id: str
    name: str
    city: str
    stars: int


class RoomNight(Record, frozen=True):
    """One kind of room of a hotel in one night; the key is made of all three."""

    key: str
    night: date
    price: Decimal
    rooms: int
    left: int


class HotelBooking(Record, frozen=True):
    """A room for some nights."""

    id: str
    reference: str
    hotel_id: str
    hotel_name: str
    city: str
    room: Room
    arrival: date
    nights: int
    guest_name: str
    price: Decimal
    leaves_at: datetime
    status: Literal["booked", "stayed", "cancelled"]
    refunded: Decimal = money(0)
    itinerary_id: str | None = None


class Itinerary(Record, frozen=True):
    """A journey that bookings belong to."""

    id: str
    name: str


class LedgerEntry(Record, frozen=True):
    """Money paid or, if negative, refunded, points won or lost, and how many there are then."""

    id: str
    reference: str
    at: datetime
    money: Decimal
    points: int
    balance: int


class Desk(State):
    """The travel desk on behalf of one account."""

    flights: Table[Flight] = table(Flight, "flt", look_up="search_flights")
    travellers: Table[Traveller] = table(Traveller, "trv", look_up="list_travellers")
    trips: Table[FlightBooking] = table(FlightBooking, "fbk", look_up="list_flight_bookings")
    hotels: Table[Hotel] = table(Hotel, "htl", look_up="list_hotels")
    room_nights: Table[RoomNight] = table(RoomNight, key="key")
    stays: Table[HotelBooking] = table(HotelBooking, "hbk", look_up="list_hotel_bookings")
    itineraries: Table[Itinerary] = table(Itinerary, "itn", look_up="list_itineraries")
    ledger: Table[LedgerEntry] = table(LedgerEntry, "led")

    def new_reference(self) -> str:
        """A code nobody has yet: counted from a start of this world's own, and scattered."""
        start = int(next(iter(self.travellers)).id[4:]) * 1_000
        number = (start + len(self.trips) + len(self.stays)) * 3**18 % 32**6
        return "".join(LETTERS[number >> 5 * place & 31] for place in range(6))

    def free_seats(self, flight: Flight) -> list[str]:
        """The seats of a flight that nobody sits in."""
        gone = {*flight.taken, *(trip.seat for trip in self.trips.where(flight_id=flight.id))}
        seats = [f"{row}{letter}" for row in range(1, flight.rows + 1) for letter in SEATS]
        return [seat for seat in seats if seat not in gone]

    def offer(self, flight_id: str, fare: FareName, traveller: Traveller) -> Fare:
        """The fare at which a traveller can still be put on a flight."""
        flight, end = self.flights[flight_id], traveller.document_expires
        offer = next(offer for offer in flight.fares if offer.name == fare)
        forbid(flight.departs_at < self.now + timedelta(hours=3), "too soon; take a later flight")
        forbid(offer.left == 0, f"{fare} is sold out on that flight; choose another fare or flight")
        mine = self.trips.where(flight_id=flight_id, traveller_id=traveller.id, status="ticketed")
        forbid(bool(mine), f"{traveller.name} has a ticket for that flight already")
        forbid(end < flight.arrives_at.date(), f"{traveller.name}'s document ends {end}; update it")
        return offer

    def sell(self, flight_id: str, name: FareName, seats: int) -> dict[str, Any]:
        """Take seats out of a fare or put them back, and tell what a booking says of a flight."""
        flight = self.flights[flight_id]
        fares = [replace(f, left=f.left - seats * (f.name == name)) for f in flight.fares]
        self.flights.update(flight_id, fares=tuple(fares))
        leg = {"flight_id": flight.id, "flight_number": flight.number, "origin": flight.origin}
        return {**leg, "destination": flight.destination, "departs_at": flight.departs_at}

    def ticketed(self, flight_booking_id: str) -> FlightBooking:
        """A flight booking that is paid, not checked in and not about to leave."""
        trip = self.trips[flight_booking_id]
        forbid(trip.status != "ticketed", f"{trip.reference} is {trip.status}, not ticketed")
        forbid(trip.checked_in, f"{trip.traveller_name} is checked in already")
        forbid(trip.departs_at < self.now + timedelta(hours=1), "that flight is closed by now")
        return trip

    def nights(self, hotel_id: str, room: Room, arrival: date, count: int) -> list[RoomNight]:
        """The nights of a stay that the hotel offers; dates themselves end with year 9999."""
        days = range(count if arrival.year < 9_000 else 0)
        keys = [f"{hotel_id} {room} {arrival + timedelta(days=day)}" for day in days]
        return [night for key in keys if (night := self.room_nights.get(key))]

    def book(self, reference: str, amount: Decimal, points: int = 0) -> None:
        """Write down the money and points of a booking."""
        entry = {"money": amount, "points": points, "balance": self.points() + points}
        self.ledger.add(reference=reference, at=self.now, **entry)

    def points(self) -> int:
        """How many loyalty points there are."""
        return list(self.ledger)[-1].balance if self.ledger else 0

    def points_end(self) -> datetime | None:
        """When the points expire, if there are any: some time after the last were earned."""
        earned = [entry.at for entry in self.ledger if entry.points > 0]
        return earned[-1] + timedelta(days=60) if self.points() else None

    def next_event(self) -> datetime | None:
        """A hold ends, a plane lands, a guest leaves, or points expire."""
        times = [self.points_end(), *(trip.held_until for trip in self.trips)]
        times += [self.flights[t.flight_id].arrives_at for t in self.trips.where(status="ticketed")]
        times += [stay.leaves_at for stay in self.stays.where(status="booked")]
        return min((moment for moment in times if moment), default=None)

    def happen(self) -> None:
        """Points expire; holds end, planes land (points for those on board), guests leave."""
        if (end := self.points_end()) and end <= self.now:
            self.book("expired", money(0), -self.points())
        for trip in list(self.trips):
            if trip.held_until and trip.held_until <= self.now:
                self.sell(trip.flight_id, trip.fare, -1)
                self.trips.update(trip.id, status="expired", held_until=None)
            elif trip.status == "ticketed" and self.flights[trip.flight_id].arrives_at <= self.now:
                self.trips.update(trip.id, status="flown" if trip.checked_in else "no_show")
                self.book(trip.reference, money(0), 2 * int(trip.price) * trip.checked_in)
        for stay in self.stays.where(status="booked"):
            if stay.leaves_at <= self.now:
                self.stays.update(stay.id, status="stayed")

    def check(self) -> None:
        """Nothing is sold twice, money and points add up, and itineraries hold what exists."""
        paid, points = {entry.reference: money(0) for entry in self.ledger}, 0
        for entry in self.ledger:
            paid[entry.reference] += entry.money
            points += entry.points
            assert entry.balance == points >= 0
        for trip in self.trips:
            due = trip.price + trip.fees - trip.refunded - money(Decimal(trip.points_used) / 100)
            assert paid.get(trip.reference, due) == due
            assert trip.status in ("held", "expired", "cancelled") or trip.reference in paid
        for flight in self.flights:
            trips = self.trips.where(flight_id=flight.id)
            sold = sum(trip.status not in ("cancelled", "expired") for trip in trips)
            left, seats = [fare.left for fare in flight.fares], [t.seat for t in trips if t.seat]
            assert min(left) >= 0
            assert flight.rows * len(SEATS) == len(flight.taken) + sum(left) + sold
            assert len({*flight.taken, *seats}) == len(flight.taken) + len(seats)
        used: Counter[str] = Counter()
        for stay in self.stays:
            assert paid[stay.reference] == stay.price - stay.refunded
            nights = self.nights(stay.hotel_id, stay.room, stay.arrival, stay.nights)
            used.update(night.key for night in nights if stay.status != "cancelled")
        assert all(night.left == night.rooms - used[night.key] >= 0 for night in self.room_nights)
        links = [*(t.itinerary_id for t in self.trips), *(s.itinerary_id for s in self.stays)]
        assert all(link is None or link in self.itineraries for link in links)


about = "Flights, hotel rooms, bookings, itineraries, travellers and loyalty points of one account."
server = Server("travel_booking", Desk, category="travel", about=about)
