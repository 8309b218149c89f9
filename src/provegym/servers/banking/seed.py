"""Draws a customer's bank: accounts, a season of bookings, payees, cards and standing orders."""

from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import Account, Bank, server

WORDS = words("banking")


@server.seed
def draw(seed: Seed) -> Bank:
    """A customer with eight accounts and the traces of a normal life."""
    bank, chance, friends = Bank(seed), seed.random, people.others(seed, 8)
    for fields in _accounts(seed, friends[0].given):
        opening = money(Decimal(chance.randrange(300_00, 9_000_00)) / 100) * fields.pop("full", 1)
        iban = make_iban(chance.randrange(10**18))
        bank.accounts.add(iban=iban, opening=opening, balance=opening, **fields)
    names = [person.name for person in friends[1:]] + chance.sample(WORDS["companies"], 7)
    chance.shuffle(names)
    for name in names:
        added = seed.now - timedelta(hours=chance.choice((3, 900, 4000, 9000)))
        bank.payees.add(name=name, iban=make_iban(chance.randrange(10**18)), added=added)
    mine = bank.accounts.where(kind="checking", access="owner")
    for account in mine:
        for kind in chance.sample(("debit", "credit", "debit"), chance.randint(1, 2)):
            status = chance.choice(("active", "active", "frozen", "cancelled"))
            digits = f"{chance.randrange(10_000):04d}"
            bank.cards.add(account_id=account.id, last_digits=digits, kind=kind, status=status)
    _book_history(bank, chance)
    for payee in chance.sample(list(bank.payees), chance.randint(4, 6)):
        interval = chance.choice(("weekly", "monthly"))
        start = seed.now.date() + timedelta(days=chance.randint(1, 27))
        order = {"payee_id": payee.id, "payee_name": payee.name, "interval": interval}
        amount, payer = money(chance.randrange(15, 400)), chance.choice(mine).id
        bank.orders.add(account_id=payer, amount=amount, next_date=start, **order)
    return bank


def _accounts(seed: Seed, ward: str) -> list[dict[str, Any]]:
    """The accounts to open, in an order of their own; each brings out another rule."""
    chance = seed.random
    home, abroad = chance.choice((("EUR", "USD"), ("GBP", "EUR"), ("USD", "EUR")))
    checking, savings = chance.sample(WORDS["checking"], 3), chance.sample(WORDS["savings"], 3)
    matures = seed.now.date() + timedelta(days=chance.choice((-3, 40, 200)))
    plan: list[dict[str, Any]] = [
        {"kind": "checking", "name": checking[0], "currency": home, "overdraft": money(500)},
        {"kind": "checking", "name": checking[1], "currency": home, "daily_limit": money(400)},
        {"kind": "checking", "name": checking[2], "currency": abroad},
        {"kind": "savings", "name": savings[0], "currency": home},
        {"kind": "savings", "name": savings[1], "full": seed.number % 2},
        {"kind": "savings", "name": savings[2], "currency": home, "status": "frozen"},
        {"kind": "fixed_term", "name": chance.choice(WORDS["fixed"]), "matures": matures},
        {
            "kind": "checking",
            "name": f"{ward}'s {chance.choice(WORDS['ward'])}",
            "access": "viewer",
        },
    ]
    chance.shuffle(plan)
    return [{"currency": home, **fields} for fields in plan]


def _book_history(bank: Bank, chance: Random) -> None:
    """Bookings in the order of time; where one would overdraw, income arrives instead."""
    ages = (chance.randrange(30, 75 * 24 * 60) for _ in range(chance.randint(105, 130)))
    accounts = [a.id for a in bank.accounts if a.kind != "fixed_term" and a.balance]
    for age in sorted(ages, reverse=True):
        account = bank.accounts[chance.choice(accounts)]
        entry = _entry(bank, account, chance)
        amount: Decimal = entry.pop("amount")
        if account.balance + amount < 0 or account.status != "open":
            employer = chance.choice(WORDS["employers"])
            entry = {"kind": "income", "counterparty": employer, "reference": "salary"}
            amount = money(chance.randrange(900, 2600))
        bank.book(account.id, amount, at=bank.now - timedelta(minutes=age), **entry)


def _entry(bank: Bank, account: Account, chance: Random) -> dict[str, Any]:
    amount = money(Decimal(-chance.randrange(250, 14_000)) / 100)
    if account.kind == "savings":
        return {"amount": -3 * amount, "kind": "income", "counterparty": "Interest"}
    cards = bank.cards.where(account_id=account.id)
    if cards and chance.random() < 0.8:
        shop, card = chance.choice(WORDS["shops"]), chance.choice(cards).id
        return {"amount": amount, "kind": "card", "counterparty": shop, "card_id": card}
    payee = chance.choice(list(bank.payees)).name
    return {"amount": amount, "kind": "payment", "counterparty": payee}


def make_iban(number: int) -> str:
    """An account number whose check digits are right (ISO 7064: remainder 1 modulo 97)."""
    return f"DE{98 - int(f'{number:018d}131400') % 97:02d}{number:018d}"


def valid_iban(iban: str) -> bool:
    """Whether an account number has the right form and check digits."""
    if not (15 <= len(iban) <= 34 and iban[:2].isalpha() and iban.isascii() and iban.isalnum()):
        return False
    return int("".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])) % 97 == 1
