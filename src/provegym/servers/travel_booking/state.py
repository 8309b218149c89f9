"""What the travel desk knows, what happens as time passes, and what is always true."""

from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from provegym.kernel import Record, Rejected, Server, State, Table, money, table

FareName = Literal["basic", "standard", "flex"]
Room = Literal["single", "double", "family"]
Nights = Annotated[int, Meta(ge=1, le=14)]
# References are made of these; letters and digits that look alike are left out.
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SEATS = "ABCD"  # of a row
# How old somebody must be, in years, to sit at the emergency exit.
EXIT_ROW_AGE = 16


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

    @property
    def exit_row(self) -> int:
        """The row at the emergency exit."""
        return self.rows // 2


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
        """A code nobody has yet: a count from a start of this world's own, scrambled."""
        first_traveller = next(iter(self.travellers))
        start = int(first_traveller.id.removeprefix("trv_")) * 1_000
        count = len(self.trips) + len(self.stays)
        number = (start + count) * 3**18 % 32**6
        return "".join(LETTERS[number // 32**place % 32] for place in range(6))

    def free_seats(self, flight: Flight) -> list[str]:
        """The seats of a flight that nobody sits in."""
        chosen = [trip.seat for trip in self.trips.where(flight_id=flight.id)]
        gone = {*flight.taken, *chosen}
        return [seat for seat in seat_names(flight.rows) if seat not in gone]

    def seats_for(self, trip: FlightBooking) -> list[str]:
        """The free seats of a flight that its traveller may sit in."""
        flight = self.flights[trip.flight_id]
        free = self.free_seats(flight)
        if self.age(trip.traveller_id) >= EXIT_ROW_AGE:
            return free
        return [seat for seat in free if row_of(seat) != flight.exit_row]

    def age(self, traveller_id: str) -> int:
        """How old a traveller is, in whole years."""
        born = self.travellers[traveller_id].born
        today = self.now.date()
        is_before_birthday = (today.month, today.day) < (born.month, born.day)
        return today.year - born.year - is_before_birthday

    def live_trips(self, traveller_id: str) -> list[FlightBooking]:
        """A traveller's flight bookings that are held or ticketed."""
        trips = self.trips.where(traveller_id=traveller_id)
        return [trip for trip in trips if trip.status in ("held", "ticketed")]

    def overlap(self, trip: FlightBooking, flight: Flight) -> bool:
        """Whether a booked flight is in the air at the same time as another flight."""
        booked = self.flights[trip.flight_id]
        return booked.departs_at < flight.arrives_at and flight.departs_at < booked.arrives_at

    def offer(
        self, flight_id: str, fare: FareName, traveller: Traveller, instead_of: str | None = None
    ) -> Fare:
        """The fare at which a traveller can still be put on a flight.

        `instead_of` is the id of a booking that is given up for it.
        """
        flight = self.flights[flight_id]
        offer = next(offer for offer in flight.fares if offer.name == fare)
        if flight.departs_at < self.now + timedelta(hours=3):
            raise Rejected("too soon; take a later flight")
        if offer.left == 0:
            raise Rejected(f"{fare} is sold out on that flight; choose another fare or flight")
        for trip in self.live_trips(traveller.id):
            if trip.id != instead_of and self.overlap(trip, flight):
                raise Rejected(
                    f"{traveller.name} is already on {trip.flight_number} at that time, see "
                    f"{trip.reference}; cancel that booking or take another flight"
                )
        if traveller.document_expires < flight.arrives_at.date():
            raise Rejected(
                f"{traveller.name}'s document ends {traveller.document_expires}; update it"
            )
        return offer

    def take_seat(self, flight_id: str, fare: FareName) -> None:
        """Take one seat out of those left at a fare."""
        self._change_left(flight_id, fare, -1)

    def return_seat(self, flight_id: str, fare: FareName) -> None:
        """Put one seat back to those left at a fare."""
        self._change_left(flight_id, fare, 1)

    def _change_left(self, flight_id: str, name: FareName, by: int) -> None:
        flight = self.flights[flight_id]
        fares = tuple(
            replace(fare, left=fare.left + by) if fare.name == name else fare
            for fare in flight.fares
        )
        self.flights.update(flight_id, fares=fares)

    def ticketed(self, flight_booking_id: str) -> FlightBooking:
        """A flight booking that is paid, not checked in and not about to leave."""
        trip = self.trips[flight_booking_id]
        if trip.status != "ticketed":
            raise Rejected(f"{trip.reference} is {trip.status}, not ticketed")
        if trip.checked_in:
            raise Rejected(f"{trip.traveller_name} is checked in already")
        if trip.departs_at < self.now + timedelta(hours=1):
            raise Rejected("that flight is closed by now")
        return trip

    def nights(self, hotel_id: str, room: Room, arrival: date, count: int) -> list[RoomNight]:
        """The nights of a stay that the hotel offers."""
        # Dates end with the year 9999: adding days to one close to it would fail.
        if arrival.year >= 9_000:
            return []
        days = [arrival + timedelta(days=day) for day in range(count)]
        found = [self.room_nights.get(f"{hotel_id} {room} {day}") for day in days]
        return [night for night in found if night is not None]

    def first_night(self, stay: HotelBooking) -> RoomNight:
        """The night of arrival, which is charged if a stay is cancelled late."""
        return self.nights(stay.hotel_id, stay.room, stay.arrival, 1)[0]

    def book(self, reference: str, amount: Decimal, points: int = 0) -> None:
        """Write down the money and points of a booking."""
        self.ledger.add(
            reference=reference,
            at=self.now,
            money=amount,
            points=points,
            balance=self.points() + points,
        )

    def points(self) -> int:
        """How many loyalty points there are."""
        entries = list(self.ledger)
        return entries[-1].balance if entries else 0

    def points_end(self) -> datetime | None:
        """When the points expire, if there are any: 60 days after the last were earned."""
        if self.points() == 0:
            return None
        earned = [entry.at for entry in self.ledger if entry.points > 0]
        return earned[-1] + timedelta(days=60)

    def next_event(self) -> datetime | None:
        """A hold ends, a plane lands, a guest leaves, or points expire."""
        moments = [self.points_end()]
        moments += [trip.held_until for trip in self.trips]
        for trip in self.trips.where(status="ticketed"):
            moments.append(self.flights[trip.flight_id].arrives_at)
        moments += [stay.leaves_at for stay in self.stays.where(status="booked")]
        return min((moment for moment in moments if moment is not None), default=None)

    def happen(self) -> None:
        """Points expire; holds end, planes land (points for those on board), guests leave."""
        points_end = self.points_end()
        if points_end is not None and points_end <= self.now:
            self.book("expired", money(0), -self.points())
        for trip in list(self.trips):
            if trip.held_until is not None and trip.held_until <= self.now:
                self._end_hold(trip)
            elif trip.status == "ticketed" and self.flights[trip.flight_id].arrives_at <= self.now:
                self._land(trip)
        for stay in self.stays.where(status="booked"):
            if stay.leaves_at <= self.now:
                self.stays.update(stay.id, status="stayed")

    def _end_hold(self, trip: FlightBooking) -> None:
        """Give back the seat of a booking that was not paid in time."""
        self.return_seat(trip.flight_id, trip.fare)
        self.trips.update(trip.id, status="expired", held_until=None)

    def _land(self, trip: FlightBooking) -> None:
        """End a trip; only whoever checked in was on board and earns points."""
        if trip.checked_in:
            self.trips.update(trip.id, status="flown")
            self.book(trip.reference, money(0), 2 * int(trip.price))
        else:
            self.trips.update(trip.id, status="no_show")
            self.book(trip.reference, money(0), 0)

    def check(self) -> None:
        """Nothing is sold twice, money and points add up, and itineraries hold what exists."""
        self._check_points()
        self._check_payments()
        for flight in self.flights:
            self._check_seats(flight)
        for traveller in self.travellers:
            self._check_trips(traveller)
        self._check_rooms()
        for booking in [*self.trips, *self.stays]:
            assert booking.itinerary_id is None or booking.itinerary_id in self.itineraries

    def _check_points(self) -> None:
        """Every entry states the sum of the points so far, which is never negative."""
        points = 0
        for entry in self.ledger:
            points += entry.points
            assert entry.balance == points
            assert entry.balance >= 0

    def _check_payments(self) -> None:
        """What was paid for a booking is what it cost."""
        paid: dict[str, Decimal] = {}
        for entry in self.ledger:
            paid[entry.reference] = paid.get(entry.reference, money(0)) + entry.money
        for trip in self.trips:
            if trip.reference in paid:
                due = trip.price + trip.fees - trip.refunded - worth(trip.points_used)
                assert paid[trip.reference] == due
            else:
                assert trip.status in ("held", "expired", "cancelled")
        for stay in self.stays:
            assert paid[stay.reference] == stay.price - stay.refunded
            if stay.status == "cancelled":
                assert stay.price - stay.refunded in (money(0), self.first_night(stay).price)

    def _check_trips(self, traveller: Traveller) -> None:
        """Nobody is on two planes at a time, and nobody under 16 sits at the emergency exit."""
        live = self.live_trips(traveller.id)
        for trip, other in combinations(live, 2):
            assert not self.overlap(trip, self.flights[other.flight_id])
        for trip in live:
            is_at_exit = trip.seat and row_of(trip.seat) == self.flights[trip.flight_id].exit_row
            assert not is_at_exit or self.age(traveller.id) >= EXIT_ROW_AGE

    def _check_seats(self, flight: Flight) -> None:
        """Strangers, seats left and bookings fill a plane exactly, and no seat is taken twice."""
        trips = self.trips.where(flight_id=flight.id)
        sold = [trip for trip in trips if trip.status not in ("cancelled", "expired")]
        left = [fare.left for fare in flight.fares]
        chosen = [trip.seat for trip in trips if trip.seat is not None]
        assert min(left) >= 0
        assert flight.rows * len(SEATS) == len(flight.taken) + sum(left) + len(sold)
        assert len({*flight.taken, *chosen}) == len(flight.taken) + len(chosen)

    def _check_rooms(self) -> None:
        """Rooms left are those the hotel has less those booked, and never fewer than none."""
        used: Counter[str] = Counter()
        for stay in self.stays:
            if stay.status != "cancelled":
                nights = self.nights(stay.hotel_id, stay.room, stay.arrival, stay.nights)
                used.update(night.key for night in nights)
        for night in self.room_nights:
            assert night.left == night.rooms - used[night.key]
            assert night.left >= 0


def seat_names(rows: int) -> list[str]:
    """The seats of a plane with so many rows, e.g. "3C"."""
    return [f"{row}{letter}" for row in range(1, rows + 1) for letter in SEATS]


def row_of(seat: str) -> int:
    """The row of a seat: 3 for "3C"."""
    return int(seat[:-1])


def worth(points: int) -> Decimal:
    """What loyalty points are worth; 100 of them are worth 1."""
    return money(Decimal(points) / 100)


about = "Flights, hotel rooms, bookings, itineraries, travellers and loyalty points of one account."
server = Server("travel_booking", Desk, category="travel", about=about, version=2)
