"""The back office's rules, told on one customer, one invoice and one endpoint."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session, money
from provegym.servers.payments import server
from provegym.servers.payments.state import Office

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
DAY = 24 * 60


@pytest.fixture
def office() -> Office:
    """A customer with a card and one without, and an endpoint."""
    office = Office(Seed(0))
    office.now = NOON
    office.customers.add(name="Heron Boats", credit_limit=money(1000), card="4242")
    office.customers.add(name="Willow Vets", credit_limit=money(1000))
    office.webhooks.add(name="Accounting Sync", url="https://ledger.example/hooks/1")
    return office


@pytest.fixture
def session(office: Office) -> Session:
    """A session over that office."""
    return Session.over(server, office)


def call(session: Session, tool: str, **given: Any) -> Outcome:
    """Call a tool and hold the world to its invariants."""
    outcome = session.call(tool, given)
    session.check()
    return outcome


def message(outcome: Outcome) -> str:
    """Why a rule refused a call."""
    assert outcome.error == "rejected"
    return str(outcome.value["message"])


def customer(session: Session, name: str = "Heron") -> str:
    """The id of a customer."""
    return str(call(session, "list_billing_customers", name=name).value["items"][0]["id"])


def draft(session: Session, amount: float = 100, name: str = "Heron") -> str:
    """The id of a new draft."""
    given = {"customer_id": customer(session, name), "description": "Sails", "amount": amount}
    return str(call(session, "create_invoice", **given).value["id"])


def opened(session: Session, amount: float = 100) -> tuple[str, str]:
    """An open invoice and the payment that is authorised for it."""
    invoice = draft(session, amount)
    call(session, "set_invoice_status", invoice_id=invoice, status="open")
    return invoice, payments(session, invoice)[-1]["id"]


def payments(session: Session, invoice: str) -> list[dict[str, Any]]:
    """The card payments on an invoice."""
    return list(call(session, "list_invoice_payments", invoice_id=invoice).value["items"])


def invoice_status(session: Session, invoice: str) -> str:
    """How an invoice stands."""
    listed = call(session, "list_invoices", customer_id=customer(session)).value["items"]
    return next(str(row.get("status", "draft")) for row in listed if row["id"] == invoice)


def deliveries(session: Session) -> list[dict[str, Any]]:
    """What was sent to the endpoint, newest first."""
    hook = call(session, "list_webhooks").value["items"][0]["id"]
    return list(call(session, "list_webhook_deliveries", webhook_id=hook).value["items"])


def test_opening_an_invoice_holds_its_amount_for_a_week(session: Session) -> None:
    invoice, _ = opened(session)
    assert invoice_status(session, invoice) == "open"
    held = payments(session, invoice)[0]
    assert held["authorised"] == 100
    assert held["expires_at"] == "2026-03-11T12:00:00Z"


def test_without_a_card_nothing_is_held(session: Session) -> None:
    invoice = draft(session, name="Willow")
    refused = call(session, "set_invoice_status", invoice_id=invoice, status="open")
    assert "no card" in message(refused)


def test_an_invoice_is_held_once(session: Session) -> None:
    invoice, payment = opened(session)
    refused = call(session, "set_invoice_status", invoice_id=invoice, status="open")
    assert message(refused) == f"{payment} holds it already"


def test_the_credit_limit_counts_what_is_not_paid(session: Session) -> None:
    _, payment = opened(session, 900)
    given = {"customer_id": customer(session), "description": "Oars", "amount": 200}
    assert "can be billed 100.00 more" in message(call(session, "create_invoice", **given))
    call(session, "capture_payment", payment_id=payment, amount=150)
    assert call(session, "create_invoice", **given).ok


def test_captures_in_parts_pay_the_invoice(session: Session) -> None:
    invoice, payment = opened(session)
    call(session, "capture_payment", payment_id=payment, amount=40)
    assert invoice_status(session, invoice) == "open"
    too_much = call(session, "capture_payment", payment_id=payment, amount=60.01)
    assert "60.00 is left to capture" in message(too_much)
    call(session, "capture_payment", payment_id=payment, amount=60)
    assert invoice_status(session, invoice) == "paid"
    again = call(session, "capture_payment", payment_id=payment, amount=1)
    assert "the payment is captured" in message(again)


def test_an_authorisation_expires_and_the_rest_can_be_held_anew(session: Session) -> None:
    invoice, payment = opened(session)
    call(session, "capture_payment", payment_id=payment, amount=30)
    session.advance(7 * DAY)
    assert payments(session, invoice)[0]["status"] == "captured"
    assert call(session, "set_invoice_status", invoice_id=invoice, status="open").ok
    assert payments(session, invoice)[1]["authorised"] == 70


def test_what_was_never_captured_expires(session: Session) -> None:
    invoice, payment = opened(session)
    session.advance(7 * DAY)
    assert payments(session, invoice)[0]["status"] == "expired"
    late = call(session, "capture_payment", payment_id=payment, amount=10)
    assert "the payment is expired" in message(late)


def test_voiding_releases_the_hold(session: Session) -> None:
    invoice, payment = opened(session)
    call(session, "set_invoice_status", invoice_id=invoice, status="void")
    assert payments(session, invoice)[0]["status"] == "voided"
    assert call(session, "capture_payment", payment_id=payment, amount=10).error == "rejected"
    refused = call(session, "set_invoice_status", invoice_id=invoice, status="open")
    assert "void and stays so" in message(refused)


def test_what_is_paid_in_part_is_refunded_not_voided(session: Session) -> None:
    invoice, payment = opened(session)
    call(session, "capture_payment", payment_id=payment, amount=30)
    refused = call(session, "set_invoice_status", invoice_id=invoice, status="void")
    assert "30.00 was captured" in message(refused)


def test_a_paid_invoice_stays_paid(session: Session) -> None:
    invoice, payment = opened(session)
    call(session, "capture_payment", payment_id=payment, amount=100)
    refused = call(session, "set_invoice_status", invoice_id=invoice, status="void")
    assert "paid and stays so" in message(refused)


def test_refunds_never_exceed_what_was_captured(session: Session) -> None:
    _, payment = opened(session)
    given = {"payment_id": payment, "amount": 50, "reason": "duplicate"}
    assert "0.00 is left to refund" in message(call(session, "refund_payment", **given))
    call(session, "capture_payment", payment_id=payment, amount=80)
    assert call(session, "refund_payment", **given).ok
    assert "30.00 is left to refund" in message(call(session, "refund_payment", **given))


def test_refunds_end_after_thirty_days(session: Session) -> None:
    _, payment = opened(session)
    call(session, "capture_payment", payment_id=payment, amount=80)
    given = {"payment_id": payment, "amount": 10, "reason": "damaged_goods"}
    session.advance(37 * DAY)
    assert call(session, "refund_payment", **given).ok
    session.advance(1)
    assert "over 30 days ago" in message(call(session, "refund_payment", **given))


def test_a_key_makes_a_capture_happen_once(session: Session) -> None:
    invoice, payment = opened(session)
    given = {"payment_id": payment, "amount": 40, "idempotency_key": "march-1"}
    first = call(session, "capture_payment", **given)
    before = session.digest()
    assert call(session, "capture_payment", **given) == first
    assert session.digest() == before
    assert payments(session, invoice)[0]["captured"] == 40


def test_a_key_belongs_to_its_arguments(session: Session) -> None:
    _, payment = opened(session)
    given = {"payment_id": payment, "amount": 40, "idempotency_key": "march-1"}
    call(session, "capture_payment", **given)
    other = call(session, "capture_payment", **given | {"amount": 41})
    assert "the key of another capture" in message(other)
    refund = call(session, "refund_payment", **given, reason="duplicate")
    assert "the key of another capture" in message(refund)


def test_endpoints_hear_of_what_happens(session: Session) -> None:
    invoice, payment = opened(session)
    call(session, "capture_payment", payment_id=payment, amount=100)
    call(session, "refund_payment", payment_id=payment, amount=5, reason="late_delivery")
    sent = deliveries(session)
    assert [row["event"] for row in sent] == ["payment.refunded", "invoice.paid"]
    assert [row["subject_id"] for row in sent] == [payment, invoice]
    assert sent[0]["status"] == "pending"
    session.advance(1)
    assert {row["status"] for row in deliveries(session)} == {"delivered"}


def outage(office: Office, hours: int) -> Session:
    """A session whose endpoint is down, with one event on its way."""
    hook = next(iter(office.webhooks))
    office.webhooks.update(hook.id, outage_until=NOON + timedelta(hours=hours))
    session = Session.over(server, office)
    call(session, "set_invoice_status", invoice_id=draft(session), status="void")
    return session


def test_deliveries_are_tried_again_with_longer_waits(office: Office) -> None:
    session = outage(office, hours=5)
    session.advance(1)
    assert deliveries(session)[0]["due_at"] == "2026-03-04T12:06:00Z"
    session.advance(5)
    assert deliveries(session)[0]["due_at"] == "2026-03-04T12:16:00Z"
    session.advance(2 * DAY)
    session.check()
    assert deliveries(session)[0]["status"] == "delivered"
    assert call(session, "list_webhooks").value["items"][0].get("failures", 0) == 0


def test_too_many_failures_disable_an_endpoint(office: Office) -> None:
    session = outage(office, hours=9 * 24)
    session.advance(2 * DAY)
    session.check()
    hook = call(session, "list_webhooks").value["items"][0]
    assert (hook["status"], hook["failures"]) == ("disabled", 8)
    assert deliveries(session)[0]["status"] == "failed"
    call(session, "set_invoice_status", invoice_id=draft(session), status="void")
    assert len(deliveries(session)) == 1


def test_an_endpoint_is_enabled_once_it_is_up_and_gets_what_it_missed(office: Office) -> None:
    session = outage(office, hours=9 * 24)
    hook = call(session, "list_webhooks").value["items"][0]["id"]
    assert "enabled already" in message(call(session, "enable_webhook", webhook_id=hook))
    session.advance(2 * DAY)
    assert "does not answer" in message(call(session, "enable_webhook", webhook_id=hook))
    session.advance(8 * DAY)
    assert call(session, "enable_webhook", webhook_id=hook).ok
    session.advance(1)
    session.check()
    assert deliveries(session)[0]["status"] == "delivered"
