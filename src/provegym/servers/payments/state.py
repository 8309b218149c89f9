"""What the back office knows: customers, invoices, card payments, webhooks and deliveries."""

from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Record, Rejected, Server, State, Table, money, table

Reason = Literal["requested_by_customer", "duplicate", "damaged_goods", "late_delivery"]
Event = Literal["invoice.paid", "invoice.voided", "payment.refunded"]
InvoiceStatus = Literal["draft", "open", "paid", "void"]
HOLD, REFUNDABLE, FIRST_TRY = timedelta(days=7), timedelta(days=30), timedelta(minutes=1)
MOST_FAILURES = 8


class Customer(Record, frozen=True):
    """Somebody the merchant bills; without a card on file nothing can be held on it."""

    id: str
    name: str
    credit_limit: Decimal
    card: str = ""


class Invoice(Record, frozen=True):
    """What a customer owes, and how much of it was captured."""

    id: str
    customer_id: str
    customer_name: str
    description: str
    amount: Decimal
    status: InvoiceStatus = "draft"
    paid: Decimal = money(0)


class Payment(Record, frozen=True):
    """A hold on a customer's card for one invoice, to be captured until it expires."""

    id: str
    invoice_id: str
    customer_name: str
    authorised: Decimal
    expires_at: datetime
    captured: Decimal = money(0)
    refunded: Decimal = money(0)
    status: Literal["authorised", "captured", "expired", "voided"] = "authorised"


class Settlement(Record, frozen=True):
    """One capture or refund; its idempotency key keeps it from happening twice."""

    id: str
    payment_id: str
    kind: Literal["capture", "refund"]
    amount: Decimal
    at: datetime
    idempotency_key: str = ""
    reason: Reason | None = None


class Webhook(Record, frozen=True):
    """An endpoint that hears of events; too many failures in a row disable it."""

    id: str
    name: str
    url: str
    status: Literal["enabled", "disabled"] = "enabled"
    failures: int = 0
    outage_until: datetime | None = None


class WebhookDelivery(Record, frozen=True):
    """One event on its way to one endpoint, tried again later and later until it arrives."""

    id: str
    webhook_id: str
    event: Event
    subject_id: str
    due_at: datetime
    attempts: int = 0
    status: Literal["pending", "delivered", "failed"] = "pending"


class Office(State):
    """The payment back office of one merchant."""

    customers: Table[Customer] = table(Customer, "cus", look_up="list_billing_customers")
    invoices: Table[Invoice] = table(Invoice, "inv", look_up="list_invoices")
    payments: Table[Payment] = table(Payment, "pym", look_up="list_invoice_payments")
    settlements: Table[Settlement] = table(Settlement, "stl")
    webhooks: Table[Webhook] = table(Webhook, "whk", look_up="list_webhooks")
    deliveries: Table[WebhookDelivery] = table(WebhookDelivery, "wdl")

    def book(self, payment_id: str, amount: Decimal, key: str, reason: Reason | None) -> Settlement:
        """Capture, or refund for a reason, unless an idempotency key has done just that before."""
        held, kind = self.payments[payment_id], "refund" if reason else "capture"
        for row in self.settlements.where(idempotency_key=key) if key else ():
            if (row.payment_id, row.amount, row.reason) == (payment_id, amount, reason):
                return row
            raise Rejected(f"{key!r} was the key of another {row.kind}; choose a new key")
        left = held.captured - held.refunded if reason else held.authorised - held.captured
        if not reason and held.status != "authorised":
            raise Rejected(f"the payment is {held.status}; only an authorised one is captured")
        if reason and self.now > held.expires_at + REFUNDABLE:
            raise Rejected(f"its hold ended on {held.expires_at}, over 30 days ago; refund no more")
        if amount > left:
            raise Rejected(f"{left} is left to {kind}; choose an amount up to that")
        if reason:
            self.payments.update(payment_id, refunded=held.refunded + amount)
            self.notify("payment.refunded", payment_id)
        else:
            invoice = self.invoices[held.invoice_id]
            paid, status = invoice.paid + amount, "captured" if amount == left else held.status
            self.payments.update(payment_id, captured=held.captured + amount, status=status)
            settled = "paid" if paid == invoice.amount else "open"
            self.invoices.update(invoice.id, paid=paid, status=settled)
            if settled == "paid":
                self.notify("invoice.paid", invoice.id)
        terms = {"kind": kind, "amount": amount, "idempotency_key": key, "reason": reason}
        return self.settlements.add(payment_id=payment_id, at=self.now, **terms)

    def notify(self, event: Event, subject_id: str) -> None:
        """Send an event to every enabled endpoint."""
        for hook in self.webhooks.where(status="enabled"):
            what, due = {"webhook_id": hook.id, "event": event}, self.now + FIRST_TRY
            self.deliveries.add(subject_id=subject_id, due_at=due, **what)

    def next_event(self) -> datetime | None:
        """The next authorisation to expire or the next delivery to try."""
        times = [row.expires_at for row in self.payments if row.status == "authorised"]
        times += [row.due_at for row in self.deliveries if row.status == "pending"]
        return min(times, default=None)

    def happen(self) -> None:
        """Let go of authorisations that expire, and try the deliveries that are due."""
        for payment in self.payments.where(status="authorised"):
            if payment.expires_at <= self.now:
                status = "captured" if payment.captured else "expired"
                self.payments.update(payment.id, status=status)
        for row in self.deliveries.where(status="pending"):
            hook, wait = self.webhooks[row.webhook_id], timedelta(minutes=5 * 2**row.attempts)
            if row.due_at > self.now or hook.status == "disabled":
                continue
            down = hook.outage_until is not None and self.now < hook.outage_until
            failures, status = (hook.failures + 1, "pending") if down else (0, "delivered")
            again = {"attempts": row.attempts + 1, "due_at": self.now + wait * down}
            self.deliveries.update(row.id, status=status, **again)
            self.webhooks.update(hook.id, failures=failures)
            if failures == MOST_FAILURES:
                self.webhooks.update(hook.id, status="disabled")
                for late in self.deliveries.where(webhook_id=hook.id, status="pending"):
                    self.deliveries.update(late.id, status="failed")

    def check(self) -> None:
        """Captures and refunds add up, invoices agree with payments, and counters with states."""
        sums = defaultdict[str, Decimal](Decimal)
        for row in self.settlements:
            sums[row.kind + row.payment_id] += row.amount
        for payment in self.payments:
            assert payment.captured == sums["capture" + payment.id] <= payment.authorised
            assert payment.refunded == sums["refund" + payment.id] <= payment.captured
            assert not payment.captured or payment.status in ("authorised", "captured")
            assert payment.status != "authorised" or payment.expires_at > self.now
            sums[payment.invoice_id] += payment.captured
        for invoice in self.invoices:
            held = self.payments.where(invoice_id=invoice.id, status="authorised")
            assert len(held) <= (1 if invoice.status == "open" else 0)
            assert invoice.paid == sums[invoice.id] <= invoice.amount
            assert (invoice.status == "paid") == (invoice.paid == invoice.amount)
        down = [row.id for row in self.webhooks if row.failures >= MOST_FAILURES]
        assert down == [row.id for row in self.webhooks if row.status == "disabled"]
        for delivery in self.deliveries.where(status="pending"):
            assert delivery.due_at > self.now
            assert delivery.webhook_id not in down


about = "Invoices, card captures, refunds and webhook deliveries of one merchant."
server = Server("payments", Office, category="finance", about=about)
