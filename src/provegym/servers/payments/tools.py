"""What a merchant's staff can do with invoices, card payments and webhooks."""

from typing import Literal

from provegym.kernel import Amount, Label, Rejected

from .state import (
    FIRST_TRY,
    HOLD,
    REFUNDABLE,
    Customer,
    Invoice,
    InvoiceStatus,
    Office,
    Payment,
    Reason,
    Settlement,
    Webhook,
    WebhookDelivery,
    server,
)


@server.read
def list_billing_customers(office: Office, /, name: str = "") -> list[Customer]:
    """List the merchant's customers with credit limit and the card on file.

    Args:
        name: Only customers whose name contains this.
    """
    wanted = name.lower()
    return [customer for customer in office.customers if wanted in customer.name.lower()]


@server.read
def list_invoices(
    office: Office, /, customer_id: str, status: InvoiceStatus | None = None
) -> list[Invoice]:
    """List a billing customer's invoices, newest first, with what was paid and refunded.

    Args:
        customer_id: The customer, e.g. "cus_4711".
        status: Only invoices with this status.
    """
    customer = office.customers[customer_id]
    found = office.invoices.where(customer_id=customer.id)
    if status is not None:
        found = [invoice for invoice in found if invoice.status == status]
    return found[::-1]


@server.read
def list_invoice_payments(office: Office, /, invoice_id: str) -> list[Payment]:
    """List the card payments on an invoice: authorised, captured and refunded amounts, expiry.

    Args:
        invoice_id: The invoice, e.g. "inv_52".
    """
    invoice = office.invoices[invoice_id]
    return office.payments.where(invoice_id=invoice.id)


@server.read
def list_webhooks(office: Office, /, name: str = "") -> list[Webhook]:
    """List the webhook endpoints that hear of invoices and payments, with status and failures.

    Args:
        name: Only endpoints whose name contains this.
    """
    wanted = name.lower()
    return [webhook for webhook in office.webhooks if wanted in webhook.name.lower()]


@server.read
def list_webhook_deliveries(office: Office, /, webhook_id: str) -> list[WebhookDelivery]:
    """List the events for one webhook endpoint, newest first, with attempts and the next one.

    Args:
        webhook_id: The endpoint, e.g. "whk_310".
    """
    webhook = office.webhooks[webhook_id]
    return office.deliveries.where(webhook_id=webhook.id)[::-1]


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
    invoices = office.invoices.where(customer_id=customer_id)
    left = customer.credit_limit - sum(invoice.due for invoice in invoices)
    if amount > left:
        raise Rejected(f"{customer.name} can be billed {left} more until something is paid")
    return office.invoices.add(
        customer_id=customer_id, customer_name=customer.name, description=description, amount=amount
    )


@server.write
def set_invoice_status(
    office: Office, /, invoice_id: str, status: Literal["open", "void"]
) -> Invoice:
    """Open an invoice, which holds its amount on the customer's card for a week, or void it.

    Args:
        invoice_id: The invoice, e.g. "inv_52"; to open it, a card must be on file.
        status: Open a draft, or an open one whose hold has ended; void one of which nothing is
            paid, or all of it refunded.
    """
    invoice = office.invoices[invoice_id]
    if invoice.status == "void":
        raise Rejected("the invoice is void and stays so; create a new one")
    holds = office.payments.where(invoice_id=invoice_id, status="authorised")
    if status == "void":
        if invoice.kept:
            raise Rejected(f"{invoice.kept} was captured for it; refund that first")
        for payment in holds:
            office.let_go(payment, "voided")
        office.notify("invoice.voided", invoice_id)
    else:
        if invoice.status == "paid":
            raise Rejected("the invoice is paid and not opened again; create a new one")
        if holds:
            raise Rejected(f"{holds[0].id} holds it already")
        if not office.customers[invoice.customer_id].card:
            raise Rejected("no card is on file; void it")
        office.payments.add(
            invoice_id=invoice_id,
            customer_name=invoice.customer_name,
            authorised=invoice.due,
            expires_at=office.now + HOLD,
        )
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
    payment = office.payments[payment_id]
    earlier = office.repeated(idempotency_key, payment_id, amount, None)
    if earlier is not None:
        return earlier
    if payment.status != "authorised":
        raise Rejected(f"the payment is {payment.status}; only an authorised one is captured")
    left = payment.authorised - payment.captured
    if amount > left:
        raise Rejected(f"{left} is left to capture; choose an amount up to that")
    status = "captured" if amount == left else "authorised"
    office.payments.update(payment_id, captured=payment.captured + amount, status=status)
    office.add_to_paid(payment.invoice_id, amount)
    return office.settlements.add(
        payment_id=payment_id,
        kind="capture",
        amount=amount,
        at=office.now,
        idempotency_key=idempotency_key,
    )


@server.write
def refund_payment(
    office: Office, /, payment_id: str, amount: Amount, reason: Reason, idempotency_key: str = ""
) -> Settlement:
    """Refund all or part of a captured card payment, until 30 days after its hold has ended.

    A paid invoice stays paid; an open one is due again by that much.

    Args:
        payment_id: The payment, e.g. "pym_4711".
        amount: How much, at most what is captured and not refunded yet.
        reason: Why it is refunded.
        idempotency_key: Any new key; the same refund under the same key happens once.
    """
    payment = office.payments[payment_id]
    earlier = office.repeated(idempotency_key, payment_id, amount, reason)
    if earlier is not None:
        return earlier
    if office.now > payment.expires_at + REFUNDABLE:
        raise Rejected(f"its hold ended on {payment.expires_at}, over 30 days ago; refund no more")
    left = payment.captured - payment.refunded
    if amount > left:
        raise Rejected(f"{left} is left to refund; choose an amount up to that")
    office.payments.update(payment_id, refunded=payment.refunded + amount)
    invoice = office.invoices[payment.invoice_id]
    office.invoices.update(invoice.id, refunded=invoice.refunded + amount)
    office.notify("payment.refunded", payment_id)
    return office.settlements.add(
        payment_id=payment_id,
        kind="refund",
        amount=amount,
        at=office.now,
        idempotency_key=idempotency_key,
        reason=reason,
    )


@server.write
def enable_webhook(office: Office, /, webhook_id: str) -> Webhook:
    """Enable a disabled webhook endpoint that is up again; its failed deliveries are sent anew.

    Args:
        webhook_id: The endpoint, e.g. "whk_310".
    """
    webhook = office.webhooks[webhook_id]
    if webhook.status == "enabled":
        raise Rejected(f"{webhook.name} is enabled already")
    if webhook.outage_until and office.now < webhook.outage_until:
        raise Rejected(f"{webhook.name} does not answer; try again after {webhook.outage_until}")
    due_at = office.now + FIRST_TRY
    for delivery in office.deliveries.where(webhook_id=webhook_id, status="failed"):
        office.deliveries.update(delivery.id, status="pending", attempts=0, due_at=due_at)
    return office.webhooks.update(webhook_id, status="enabled", failures=0)
