"""Draws a merchant's customers and endpoints, and lets weeks of business happen."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import get_args

from provegym.kernel import Rejected, Seed, money
from provegym.servers import people, words

from . import tools
from .state import Office, Reason, server

WORDS = words("payments")
MINUTE = timedelta(minutes=1)


@server.seed
def draw(seed: Seed) -> Office:
    """Twenty customers, five endpoints, and what was billed, captured, refunded and reported."""
    office = Office(seed)
    chance = seed.random
    office.now = seed.now - timedelta(days=40)
    _add_customers(office, seed)
    _add_webhooks(office, chance)
    while office.now < seed.now:
        minutes_left = (seed.now - office.now) // MINUTE
        office.pass_time(min(minutes_left, chance.randrange(60, 1_400)))
        try:
            _work(office, chance)
        except Rejected:
            office.rollback()
    return office


def _add_customers(office: Office, seed: Seed) -> None:
    """Twelve companies and eight people; most of them have a card on file."""
    chance = seed.random
    companies = chance.sample(WORDS["customers"], 12)
    persons = [person.name for person in people.others(seed, 8)]
    for name in chance.sample(companies + persons, 20):
        has_card = chance.random() < 0.85
        card = f"{chance.randrange(10_000):04d}" if has_card else ""
        credit_limit = money(100 * chance.randint(15, 90))
        office.customers.add(name=name, credit_limit=credit_limit, card=card)


def _add_webhooks(office: Office, chance: Random) -> None:
    """Five endpoints, each with a name and an address of its own."""
    for name in chance.sample(WORDS["webhooks"], 5):
        host = chance.choice(WORDS["hosts"])
        number = chance.randrange(10**6)
        office.webhooks.add(name=name, url=f"https://{host}.example/hooks/{number}")


def _work(office: Office, chance: Random) -> None:
    """Some hours of business; if a rule forbids a part of it, all of it is undone."""
    _bill(office, chance)
    _capture(office, chance)
    _refund(office, chance)
    if chance.random() < 0.045:
        _break_endpoint(office, chance)


def _bill(office: Office, chance: Random) -> None:
    """Draft an invoice; most are opened at once, a few are void at once."""
    amount = money(Decimal(chance.randrange(20_00, 900_00)) / 100)
    customer = chance.choice(list(office.customers))
    description = chance.choice(WORDS["goods"])
    invoice = tools.create_invoice(office, customer.id, description, amount)
    if chance.random() < 0.85:
        is_void = chance.random() < 0.1
        tools.set_invoice_status(office, invoice.id, "void" if is_void else "open")


def _capture(office: Office, chance: Random) -> None:
    """Capture some of the holds, as a rule all that is left of them, now and then a half."""
    for payment in office.payments.where(status="authorised"):
        if chance.random() < 0.1:
            left = payment.authorised - payment.captured
            amount = money(left / chance.choice((1, 1, 1, 2)))
            key = f"capture-{chance.randrange(10**6)}"
            tools.capture_payment(office, payment.id, amount, key)


def _refund(office: Office, chance: Random) -> None:
    """Refund one half of a few recent captures."""
    for payment in office.payments.where(status="captured"):
        is_chosen = chance.random() < 0.04
        if is_chosen and payment.expires_at > office.now and not payment.refunded:
            amount = money(payment.captured / 2)
            reason = chance.choice(get_args(Reason))
            key = f"refund-{chance.randrange(10**6)}"
            tools.refund_payment(office, payment.id, amount, reason, key)


def _break_endpoint(office: Office, chance: Random) -> None:
    """Let an endpoint be down for some days at most."""
    webhook = chance.choice(list(office.webhooks))
    hours = chance.randrange(12, 150)
    office.webhooks.update(webhook.id, outage_until=office.now + timedelta(hours=hours))
