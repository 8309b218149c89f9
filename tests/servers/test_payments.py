"""The back office's rules, told on one customer, one invoice and one endpoint."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.payments import server
from provegym.servers.payments.state import Office
from servers.desk import Desk

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)


class BackOffice(Desk[Office]):
    """A customer with a card and one without, and an endpoint that hears of what happens."""

    def __init__(self) -> None:
        super().__init__(server, Office(Seed(0)))
        self.world.now = NOON
        limit = {"credit_limit": money(1000)}
        self.world.customers.add(name="Heron Boats", card="4242", **limit)
        self.world.customers.add(name="Willow Vets", **limit)
        endpoint = {"name": "Accounting Sync", "url": "https://ledger.example/hooks/1"}
        self.hook = self.world.webhooks.add(**endpoint).id
        self.start()

    def customer(self, name: str = "Heron") -> str:
        """The id of a customer."""
        return str(self.done("list_billing_customers", name=name)["items"][0]["id"])

    def draft(self, amount: float = 100, name: str = "Heron") -> str:
        """The id of a new draft."""
        bill = {"customer_id": self.customer(name), "description": "Sails", "amount": amount}
        return str(self.done("create_invoice", **bill)["id"])

    def opened(self, amount: float = 100) -> tuple[str, str]:
        """An open invoice and the payment that is authorised for it."""
        invoice = self.draft(amount)
        self.done("set_invoice_status", invoice_id=invoice, status="open")
        return invoice, self.payments(invoice)[-1]["id"]

    def refund(self, payment: str, amount: float) -> None:
        """Refund a part of a payment."""
        given = {"payment_id": payment, "amount": amount, "reason": "requested_by_customer"}
        self.done("refund_payment", **given)

    def payments(self, invoice: str) -> list[dict[str, Any]]:
        """The card payments on an invoice."""
        return list(self.done("list_invoice_payments", invoice_id=invoice)["items"])

    def status(self, invoice: str) -> str:
        """How an invoice stands."""
        listed = self.done("list_invoices", customer_id=self.customer())["items"]
        return next(str(row.get("status", "draft")) for row in listed if row["id"] == invoice)

    def deliveries(self) -> list[dict[str, Any]]:
        """What was sent to the endpoint, newest first."""
        return list(self.done("list_webhook_deliveries", webhook_id=self.hook)["items"])

    def cut_off(self, hours: int) -> None:
        """Start anew with an endpoint that is down, and one event on its way."""
        self.world.webhooks.update(self.hook, outage_until=NOON + timedelta(hours=hours))
        self.start()
        self.done("set_invoice_status", invoice_id=self.draft(), status="void")


@pytest.fixture
def office() -> BackOffice:
    return BackOffice()


def test_opening_an_invoice_holds_its_amount_for_a_week(office: BackOffice) -> None:
    invoice, _ = office.opened()
    assert office.status(invoice) == "open"
    held = office.payments(invoice)[0]
    assert held["authorised"] == 100
    assert held["expires_at"] == "2026-03-11T12:00:00Z"


def test_without_a_card_nothing_is_held(office: BackOffice) -> None:
    invoice = office.draft(name="Willow")
    office.rejected("set_invoice_status", "no card", invoice_id=invoice, status="open")


def test_an_invoice_is_held_once(office: BackOffice) -> None:
    invoice, payment = office.opened()
    message = office.rejected("set_invoice_status", invoice_id=invoice, status="open")
    assert message == f"{payment} holds it already"


def test_the_credit_limit_counts_what_is_not_paid(office: BackOffice) -> None:
    _, payment = office.opened(900)
    given = {"customer_id": office.customer(), "description": "Oars", "amount": 200}
    office.rejected("create_invoice", "can be billed 100.00 more", **given)
    office.done("capture_payment", payment_id=payment, amount=150)
    office.done("create_invoice", **given)


def test_captures_in_parts_pay_the_invoice(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=40)
    assert office.status(invoice) == "open"
    office.rejected("capture_payment", "60.00 is left to capture", payment_id=payment, amount=60.01)
    office.done("capture_payment", payment_id=payment, amount=60)
    assert office.status(invoice) == "paid"
    office.rejected("capture_payment", "the payment is captured", payment_id=payment, amount=1)


def test_an_authorisation_expires_and_the_rest_can_be_held_anew(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=30)
    office.wait(days=7)
    assert office.payments(invoice)[0]["status"] == "captured"
    office.done("set_invoice_status", invoice_id=invoice, status="open")
    assert office.payments(invoice)[1]["authorised"] == 70


def test_what_was_never_captured_expires(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.wait(days=7)
    assert office.payments(invoice)[0]["status"] == "expired"
    office.rejected("capture_payment", "the payment is expired", payment_id=payment, amount=10)


def test_voiding_releases_the_hold(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("set_invoice_status", invoice_id=invoice, status="void")
    assert office.payments(invoice)[0]["status"] == "voided"
    office.rejected("capture_payment", payment_id=payment, amount=10)
    office.rejected("set_invoice_status", "void and stays so", invoice_id=invoice, status="open")


def test_what_is_paid_in_part_is_voided_once_it_is_refunded(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=30)
    void = {"invoice_id": invoice, "status": "void"}
    office.rejected("set_invoice_status", "30.00 was captured", **void)
    office.refund(payment, 20)
    office.rejected("set_invoice_status", "10.00 was captured", **void)
    office.refund(payment, 10)
    assert office.done("set_invoice_status", **void)["status"] == "void"
    assert office.payments(invoice)[0]["status"] == "captured"
    office.rejected("capture_payment", payment_id=payment, amount=10)


def test_what_is_refunded_of_an_open_invoice_is_due_again(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=30)
    office.refund(payment, 30)
    office.done("capture_payment", payment_id=payment, amount=70)
    assert office.status(invoice) == "open"
    office.done("set_invoice_status", invoice_id=invoice, status="open")
    rest = office.payments(invoice)[1]
    assert rest["authorised"] == 30
    office.done("capture_payment", payment_id=rest["id"], amount=30)
    assert office.status(invoice) == "paid"


def test_a_paid_invoice_stays_paid_until_all_of_it_is_refunded(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=100)
    void = {"invoice_id": invoice, "status": "void"}
    office.rejected("set_invoice_status", "100.00 was captured", **void)
    office.refund(payment, 40)
    assert office.status(invoice) == "paid"
    office.rejected("set_invoice_status", "create a new one", invoice_id=invoice, status="open")
    office.refund(payment, 60)
    assert office.done("set_invoice_status", **void)["status"] == "void"


def test_refunds_count_in_what_a_customer_owes(office: BackOffice) -> None:
    bill = {"customer_id": office.customer(), "description": "Sails", "amount": 500}
    _, part = office.opened(1000)
    office.done("capture_payment", payment_id=part, amount=500)
    office.refund(part, 200)
    office.rejected("create_invoice", "can be billed 300.00 more", **bill)
    office.done("capture_payment", payment_id=part, amount=500)
    office.done("create_invoice", **bill)


def test_refunds_never_exceed_what_was_captured(office: BackOffice) -> None:
    _, payment = office.opened()
    given = {"payment_id": payment, "amount": 50, "reason": "duplicate"}
    office.rejected("refund_payment", "0.00 is left to refund", **given)
    office.done("capture_payment", payment_id=payment, amount=80)
    office.done("refund_payment", **given)
    office.rejected("refund_payment", "30.00 is left to refund", **given)


def test_refunds_end_after_thirty_days(office: BackOffice) -> None:
    _, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=80)
    given = {"payment_id": payment, "amount": 10, "reason": "damaged_goods"}
    office.wait(days=37)
    office.done("refund_payment", **given)
    office.wait(1)
    office.rejected("refund_payment", "over 30 days ago", **given)


def test_a_key_makes_a_capture_happen_once(office: BackOffice) -> None:
    invoice, payment = office.opened()
    given = {"payment_id": payment, "amount": 40, "idempotency_key": "march-1"}
    first = office.call("capture_payment", **given)
    before = office.session.digest()
    assert office.call("capture_payment", **given) == first
    assert office.session.digest() == before
    assert office.payments(invoice)[0]["captured"] == 40


def test_a_key_belongs_to_its_arguments(office: BackOffice) -> None:
    _, payment = office.opened()
    given = {"payment_id": payment, "amount": 40, "idempotency_key": "march-1"}
    office.done("capture_payment", **given)
    office.rejected("capture_payment", "the key of another capture", **given | {"amount": 41})
    office.rejected("refund_payment", "the key of another capture", **given, reason="duplicate")


def test_endpoints_hear_of_what_happens(office: BackOffice) -> None:
    invoice, payment = office.opened()
    office.done("capture_payment", payment_id=payment, amount=100)
    office.done("refund_payment", payment_id=payment, amount=5, reason="late_delivery")
    sent = office.deliveries()
    assert [row["event"] for row in sent] == ["payment.refunded", "invoice.paid"]
    assert [row["subject_id"] for row in sent] == [payment, invoice]
    assert sent[0]["status"] == "pending"
    office.wait(1)
    assert {row["status"] for row in office.deliveries()} == {"delivered"}


def test_deliveries_are_tried_again_with_longer_waits(office: BackOffice) -> None:
    office.cut_off(hours=5)
    office.wait(1)
    assert office.deliveries()[0]["due_at"] == "2026-03-04T12:06:00Z"
    office.wait(5)
    assert office.deliveries()[0]["due_at"] == "2026-03-04T12:16:00Z"
    office.wait(days=2)
    assert office.deliveries()[0]["status"] == "delivered"
    assert office.done("list_webhooks")["items"][0].get("failures", 0) == 0


def test_too_many_failures_disable_an_endpoint(office: BackOffice) -> None:
    office.cut_off(hours=9 * 24)
    office.wait(days=2)
    hook = office.done("list_webhooks")["items"][0]
    assert (hook["status"], hook["failures"]) == ("disabled", 8)
    assert office.deliveries()[0]["status"] == "failed"
    office.done("set_invoice_status", invoice_id=office.draft(), status="void")
    assert len(office.deliveries()) == 1


def test_an_endpoint_is_enabled_once_it_is_up_and_gets_what_it_missed(office: BackOffice) -> None:
    office.cut_off(hours=9 * 24)
    hook = office.done("list_webhooks")["items"][0]["id"]
    office.rejected("enable_webhook", "enabled already", webhook_id=hook)
    office.wait(days=2)
    office.rejected("enable_webhook", "does not answer", webhook_id=hook)
    office.wait(days=8)
    office.done("enable_webhook", webhook_id=hook)
    office.wait(1)
    assert office.deliveries()[0]["status"] == "delivered"
