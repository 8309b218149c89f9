"""The records of the bank, the rules that several tools share, standing orders, invariants."""

from calendar import monthrange
from collections import defaultdict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, money, table

AccountKind = Literal["checking", "savings", "fixed_term"]
MONTHLY_WITHDRAWALS = 4
# How much a payee can get in all during the first hours on the list.
NEW_PAYEE_CAP = money(250)
NEW_PAYEE_TIME = timedelta(hours=24)
# Standing orders are paid at this time of their day, in UTC.
PAID_AT = time(6)


class Account(Record, frozen=True):
    """Money in one currency; a viewer may look at it but not move it."""

    id: str
    name: str
    kind: AccountKind
    currency: Literal["EUR", "USD", "GBP"]
    iban: str
    balance: Decimal
    opening: Decimal = money(0)
    overdraft: Decimal = money(0)
    daily_limit: Decimal = money(1000)
    access: Literal["owner", "viewer"] = "owner"
    status: Literal["open", "frozen", "closed"] = "open"
    matures: date | None = None


class Payee(Record, frozen=True):
    """Somebody outside whom the customer pays."""

    id: str
    name: str
    iban: str
    added: datetime


class Card(Record, frozen=True):
    """A card that draws on an account."""

    id: str
    account_id: str
    last_digits: str
    kind: Literal["debit", "credit"]
    status: Literal["active", "frozen", "cancelled"]


class StandingOrder(Record, frozen=True):
    """A payment that repeats by itself; `missed` counts the times a rule of the bank forbade it."""

    id: str
    account_id: str
    payee_id: str
    payee_name: str
    amount: Decimal
    interval: Literal["weekly", "monthly"]
    first_date: date
    next_date: date
    status: Literal["active", "cancelled"] = "active"
    missed: int = 0


class Transaction(Record, frozen=True):
    """One booking and the balance after it; money that leaves is negative."""

    id: str
    account_id: str
    at: datetime
    amount: Decimal
    balance: Decimal
    kind: Literal["card", "transfer", "payment", "standing_order", "income"]
    counterparty: str
    reference: str = ""
    card_id: str | None = None
    payee_iban: str | None = None
    disputed: str | None = None


class Bank(State):
    """The bank on one customer's behalf."""

    accounts: Table[Account] = table(Account, "acc", look_up="list_accounts")
    payees: Table[Payee] = table(Payee, "pay", look_up="list_payees")
    cards: Table[Card] = table(Card, "crd", look_up="list_cards")
    orders: Table[StandingOrder] = table(StandingOrder, "sto", look_up="list_standing_orders")
    transactions: Table[Transaction] = table(Transaction, "trx", look_up="search_transactions")

    def owned(self, account_id: str) -> Account:
        """An open account that the customer may act on."""
        account = self.accounts[account_id]
        if account.access == "viewer":
            raise Denied(f"you may look at {account.name} but not act on it; only its owner can")
        if account.status != "open":
            raise Rejected(f"{account.name} is {account.status}; choose an open account")
        return account

    def spendable(self, account_id: str, amount: Decimal) -> Account:
        """The account, if this amount may leave it now."""
        account = self.owned(account_id)
        if account.matures and account.matures > self.now.date():
            raise Rejected(f"{account.name} is fixed until {account.matures}")
        if account.kind == "savings" and self.withdrawals_left(account_id) == 0:
            raise Rejected(f"{account.name} has no withdrawals left this month")
        available = account.balance + account.overdraft
        if amount > available:
            raise Rejected(f"insufficient funds: {account.name} has {available} available")
        return account

    def withdrawals_left(self, account_id: str) -> int:
        """How often money may still leave a savings account in this calendar month."""
        used = 0
        for entry in self.transactions.where(account_id=account_id):
            this_month = (entry.at.year, entry.at.month) == (self.now.year, self.now.month)
            if this_month and entry.amount < 0:
                used += 1
        return max(0, MONTHLY_WITHDRAWALS - used)

    def payments(self, **fields: object) -> list[Transaction]:
        """The payments to payees, made by hand or by standing order, with these field values."""
        found = self.transactions.where(**fields)
        return [entry for entry in found if entry.kind in ("payment", "standing_order")]

    def limit_left(self, account: Account) -> Decimal:
        """How much may still go from an account to payees today."""
        today = self.now.date()
        payments = self.payments(account_id=account.id)
        paid_today = sum(-payment.amount for payment in payments if payment.at.date() == today)
        return account.daily_limit - paid_today

    def refuse_if_too_new(self, payee: Payee, amount: Decimal, at: datetime) -> None:
        """Refuse a payment that takes a payee over the cap of the first 24 hours.

        Payments count even if the payee was taken off the list and put on it again since.
        """
        ends = payee.added + NEW_PAYEE_TIME
        payments = self.payments(payee_iban=payee.iban)
        paid = sum(-payment.amount for payment in payments if payment.at > at - NEW_PAYEE_TIME)
        left = max(money(0), NEW_PAYEE_CAP - paid)
        if at < ends and amount > left:
            raise Rejected(
                f"{payee.name} is new: until {ends:%d %B at %H:%M} UTC only {left} more can be paid"
            )

    def pay(self, account_id: str, payee: Payee, amount: Decimal, **entry: object) -> Transaction:
        """Pay a payee from a checking account now, if no rule of the bank forbids it."""
        account = self.spendable(account_id, amount)
        if account.kind != "checking":
            raise Rejected(
                f"payees are paid from checking accounts; {account.name} is {account.kind}"
            )
        self.refuse_if_too_new(payee, amount, self.now)
        left = self.limit_left(account)
        if amount > left:
            raise Rejected(f"over the daily limit of {account.name}: {left} left today")
        return self.book(
            account_id, -amount, counterparty=payee.name, payee_iban=payee.iban, **entry
        )

    def book(self, account_id: str, amount: Decimal, **entry: object) -> Transaction:
        """Change a balance and record the transaction; it happens now unless `at` says when."""
        balance = self.accounts[account_id].balance + amount
        self.accounts.update(account_id, balance=balance)
        entry.setdefault("at", self.now)
        return self.transactions.add(account_id=account_id, amount=amount, balance=balance, **entry)

    def next_event(self) -> datetime | None:
        """Standing orders are paid at six in the morning of their day."""
        days = [order.next_date for order in self.orders if order.status == "active"]
        return payment_time(min(days)) if days else None

    def happen(self) -> None:
        """Pay the standing orders that are due."""
        for order in self.orders.where(status="active"):
            if order.next_date <= self.now.date():
                self._pay_order(order)

    def _pay_order(self, order: StandingOrder) -> None:
        """Pay a standing order once; if a rule of the bank forbids it, count it as missed."""
        missed = order.missed
        try:
            payee = self.payees[order.payee_id]
            self.pay(order.account_id, payee, order.amount, kind="standing_order")
        except Rejected:
            missed += 1
        self.orders.update(order.id, next_date=following(order), missed=missed)

    def check(self) -> None:
        """Balances add up, limits are kept, and nothing in use draws on a closed account."""
        self._check_accounts()
        self._check_payees()
        self._check_orders()
        self._check_cards()

    def _check_accounts(self) -> None:
        for account in self.accounts:
            entries = self.transactions.where(account_id=account.id)
            assert account.balance == account.opening + sum(entry.amount for entry in entries)
            assert account.balance >= -account.overdraft
            if account.status == "closed":
                assert account.balance == 0
            paid_on = defaultdict[date, Decimal](Decimal)
            for payment in self.payments(account_id=account.id):
                paid_on[payment.at.date()] -= payment.amount
            assert max(paid_on.values(), default=0) <= account.daily_limit

    def _check_payees(self) -> None:
        ibans = {payee.iban for payee in self.payees}
        assert len(ibans) == len(self.payees)
        for payee in self.payees:
            ends = payee.added + NEW_PAYEE_TIME
            payments = self.payments(payee_iban=payee.iban)
            early = [payment for payment in payments if payee.added <= payment.at < ends]
            assert sum(-payment.amount for payment in early) <= NEW_PAYEE_CAP

    def _check_orders(self) -> None:
        for order in self.orders.where(status="active"):
            assert order.payee_id in self.payees
            assert self.accounts[order.account_id].status != "closed"
            if order.interval == "weekly":
                assert (order.next_date - order.first_date).days % 7 == 0
            else:
                assert order.next_date == on_day(order.next_date, order.first_date.day)

    def _check_cards(self) -> None:
        for card in self.cards:
            if card.status != "cancelled":
                assert self.accounts[card.account_id].status != "closed"


def payment_time(day: date) -> datetime:
    """When the standing orders of a day are paid."""
    return datetime.combine(day, PAID_AT, UTC)


def following(order: StandingOrder) -> date:
    """The day of the payment that comes after a standing order's next one."""
    if order.interval == "weekly":
        return order.next_date + timedelta(days=7)
    in_next_month = order.next_date.replace(day=1) + timedelta(days=31)
    return on_day(in_next_month, order.first_date.day)


def on_day(month: date, day: int) -> date:
    """A day of a month, or the last one of a month that is too short for it."""
    _, days = monthrange(month.year, month.month)
    return month.replace(day=min(day, days))


about = "Bank accounts, payees, cards, standing orders and bookings of one customer."
server = Server("banking", Bank, category="finance", about=about, version=2)
