"""Draws a merchant's customers and endpoints, and lets weeks of business happen."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import get_args

from provegym.kernel import Rejected, Seed, money
from provegym.servers import people, words

from . import tools
from .state import Office, Reason, server

WORDS, MINUTE = words("payments"), timedelta(minutes=1)


@server.seed
def draw(seed: Seed) -> Office:
    """Twenty customers, five endpoints, and what was billed, captured, refunded and reported."""
    office, chance = Office(seed), seed.random
    office.now = seed.now - timedelta(days=40)
    names = chance.sample(WORDS["customers"], 12) + [p.name for p in people.others(seed, 8)]
    for name in chance.sample(names, 20):
        card = f"{chance.randrange(10_000):04d}" if chance.random() < 0.85 else ""
        office.customers.add(name=name, credit_limit=money(100 * chance.randint(15, 90)), card=card)
    for name in chance.sample(WORDS["webhooks"], 5):
        url = f"https://{chance.choice(WORDS['hosts'])}.example/hooks/{chance.randrange(10**6)}"
        office.webhooks.add(name=name, url=url)
    while (left := (seed.now - office.now) // MINUTE) > 0:
        office.pass_time(min(left, chance.randrange(60, 1_400)))
        try:
            _work(office, chance)
        except Rejected:
            office.rollback()
    return office


def _work(office: Office, chance: Random) -> None:
    """Somebody is billed; some holds are captured, some captures refunded; an endpoint fails."""
    amount = money(Decimal(chance.randrange(20_00, 900_00)) / 100)
    customer, what = chance.choice(list(office.customers)), chance.choice(WORDS["goods"])
    invoice = tools.create_invoice(office, customer.id, what, amount)
    if chance.random() < 0.85:
        tools.set_invoice_status(office, invoice.id, "void" if chance.random() < 0.1 else "open")
    for row in office.payments.where(status="authorised"):
        if chance.random() < 0.1:
            amount = money((row.authorised - row.captured) / chance.choice((1, 1, 1, 2)))
            tools.capture_payment(office, row.id, amount, f"capture-{chance.randrange(10**6)}")
    for row in office.payments.where(status="captured"):
        if chance.random() < 0.04 and row.expires_at > office.now and not row.refunded:
            amount, reason = money(row.captured / 2), chance.choice(get_args(Reason))
            key = f"refund-{chance.randrange(10**6)}"
            tools.refund_payment(office, row.id, amount, reason, key)
    if chance.random() < 0.045:
        hook, hours = chance.choice(list(office.webhooks)), chance.randrange(12, 150)
        office.webhooks.update(hook.id, outage_until=office.now + timedelta(hours=hours))
