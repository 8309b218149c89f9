"""Draws the bank of one customer: accounts, payees, cards, past transactions, standing orders."""

from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import NEW_PAYEE_TIME, Account, Bank, server

WORDS = words("banking")
CURRENCIES = (("EUR", "USD"), ("GBP", "EUR"), ("USD", "EUR"))
HISTORY_DAYS = 75


@server.seed
def draw(seed: Seed) -> Bank:
    """Draw a customer with eight accounts and about two and a half months of transactions."""
    bank = Bank(seed)
    chance = seed.random
    relative, *friends = people.others(seed, 8)
    _draw_accounts(bank, seed, relative.given)
    _draw_payees(bank, chance, [friend.name for friend in friends])
    own_accounts = bank.accounts.where(kind="checking", access="owner")
    _draw_cards(bank, chance, own_accounts)
    _draw_history(bank, chance)
    _draw_standing_orders(bank, chance, own_accounts)
    return bank


def _draw_accounts(bank: Bank, seed: Seed, relative: str) -> None:
    """Open eight accounts in random order; most of them bring a rule of the bank into play."""
    chance = seed.random
    home, abroad = chance.choice(CURRENCIES)
    checking = chance.sample(WORDS["checking"], 3)
    savings = chance.sample(WORDS["savings"], 3)
    matures = seed.now.date() + timedelta(days=chance.choice((-3, 40, 200)))
    deposit = chance.choice(WORDS["fixed"])
    looked_after = f"{relative}'s {chance.choice(WORDS['ward'])}"
    plan: list[dict[str, object]] = [
        {"kind": "checking", "name": checking[0], "currency": home, "overdraft": money(500)},
        {"kind": "checking", "name": checking[1], "currency": home, "daily_limit": money(400)},
        {"kind": "checking", "name": checking[2], "currency": abroad},
        {"kind": "savings", "name": savings[0], "currency": home},
        {"kind": "savings", "name": savings[1], "currency": home},
        {"kind": "savings", "name": savings[2], "currency": home, "status": "frozen"},
        {"kind": "fixed_term", "name": deposit, "currency": home, "matures": matures},
        {"kind": "checking", "name": looked_after, "currency": home, "access": "viewer"},
    ]
    chance.shuffle(plan)
    for fields in plan:
        opening = money(Decimal(chance.randrange(300_00, 9_000_00)) / 100)
        # One savings account is empty in every second world, so that it can be closed.
        if fields["name"] == savings[1] and seed.number % 2 == 0:
            opening = money(0)
        iban = make_iban(chance.randrange(10**18))
        bank.accounts.add(iban=iban, opening=opening, balance=opening, **fields)


def _draw_payees(bank: Bank, chance: Random, friends: list[str]) -> None:
    """Put friends and companies on the payee list; some were added only hours ago."""
    names = friends + chance.sample(WORDS["companies"], 7)
    chance.shuffle(names)
    for name in names:
        hours = chance.choice((3, 900, 4000, 9000))
        # The first is an old one, so that somebody could be paid at any time of the history.
        if len(bank.payees) == 0:
            hours = 9000
        added = bank.now - timedelta(hours=hours)
        iban = make_iban(chance.randrange(10**18))
        bank.payees.add(name=name, iban=iban, added=added)


def _draw_cards(bank: Bank, chance: Random, accounts: list[Account]) -> None:
    """Give each account one or two cards."""
    for account in accounts:
        count = chance.randint(1, 2)
        for kind in chance.sample(("debit", "credit", "debit"), count):
            status = chance.choice(("active", "active", "frozen", "cancelled"))
            last_digits = f"{chance.randrange(10_000):04d}"
            bank.cards.add(account_id=account.id, last_digits=last_digits, kind=kind, status=status)


def _draw_history(bank: Bank, chance: Random) -> None:
    """Book more than a hundred transactions, oldest first, on accounts that hold money."""
    count = chance.randint(105, 130)
    ages = [chance.randrange(30, HISTORY_DAYS * 24 * 60) for _ in range(count)]
    account_ids = [
        account.id for account in bank.accounts if account.kind != "fixed_term" and account.balance
    ]
    for age in sorted(ages, reverse=True):
        account = bank.accounts[chance.choice(account_ids)]
        _draw_transaction(bank, chance, account, bank.now - timedelta(minutes=age))


def _draw_transaction(bank: Bank, chance: Random, account: Account, at: datetime) -> None:
    """Book interest, a card payment or a payment to a payee; a salary where that cannot be."""
    amount = money(Decimal(-chance.randrange(250, 14_000)) / 100)
    cards = bank.cards.where(account_id=account.id)
    card_id = None
    payee_iban = None
    if account.kind == "savings":
        kind = "income"
        counterparty = "Interest"
        amount = -3 * amount
    elif cards and chance.random() < 0.8:
        kind = "card"
        counterparty = chance.choice(WORDS["shops"])
        card_id = chance.choice(cards).id
    else:
        kind = "payment"
        payee = chance.choice([payee for payee in bank.payees if payee.added < at - NEW_PAYEE_TIME])
        counterparty = payee.name
        payee_iban = payee.iban

    if account.balance + amount < 0 or account.status != "open":
        employer = chance.choice(WORDS["employers"])
        salary = money(chance.randrange(900, 2600))
        bank.book(
            account.id, salary, at=at, kind="income", counterparty=employer, reference="salary"
        )
    else:
        bank.book(
            account.id,
            amount,
            at=at,
            kind=kind,
            counterparty=counterparty,
            card_id=card_id,
            payee_iban=payee_iban,
        )


def _draw_standing_orders(bank: Bank, chance: Random, accounts: list[Account]) -> None:
    """Set up four to six standing orders whose first payment is within four weeks."""
    count = chance.randint(4, 6)
    for payee in chance.sample(list(bank.payees), count):
        interval = chance.choice(("weekly", "monthly"))
        # By then no payee is new any more, so that the bank lets the payment through.
        first_date = bank.now.date() + timedelta(days=chance.randint(2, 27))
        amount = money(chance.randrange(15, 400))
        account = chance.choice(accounts)
        bank.orders.add(
            account_id=account.id,
            payee_id=payee.id,
            payee_name=payee.name,
            amount=amount,
            interval=interval,
            first_date=first_date,
            next_date=first_date,
        )


def make_iban(number: int) -> str:
    """Write an account number whose check digits are right (ISO 7064: remainder 1 modulo 97)."""
    check_digits = 98 - int(f"{number:018d}131400") % 97
    return f"DE{check_digits:02d}{number:018d}"


def valid_iban(iban: str) -> bool:
    """Whether an account number has the right form and check digits."""
    if not 15 <= len(iban) <= 34:
        return False
    if not (iban.isascii() and iban.isalnum() and iban[:2].isalpha()):
        return False
    rearranged = iban[4:] + iban[:4]
    digits = "".join(str(int(letter, 36)) for letter in rearranged)
    return int(digits) % 97 == 1
