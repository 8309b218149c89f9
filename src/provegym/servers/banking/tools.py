"""The tools of the bank."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, Struct

from provegym.kernel import Amount, Label, Rejected, Sensitive, money

from .seed import make_iban, valid_iban
from .state import (
    Account,
    AccountKind,
    Bank,
    Card,
    Payee,
    StandingOrder,
    Transaction,
    payment_time,
    server,
)

Note = Annotated[str, Meta(max_length=140)]
DisputeReason = Literal["not_mine", "wrong_amount", "charged_twice", "not_received"]


class AccountDetails(Struct, frozen=True):
    """An account and what may still leave it."""

    account: Account
    available: Decimal
    left_of_daily_limit: Decimal
    withdrawals_left: int | None


@server.read
def list_accounts(bank: Bank, /, name: str = "", kind: AccountKind | None = None) -> list[Account]:
    """List the user's bank accounts with their balances; closed ones are left out.

    Args:
        name: Only accounts whose name contains this, e.g. "Checking".
        kind: Only accounts of this kind.
    """
    found = [account for account in bank.accounts if account.status != "closed"]
    found = [account for account in found if name.lower() in account.name.lower()]
    if kind is not None:
        found = [account for account in found if account.kind == kind]
    return found


@server.read
def get_account(bank: Bank, /, account_id: str) -> AccountDetails:
    """Show one bank account: number, status, what is available and what limits are left.

    Args:
        account_id: The account, e.g. "acc_4711".
    """
    account = bank.accounts[account_id]
    withdrawals_left = None
    if account.kind == "savings":
        withdrawals_left = bank.withdrawals_left(account_id)
    return AccountDetails(
        account=account,
        available=account.balance + account.overdraft,
        left_of_daily_limit=bank.limit_left(account),
        withdrawals_left=withdrawals_left,
    )


@server.read
def search_transactions(
    bank: Bank, /, account_id: str | None = None, counterparty: str = "", since: date | None = None
) -> list[Transaction]:
    """Find bank transactions, newest first, on one account or on all of them.

    Args:
        account_id: Only transactions on this account, e.g. "acc_4711".
        counterparty: Only transactions with a shop, person or company whose name contains this.
        since: Only transactions on or after this day, e.g. "2026-03-01".
    """
    name = counterparty.lower()
    found = [entry for entry in bank.transactions if name in entry.counterparty.lower()]
    if account_id is not None:
        account = bank.accounts[account_id]
        found = [entry for entry in found if entry.account_id == account.id]
    if since is not None:
        found = [entry for entry in found if entry.at.date() >= since]
    return sorted(found, key=lambda entry: entry.at, reverse=True)


@server.read
def get_transaction(bank: Bank, /, transaction_id: str) -> Transaction:
    """Show one bank transaction with its reference, card and dispute.

    Args:
        transaction_id: The transaction, e.g. "trx_20113".
    """
    return bank.transactions[transaction_id]


@server.read
def list_payees(bank: Bank, /, name: str = "") -> list[Payee]:
    """List the people and companies the user can pay from the bank.

    Args:
        name: Only payees whose name contains this.
    """
    return [payee for payee in bank.payees if name.lower() in payee.name.lower()]


@server.read
def list_cards(bank: Bank, /, account_id: str | None = None) -> list[Card]:
    """List the user's bank cards with status and last four digits.

    Args:
        account_id: Only cards that draw on this account, e.g. "acc_4711".
    """
    if account_id is None:
        return list(bank.cards)
    account = bank.accounts[account_id]
    return bank.cards.where(account_id=account.id)


@server.read
def list_standing_orders(bank: Bank, /, payee_name: str = "") -> list[StandingOrder]:
    """List the user's standing orders at the bank; cancelled ones are left out.

    Args:
        payee_name: Only standing orders to payees whose name contains this.
    """
    orders = bank.orders.where(status="active")
    return [order for order in orders if payee_name.lower() in order.payee_name.lower()]


@server.write
def transfer_funds(
    bank: Bank, /, source_id: str, target_id: Sensitive[str], amount: Amount, note: Note = ""
) -> Transaction:
    """Move money between two of the user's bank accounts in the same currency, at once.

    Both must be open, the source covered, past any fixed term, and savings with a withdrawal left.

    Args:
        source_id: Account to debit, e.g. "acc_4711".
        target_id: Account to credit, e.g. "acc_4712".
        amount: How much, in the currency of both accounts.
        note: A reference for both transactions.
    """
    source = bank.spendable(source_id, amount)
    target = bank.accounts[target_id]
    if source_id == target_id:
        raise Rejected("source and target are the same account; choose two")
    if target.status != "open":
        raise Rejected(f"{target.name} is {target.status} and takes no money")
    if source.currency != target.currency:
        raise Rejected(f"{source.name} is in {source.currency} but {target.name} is not")
    bank.book(target_id, amount, kind="transfer", counterparty=source.name, reference=note)
    return bank.book(source_id, -amount, kind="transfer", counterparty=target.name, reference=note)


@server.write
def pay_payee(
    bank: Bank, /, account_id: str, payee_id: Sensitive[str], amount: Amount, note: Note = ""
) -> Transaction:
    """Pay a payee from an open, covered checking account at the bank, within its daily limit.

    A payee added less than 24 hours ago can be paid at most 250 in all.

    Args:
        account_id: Account to pay from, e.g. "acc_4711".
        payee_id: Whom to pay, e.g. "pay_310".
        amount: How much, in the currency of the account.
        note: What the payment is for.
    """
    payee = bank.payees[payee_id]
    return bank.pay(account_id, payee, amount, kind="payment", reference=note)


@server.write
def add_payee(bank: Bank, /, name: Label, iban: Sensitive[str]) -> Payee:
    """Put a person or company on the bank's payee list.

    Args:
        name: Who is to be paid.
        iban: Their IBAN, e.g. "GB82 WEST 1234 5698 7654 32"; new to the list, not the user's own.
    """
    iban = iban.replace(" ", "").upper()
    if not valid_iban(iban):
        raise Rejected("the check digits of that account number are wrong; ask for it again")
    if any(account.iban == iban for account in bank.accounts):
        raise Rejected("that is an account of your own; use transfer_funds")
    known = bank.payees.where(iban=iban)
    if known:
        raise Rejected(f"that account number is already on the list as {known[0].name}")
    return bank.payees.add(name=name, iban=iban, added=bank.now)


@server.write(destructive=True)
def remove_payee(bank: Bank, /, payee_id: str) -> Payee:
    """Take somebody off the bank's payee list; not while a standing order pays them.

    Args:
        payee_id: Whom to remove, e.g. "pay_310".
    """
    payee = bank.payees[payee_id]
    orders = bank.orders.where(payee_id=payee_id, status="active")
    if orders:
        raise Rejected(f"standing order {orders[0].id} still pays {payee.name}; cancel it first")
    bank.payees.remove(payee_id)
    return payee


@server.write
def create_standing_order(
    bank: Bank,
    /,
    account_id: str,
    payee_id: Sensitive[str],
    amount: Amount,
    interval: Literal["weekly", "monthly"],
    first_date: date,
) -> StandingOrder:
    """Set up a standing order from an open checking account to a payee; one per account and payee.

    Its payments count towards the account's daily limit and a new payee's first 250. A monthly
    payment on a day that a month lacks is made on the last day of that month.

    Args:
        account_id: Account to pay from, e.g. "acc_4711".
        payee_id: Whom to pay, e.g. "pay_310".
        amount: How much each time, at most the account's daily limit.
        interval: How often.
        first_date: Day of the first payment, from tomorrow to a year ahead, e.g. "2026-04-01".
    """
    account = bank.owned(account_id)
    payee = bank.payees[payee_id]
    today = bank.now.date()
    if account.kind != "checking":
        raise Rejected(f"standing orders need a checking account; {account.name} is not one")
    if not today < first_date <= today + timedelta(days=366):
        raise Rejected(f"the first payment must fall within a year after {today}")
    if amount > account.daily_limit:
        raise Rejected(f"over the daily limit of {account.name}, {account.daily_limit}")
    bank.refuse_if_too_new(payee, amount, payment_time(first_date))
    if bank.orders.where(account_id=account_id, payee_id=payee_id, status="active"):
        raise Rejected(f"a standing order from {account.name} to {payee.name} already runs")
    return bank.orders.add(
        account_id=account_id,
        payee_id=payee_id,
        payee_name=payee.name,
        amount=amount,
        interval=interval,
        first_date=first_date,
        next_date=first_date,
    )


@server.write(destructive=True)
def cancel_standing_order(bank: Bank, /, standing_order_id: str) -> StandingOrder:
    """Stop a standing order, a bank payment that repeats by itself, for good.

    Args:
        standing_order_id: The standing order, e.g. "sto_88"; not cancelled yet.
    """
    order = bank.orders[standing_order_id]
    if order.status == "cancelled":
        raise Rejected(f"{standing_order_id} is already cancelled")
    return bank.orders.update(standing_order_id, status="cancelled")


@server.write
def set_card_status(
    bank: Bank, /, card_id: str, status: Literal["active", "frozen", "cancelled"]
) -> Card:
    """Freeze a bank card, make a frozen one active again, or cancel it for good.

    Args:
        card_id: The card, e.g. "crd_52".
        status: What it shall be, unlike now; a cancelled card stays cancelled.
    """
    card = bank.cards[card_id]
    if card.status in (status, "cancelled"):
        raise Rejected(f"the card ending in {card.last_digits} is already {card.status}")
    return bank.cards.update(card_id, status=status)


@server.write
def dispute_transaction(bank: Bank, /, transaction_id: str, reason: DisputeReason) -> Transaction:
    """Dispute a bank card payment of the last 60 days; each can be disputed once.

    Args:
        transaction_id: The transaction, e.g. "trx_20113".
        reason: Why it is disputed.
    """
    entry = bank.transactions[transaction_id]
    if entry.kind != "card":
        raise Rejected(f"only card payments can be disputed; {entry.id} is a {entry.kind}")
    if entry.disputed:
        raise Rejected(f"{entry.id} is already disputed as {entry.disputed}")
    if bank.now - entry.at > timedelta(days=60):
        raise Rejected(f"{entry.id} is older than 60 days")
    return bank.transactions.update(transaction_id, disputed=reason)


@server.write
def open_account(
    bank: Bank,
    /,
    name: Label,
    kind: Literal["checking", "savings"],
    currency: Literal["EUR", "USD", "GBP"] = "EUR",
) -> Account:
    """Open an empty bank account; its name must be new, and at most eight of a kind may be open.

    Args:
        name: What to call it.
        kind: What kind of account it shall be.
        currency: The currency it is kept in.
    """
    if any(account.name.lower() == name.lower() for account in bank.accounts):
        raise Rejected(f"there is already an account called {name!r}; choose another name")
    if len(bank.accounts.where(status="open", kind=kind, access="owner")) >= 8:
        raise Rejected(f"you hold eight {kind} accounts already; close one first")
    iban = make_iban(10**17 + len(bank.accounts))
    return bank.accounts.add(name=name, kind=kind, currency=currency, iban=iban, balance=money(0))


@server.write(destructive=True)
def close_account(bank: Bank, /, account_id: str) -> Account:
    """Close an empty bank account on which no card or standing order depends.

    Args:
        account_id: The account, e.g. "acc_4711".
    """
    account = bank.owned(account_id)
    if account.balance != 0:
        raise Rejected(f"{account.name} still holds {account.balance}; move the money first")
    if bank.orders.where(account_id=account_id, status="active"):
        raise Rejected(f"standing orders are paid from {account.name}; cancel them first")
    cards = bank.cards.where(account_id=account_id)
    if any(card.status != "cancelled" for card in cards):
        raise Rejected(f"cards draw on {account.name}; cancel them first")
    return bank.accounts.update(account_id, status="closed")
