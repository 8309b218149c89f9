"""What the back office knows: customers, invoices, card payments, webhooks and deliveries."""

from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Record, Rejected, Server, State, Table, money, table

Reason = Literal["requested_by_customer", "duplicate", "damaged_goods", "late_delivery"]
Event = Literal["invoice.paid", "invoice.voided", "payment.refunded"]
InvoiceStatus = Literal["draft", "open", "paid", "void"]

HOLD = timedelta(days=7)
REFUNDABLE = timedelta(days=30)
FIRST_TRY = timedelta(minutes=1)
MOST_FAILURES = 8


class Customer(Record, frozen=True):
    """Somebody the merchant bills; without a card on file nothing can be held on it."""

    id: str
    name: str
    credit_limit: Decimal
    card: str = ""


class Invoice(Record, frozen=True):
    """What a customer owes, how much was captured for it, and how much of that was refunded.

    It is paid once all of it was captured and not refunded; later refunds leave it paid.
    """

    id: str
    customer_id: str
    customer_name: str
    description: str
    amount: Decimal
    status: InvoiceStatus = "draft"
    paid: Decimal = money(0)
    refunded: Decimal = money(0)

    @property
    def kept(self) -> Decimal:
        """What was captured and not refunded."""
        return self.paid - self.refunded

    @property
    def due(self) -> Decimal:
        """What the customer still owes."""
        return self.amount - self.kept if self.status in ("draft", "open") else money(0)


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

    def repeated(
        self, key: str, payment_id: str, amount: Decimal, reason: Reason | None
    ) -> Settlement | None:
        """The same settlement made before under an idempotency key, if there is one.

        A key that was used for another settlement is refused. An empty key is no key.
        """
        rows = self.settlements.where(idempotency_key=key) if key else []
        if not rows:
            return None
        row = rows[0]
        if (row.payment_id, row.amount, row.reason) != (payment_id, amount, reason):
            raise Rejected(f"{key!r} was the key of another {row.kind}; choose a new key")
        return row

    def add_to_paid(self, invoice_id: str, amount: Decimal) -> None:
        """Count a captured amount towards an invoice, which is paid once nothing is due."""
        invoice = self.invoices[invoice_id]
        invoice = self.invoices.update(invoice_id, paid=invoice.paid + amount)
        if invoice.due == 0:
            self.invoices.update(invoice_id, status="paid")
            self.notify("invoice.paid", invoice_id)

    def notify(self, event: Event, subject_id: str) -> None:
        """Send an event to every enabled endpoint."""
        for webhook in self.webhooks.where(status="enabled"):
            self.deliveries.add(
                webhook_id=webhook.id,
                event=event,
                subject_id=subject_id,
                due_at=self.now + FIRST_TRY,
            )

    def next_event(self) -> datetime | None:
        """The next authorisation to expire or the next delivery to try."""
        expiries = [row.expires_at for row in self.payments.where(status="authorised")]
        attempts = [row.due_at for row in self.deliveries.where(status="pending")]
        return min(expiries + attempts, default=None)

    def happen(self) -> None:
        """Let go of authorisations that expire, and try the deliveries that are due."""
        for payment in self.payments.where(status="authorised"):
            if payment.expires_at <= self.now:
                self.let_go(payment, "expired")
        for delivery in self.deliveries.where(status="pending"):
            # An earlier delivery of this loop may have disabled the endpoint.
            webhook = self.webhooks[delivery.webhook_id]
            if delivery.due_at <= self.now and webhook.status == "enabled":
                self._attempt(delivery, webhook)

    def let_go(self, payment: Payment, status: Literal["expired", "voided"]) -> None:
        """End the hold of a payment; what was captured of it stays captured."""
        self.payments.update(payment.id, status="captured" if payment.captured else status)

    def _attempt(self, delivery: WebhookDelivery, webhook: Webhook) -> None:
        """Try a delivery; if the endpoint is down, try again after twice the time."""
        attempts = delivery.attempts + 1
        if webhook.outage_until is None or self.now >= webhook.outage_until:
            self.deliveries.update(
                delivery.id, status="delivered", attempts=attempts, due_at=self.now
            )
            self.webhooks.update(webhook.id, failures=0)
            return
        wait = timedelta(minutes=5 * 2**delivery.attempts)
        self.deliveries.update(delivery.id, attempts=attempts, due_at=self.now + wait)
        failures = webhook.failures + 1
        self.webhooks.update(webhook.id, failures=failures)
        if failures == MOST_FAILURES:
            self._disable(webhook)

    def _disable(self, webhook: Webhook) -> None:
        """Give up on an endpoint and on all that is still to be delivered to it."""
        self.webhooks.update(webhook.id, status="disabled")
        for delivery in self.deliveries.where(webhook_id=webhook.id, status="pending"):
            self.deliveries.update(delivery.id, status="failed")

    def check(self) -> None:
        """Captures and refunds add up, invoices agree with payments, and counters with states."""
        self._check_payments()
        self._check_invoices()
        self._check_webhooks()

    def _check_payments(self) -> None:
        captured = defaultdict[str, Decimal](Decimal)
        refunded = defaultdict[str, Decimal](Decimal)
        for row in self.settlements:
            sums = captured if row.kind == "capture" else refunded
            sums[row.payment_id] += row.amount
        for payment in self.payments:
            assert payment.captured == captured[payment.id]
            assert payment.captured <= payment.authorised
            assert payment.refunded == refunded[payment.id]
            assert payment.refunded <= payment.captured
            if payment.captured:
                assert payment.status in ("authorised", "captured")
            if payment.status == "authorised":
                assert payment.expires_at > self.now

    def _check_invoices(self) -> None:
        for invoice in self.invoices:
            payments = self.payments.where(invoice_id=invoice.id)
            assert invoice.paid == sum(payment.captured for payment in payments)
            assert invoice.refunded == sum(payment.refunded for payment in payments)
            assert invoice.kept <= invoice.amount
            assert invoice.status == "paid" or invoice.kept < invoice.amount
            assert invoice.status != "void" or invoice.kept == 0
            holds = [payment for payment in payments if payment.status == "authorised"]
            assert len(holds) <= 1
            assert invoice.status == "open" or not holds
            for hold in holds:
                assert hold.authorised - hold.captured <= invoice.due

    def _check_webhooks(self) -> None:
        for webhook in self.webhooks:
            assert (webhook.status == "disabled") == (webhook.failures >= MOST_FAILURES)
        for delivery in self.deliveries.where(status="pending"):
            assert delivery.due_at > self.now
            assert self.webhooks[delivery.webhook_id].status == "enabled"


about = "Invoices, card captures, refunds and webhook deliveries of one merchant."
server = Server("payments", Office, category="finance", about=about, version=2)
