"""The state of the chain: stores, stocks, shipments, reservations, and their invariants."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Denied, Record, Server, State, Table, table

ShipmentKind = Literal["incoming_transfer", "outgoing_transfer", "purchase"]
Stage = Literal["requested", "in_transit", "arrived", "received", "declined"]
ReservationStatus = Literal["active", "collected", "released", "expired"]
Reason = Literal["recount", "damaged", "stolen", "spoiled", "found"]
# What corrections of one product on one day may be worth; more is the manager's business.
CORRECTION_LIMIT = 250


class Store(Record, frozen=True):
    """A shop; `own` is the acting clerk's, and lorry hours are counted from there."""

    id: str
    name: str
    city: str
    manager: str
    clerk: str
    lorry_hours: int
    own: bool = False


class Stock(Record, frozen=True):
    """One product in one store; `counted_in` sums up all counts, the opening one included.

    `corrected_pieces` were added or taken off by corrections on the day `corrected_on`.
    """

    id: str
    store_id: str
    store_name: str
    product_name: str
    price: Decimal
    supplier: str
    pack_size: int
    on_hand: int
    available: int
    reorder_point: int
    counted_in: int
    reserved: int = 0
    lorry_hours: int = 0
    last_correction: Reason | None = None
    corrected_on: date | None = None
    corrected_pieces: int = 0
    own: bool = False
    discontinued: bool = False


class Shipment(Record, frozen=True):
    """Pieces that move; due is the arrival, the answer to a request, or when that lapses."""

    id: str
    kind: ShipmentKind
    source_name: str
    target_name: str
    target_stock_id: str
    product_name: str
    quantity: int
    status: Stage
    created_at: datetime
    due_at: datetime | None = None
    source_stock_id: str | None = None
    counted: int = 0


class Reservation(Record, frozen=True):
    """Pieces the clerk's store holds back for a customer until a moment."""

    id: str
    stock_id: str
    product_name: str
    customer: str
    quantity: int
    expires_at: datetime
    status: ReservationStatus = "active"


class Chain(State):
    """The chain's stock system, used by the clerk of one store."""

    stores: Table[Store] = table(Store, "shp", look_up="list_chain_stores")
    stocks: Table[Stock] = table(Stock, "stk", look_up="search_store_stock")
    shipments: Table[Shipment] = table(Shipment, "shm", look_up="list_store_shipments")
    reservations: Table[Reservation] = table(Reservation, "rsv", look_up="list_store_reservations")

    def mine(self, stock_id: str) -> Stock:
        """A stock of the clerk's own store; elsewhere a clerk may only look and request."""
        stock = self.stocks[stock_id]
        if not stock.own:
            raise Denied(f"only clerks of {stock.store_name} may; request a transfer")
        return stock

    def move(self, stock_id: str, pieces: int = 0, held: int = 0) -> Stock:
        """Put pieces on the shelf or take them off, and hold some back or let them go."""
        stock = self.stocks[stock_id]
        on_hand = stock.on_hand + pieces
        reserved = stock.reserved + held
        return self.stocks.update(
            stock_id, on_hand=on_hand, reserved=reserved, available=on_hand - reserved
        )

    def ship(
        self, source: Stock | None, target: Stock, *, quantity: int, status: Stage, due_at: datetime
    ) -> Shipment:
        """Write down pieces that are to go to a store; without a source the supplier sends them."""
        kind: ShipmentKind = "purchase"
        if source is not None:
            kind = "incoming_transfer" if target.own else "outgoing_transfer"
        return self.shipments.add(
            kind=kind,
            source_name=source.store_name if source else target.supplier,
            source_stock_id=source.id if source else None,
            target_name=target.store_name,
            target_stock_id=target.id,
            product_name=target.product_name,
            quantity=quantity,
            status=status,
            created_at=self.now,
            due_at=due_at,
        )

    def step(self, shipment: Shipment, status: Stage, counted: int = 0) -> Shipment:
        """Bring a shipment to a status.

        Its pieces leave the source when the lorry does, and reach the target when they are counted.
        """
        target = self.move(shipment.target_stock_id, pieces=counted)
        due_at = None
        if status == "in_transit":
            source = self.move(shipment.source_stock_id or "", pieces=-shipment.quantity)
            due_at = self.now + timedelta(hours=source.lorry_hours + target.lorry_hours)
        return self.shipments.update(shipment.id, status=status, counted=counted, due_at=due_at)

    def step_when_due(self, shipment: Shipment) -> Shipment:
        """Let happen what the clerk has no part in: arrivals, other stores' answers, lapses."""
        outgoing = shipment.kind == "outgoing_transfer"
        if shipment.status == "in_transit":
            if outgoing:
                return self.step(shipment, "received", shipment.quantity)
            return self.step(shipment, "arrived")
        if outgoing:
            return self.step(shipment, "declined")
        source = self.stocks[shipment.source_stock_id or ""]
        if source.available - shipment.quantity < source.reorder_point:
            return self.step(shipment, "declined")
        return self.step(shipment, "in_transit")

    def end(self, reservation: Reservation, status: ReservationStatus) -> Reservation:
        """End a reservation: its pieces are no longer held, and collected ones leave the shop."""
        sold = reservation.quantity if status == "collected" else 0
        self.move(reservation.stock_id, pieces=-sold, held=-reservation.quantity)
        return self.reservations.update(reservation.id, status=status)

    def next_event(self) -> datetime | None:
        """When a shipment moves on or a reservation expires."""
        times = [shipment.due_at for shipment in self.shipments if shipment.due_at]
        active = self.reservations.where(status="active")
        times += [reservation.expires_at for reservation in active]
        return min(times, default=None)

    def happen(self) -> None:
        """Reservations expire first, so that a request can have the pieces they held."""
        for reservation in self.reservations.where(status="active"):
            if reservation.expires_at <= self.now:
                self.end(reservation, "expired")
        for shipment in list(self.shipments):
            if shipment.due_at and shipment.due_at <= self.now:
                self.step_when_due(shipment)

    def check(self) -> None:
        """No piece appears or vanishes unexplained, and none is promised twice."""
        for stock in self.stocks:
            self._check_stock(stock)
        for shipment in self.shipments:
            pending = shipment.status in ("requested", "in_transit")
            assert (shipment.due_at is not None) == pending
            assert 0 <= shipment.counted <= shipment.quantity
            assert shipment.counted == 0 or shipment.status == "received"

    def _check_stock(self, stock: Stock) -> None:
        """A stock is what was counted and came in, less what was sold and sent away."""
        booked = self.reservations.where(stock_id=stock.id)
        held = sum(r.quantity for r in booked if r.status == "active")
        sold = sum(r.quantity for r in booked if r.status == "collected")
        outgoing = self.shipments.where(source_stock_id=stock.id)
        sent = sum(s.quantity for s in outgoing if s.status not in ("requested", "declined"))
        incoming = self.shipments.where(target_stock_id=stock.id)
        received = sum(s.counted for s in incoming)
        assert stock.on_hand == stock.counted_in + received - sold - sent
        assert stock.reserved == held
        assert stock.available == stock.on_hand - held
        assert stock.available >= 0
        on_order = [s for s in incoming if s.kind == "purchase" and s.status != "received"]
        assert len(on_order) <= 1
        assert abs(stock.corrected_pieces) * stock.price <= CORRECTION_LIMIT


server = Server(
    "retail_chain",
    Chain,
    category="commerce",
    about="Stock, transfers, purchase orders and reservations across a chain of stores.",
    version=2,
)
