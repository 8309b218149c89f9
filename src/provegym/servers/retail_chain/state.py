"""What the chain knows about its stores' stock, and what is always true of it."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from provegym.kernel import Denied, Record, Server, State, Table, forbid, table

ShipmentKind = Literal["incoming_transfer", "outgoing_transfer", "purchase"]
Stage = Literal["requested", "in_transit", "arrived", "received", "declined"]
ReservationStatus = Literal["active", "collected", "released", "expired"]
Reason = Literal["recount", "damaged", "stolen", "spoiled", "found"]


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
    """One product in one store; `counted_in` sums up all counts, the opening one included."""

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
        forbid(not stock.own, f"only clerks of {stock.store_name} may; request a transfer", Denied)
        return stock

    def move(self, stock_id: str, pieces: int = 0, held: int = 0) -> Stock:
        """Put pieces on the shelf or take them off, and hold some back or let them go."""
        stock = self.stocks[stock_id]
        on_hand, reserved = stock.on_hand + pieces, stock.reserved + held
        counts = {"on_hand": on_hand, "reserved": reserved, "available": on_hand - reserved}
        return self.stocks.update(stock_id, **counts)

    def ship(self, source: Stock | None, target: Stock, **fields: Any) -> Shipment:
        """Write down pieces that are to go from a store, or from the supplier, to a store."""
        fields |= {"target_stock_id": target.id, "target_name": target.store_name}
        fields |= {"kind": "purchase", "source_name": target.supplier}
        if source:
            kind = "incoming_transfer" if target.own else "outgoing_transfer"
            fields |= {"source_stock_id": source.id, "source_name": source.store_name, "kind": kind}
        return self.shipments.add(product_name=target.product_name, created_at=self.now, **fields)

    def step(self, shipment: Shipment, status: Stage, counted: int = 0) -> Shipment:
        """Move a shipment on: pieces leave one shelf with the lorry and reach another counted."""
        target, due = self.move(shipment.target_stock_id, counted), None
        if status == "in_transit":
            source = self.move(shipment.source_stock_id or "", -shipment.quantity)
            due = self.now + timedelta(hours=source.lorry_hours + target.lorry_hours)
        return self.shipments.update(shipment.id, status=status, counted=counted, due_at=due)

    def fate(self, shipment: Shipment) -> tuple[Stage, int]:
        """Lorries arrive, other stores unpack them and answer requests; requests to us lapse."""
        ours = shipment.kind != "outgoing_transfer"
        if shipment.status == "in_transit":
            return ("arrived", 0) if ours else ("received", shipment.quantity)
        source = self.stocks[shipment.source_stock_id or ""]
        enough = source.available - shipment.quantity >= source.reorder_point
        return ("in_transit" if ours and enough else "declined"), 0

    def end(self, reservation: Reservation, status: ReservationStatus) -> Reservation:
        """Let the held pieces go; those collected leave the shop."""
        sold = reservation.quantity if status == "collected" else 0
        self.move(reservation.stock_id, -sold, -reservation.quantity)
        return self.reservations.update(reservation.id, status=status)

    def next_event(self) -> datetime | None:
        """A shipment moves on or a reservation expires."""
        times = [shipment.due_at for shipment in self.shipments if shipment.due_at]
        times += [r.expires_at for r in self.reservations if r.status == "active"]
        return min(times, default=None)

    def happen(self) -> None:
        """Reservations lapse first, so that what they held can answer a request."""
        for reservation in self.reservations.where(status="active"):
            if reservation.expires_at <= self.now:
                self.end(reservation, "expired")
        for shipment in list(self.shipments):
            if shipment.due_at and shipment.due_at <= self.now:
                self.step(shipment, *self.fate(shipment))

    def check(self) -> None:
        """No piece appears or vanishes unexplained, and none is promised twice."""
        for stock in self.stocks:
            booked = self.reservations.where(stock_id=stock.id)
            held = sum(r.quantity for r in booked if r.status == "active")
            gone = sum(r.quantity for r in booked if r.status == "collected")
            sent = self.shipments.where(source_stock_id=stock.id)
            gone += sum(s.quantity for s in sent if s.status not in ("requested", "declined"))
            came = sum(s.counted for s in self.shipments.where(target_stock_id=stock.id))
            assert (stock.on_hand, stock.reserved) == (stock.counted_in + came - gone, held)
            assert stock.available == stock.on_hand - held >= 0
        for shipment in self.shipments:
            assert (shipment.due_at is None) == (shipment.status not in ("requested", "in_transit"))
            assert 0 <= shipment.counted <= shipment.quantity * (shipment.status == "received")


about = "Stock, transfers, purchase orders and reservations across a chain of stores."
server = Server("retail_chain", Chain, category="commerce", about=about)
