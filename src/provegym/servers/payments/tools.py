"""What a merchant's staff can do with invoices, card payments and webhooks."""

from typing import Literal

from provegym.kernel import Amount, Label, Rejected

from . import state
from .state import Customer, Invoice, Office, Payment, Reason, Settlement, Webhook, server


@server.read
def list_billing_customers(office: Office, /, name: str = "") -> list[Customer]:
    """List the merchant's customers with credit limit and the card on file.

    Args:
        name: Only customers whose name contains this.
    """
    return [row for row in office.customers if name.lower() in row.name.lower()]


@server.read
def list_invoices(
    office: Office, /, customer_id: str, status: state.InvoiceStatus | None = None
) -> list[Invoice]:
    """List a billing customer's invoices, newest first, with what is paid of them.

    Args:
        customer_id: The customer, e.g. "cus_4711".
        status: Only invoices with this status.
    """
    found = office.invoices.where(customer_id=office.customers[customer_id].id)
    return [row for row in found[::-1] if status in (None, row.status)]


@server.read
def list_invoice_payments(office: Office, /, invoice_id: str) -> list[Payment]:
    """List the card payments on an invoice: authorised, captured and refunded amounts, expiry.

    Args:
        invoice_id: The invoice, e.g. "inv_52".
    """
    return office.payments.where(invoice_id=office.invoices[invoice_id].id)


@server.read
def list_webhooks(office: Office, /, name: str = "") -> list[Webhook]:
    """List the webhook endpoints that hear of invoices and payments, with status and failures.

    Args:
        name: Only endpoints whose name contains this.
    """
    return [row for row in office.webhooks if name.lower() in row.name.lower()]


@server.read
def list_webhook_deliveries(office: Office, /, webhook_id: str) -> list[state.WebhookDelivery]:
    """List the events for one webhook endpoint, newest first, with attempts and the next one.

    Args:
        webhook_id: The endpoint, e.g. "whk_310".
    """
    return office.deliveries.where(webhook_id=office.webhooks[webhook_id].id)[::-1]


@server.write
def create_invoice(
    office: Office, /, customer_id: str, description: Label, amount: Amount
) -> Invoice:
    """Draft an invoice to a customer, within their credit limit.

    Args:
        customer_id: Whom to bill, e.g. "cus_4711".
        description: What it is for.
        amount: How much in all.
    """
    customer = office.customers[customer_id]
    bills = [row for row in office.invoices.where(customer_id=customer_id) if row.status != "void"]
    if amount > (left := customer.credit_limit - sum(row.amount - row.paid for row in bills)):
        raise Rejected(f"{customer.name} can be billed {left} more until something is paid")
    names = {"customer_id": customer_id, "customer_name": customer.name}
    return office.invoices.add(description=description, amount=amount, **names)


@server.write
def set_invoice_status(
    office: Office, /, invoice_id: str, status: Literal["open", "void"]
) -> Invoice:
    """Open an invoice, which holds its amount on the customer's card for a week, or void it.

    Args:
        invoice_id: The invoice, e.g. "inv_52"; to open it, a card must be on file.
        status: Open a draft, or an open one whose hold has expired; void what nothing is paid of.
    """
    invoice = office.invoices[invoice_id]
    held = office.payments.where(invoice_id=invoice_id, status="authorised")
    if invoice.status in ("paid", "void"):
        raise Rejected(f"the invoice is {invoice.status} and stays so; create a new one")
    if status == "void":
        if invoice.paid:
            raise Rejected(f"{invoice.paid} was captured for it; refund that payment instead")
        for payment in held:
            office.payments.update(payment.id, status="voided")
        office.notify("invoice.voided", invoice_id)
    elif held or not office.customers[invoice.customer_id].card:
        raise Rejected(f"{held[0].id} holds it already" if held else "no card is on file; void it")
    else:
        names = {"invoice_id": invoice_id, "customer_name": invoice.customer_name}
        left, until = invoice.amount - invoice.paid, office.now + state.HOLD
        office.payments.add(authorised=left, expires_at=until, **names)
    return office.invoices.update(invoice_id, status=status)


@server.write
def capture_payment(
    office: Office, /, payment_id: str, amount: Amount, idempotency_key: str = ""
) -> Settlement:
    """Capture all or part of an authorised card payment before it expires, towards its invoice.

    Args:
        payment_id: The payment, e.g. "pym_4711".
        amount: How much, at most what is authorised and not captured yet.
        idempotency_key: Any new key; the same capture under the same key happens once.
    """
    return office.book(payment_id, amount, idempotency_key, None)


@server.write
def refund_payment(
    office: Office, /, payment_id: str, amount: Amount, reason: Reason, idempotency_key: str = ""
) -> Settlement:
    """Refund all or part of a captured card payment, until 30 days after its hold has ended.

    Args:
        payment_id: The payment, e.g. "pym_4711".
        amount: How much, at most what is captured and not refunded yet.
        reason: Why it is refunded.
        idempotency_key: Any new key; the same refund under the same key happens once.
    """
    return office.book(payment_id, amount, idempotency_key, reason)


@server.write
def enable_webhook(office: Office, /, webhook_id: str) -> Webhook:
    """Enable a disabled webhook endpoint that is up again; its failed deliveries are sent anew.

    Args:
        webhook_id: The endpoint, e.g. "whk_310".
    """
    hook, due = office.webhooks[webhook_id], office.now + state.FIRST_TRY
    if hook.status == "enabled":
        raise Rejected(f"{hook.name} is enabled already")
    if hook.outage_until and office.now < hook.outage_until:
        raise Rejected(f"{hook.name} does not answer; try again after {hook.outage_until}")
    for row in office.deliveries.where(webhook_id=webhook_id, status="failed"):
        office.deliveries.update(row.id, status="pending", attempts=0, due_at=due)
    return office.webhooks.update(webhook_id, status="enabled", failures=0)
