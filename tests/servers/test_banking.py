"""The bank's rules, told on a tiny bank made by hand."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session, money
from provegym.servers.banking.seed import make_iban, valid_iban
from provegym.servers.banking.state import Bank, following, server

NOW = Seed(0).now
TODAY = NOW.date()


class Desk:
    """A bank with three accounts, one payee and one card, and short words for what one does."""

    def __init__(self, **main: Any) -> None:
        self.bank = Bank(Seed(0))
        self.main = self.open("Main", 100, **main)
        self.spare = self.open("Spare", 0)
        self.savings = self.open("Pot", 500, kind="savings")
        self.payee = self.befriend("Ida", hours=900)
        fields = {"account_id": self.main, "last_digits": "1234", "kind": "debit"}
        self.card = self.bank.cards.add(status="active", **fields).id
        self.session = Session.over(server, self.bank)

    def open(self, name: str, balance: int, **fields: Any) -> str:
        """An account with money in it."""
        number = len(self.bank.accounts)
        held = {"balance": money(balance), "opening": money(balance)}
        known = {"kind": "checking", "currency": "EUR", "iban": make_iban(10**6 + number)}
        return self.bank.accounts.add(name=name, **held, **{**known, **fields}).id

    def befriend(self, name: str, hours: int) -> str:
        """A payee known for so many hours."""
        iban = make_iban(2 * 10**6 + len(self.bank.payees))
        return self.bank.payees.add(name=name, iban=iban, added=NOW - timedelta(hours=hours)).id

    def call(self, tool: str, **arguments: Any) -> Outcome:
        """A call, after which the bank's books must still be right."""
        outcome = self.session.call(tool, arguments)
        self.session.check()
        return outcome

    def refused(self, tool: str, **arguments: Any) -> str:
        """What the customer is told when a rule forbids it."""
        outcome = self.call(tool, **arguments)
        assert outcome.error in ("rejected", "denied"), outcome.text
        return str(outcome.value["message"])

    def now(self) -> Bank:
        """The bank as it is now."""
        state = self.session.state(server)
        assert isinstance(state, Bank)
        return state

    def balance(self, account_id: str) -> Decimal:
        """What an account holds now."""
        return self.now().accounts[account_id].balance


def test_a_transfer_books_both_sides() -> None:
    desk = Desk()
    assert desk.call("transfer_funds", source_id=desk.main, target_id=desk.spare, amount=40.5).ok
    assert (desk.balance(desk.main), desk.balance(desk.spare)) == (money("59.5"), money("40.5"))
    assert [entry.amount for entry in desk.now().transactions] == [money("40.5"), money("-40.5")]


def test_a_transfer_needs_cover_but_may_use_the_overdraft() -> None:
    desk = Desk(overdraft=money(50))
    move = {"source_id": desk.main, "target_id": desk.spare}
    assert "150.00 available" in desk.refused("transfer_funds", **move, amount=150.01)
    assert desk.call("transfer_funds", **move, amount=150).ok
    assert desk.balance(desk.main) == money(-50)


def test_a_transfer_goes_between_two_open_accounts_of_one_currency() -> None:
    desk = Desk()
    dollars = desk.open("Dollars", 5, currency="USD")
    frozen = desk.open("Ice", 5, status="frozen")
    desk.session = Session.over(server, desk.bank)
    from_main = {"source_id": desk.main, "amount": 1}
    assert "same account" in desk.refused("transfer_funds", **from_main, target_id=desk.main)
    assert "EUR" in desk.refused("transfer_funds", **from_main, target_id=dollars)
    assert "takes no money" in desk.refused("transfer_funds", **from_main, target_id=frozen)
    back = {"source_id": frozen, "target_id": desk.main, "amount": 1}
    assert "choose an open account" in desk.refused("transfer_funds", **back)


def test_a_viewer_may_look_but_not_act() -> None:
    desk = Desk(access="viewer")
    assert desk.call("get_account", account_id=desk.main).ok
    move = {"source_id": desk.main, "target_id": desk.spare, "amount": 1}
    assert desk.call("transfer_funds", **move).error == "denied"
    assert desk.call("close_account", account_id=desk.main).error == "denied"


def test_savings_allow_four_withdrawals_a_month() -> None:
    desk = Desk()
    move = {"source_id": desk.savings, "target_id": desk.spare, "amount": 10}
    assert all(desk.call("transfer_funds", **move).ok for _ in range(4))
    assert "no withdrawals left" in desk.refused("transfer_funds", **move)
    assert desk.call("get_account", account_id=desk.savings).value["withdrawals_left"] == 0
    desk.session.advance(31 * 24 * 60)
    assert desk.call("transfer_funds", **move).ok


def test_a_deposit_is_fixed_until_it_matures() -> None:
    desk = Desk(kind="fixed_term", matures=TODAY + timedelta(days=2))
    move = {"source_id": desk.main, "target_id": desk.spare, "amount": 10}
    assert "is fixed until" in desk.refused("transfer_funds", **move)
    desk.session.advance(2 * 24 * 60)
    assert desk.call("transfer_funds", **move).ok


def test_payees_are_paid_within_the_daily_limit() -> None:
    desk = Desk(daily_limit=money(60))
    pay = {"account_id": desk.main, "payee_id": desk.payee}
    assert desk.call("pay_payee", **pay, amount=45).value["counterparty"] == "Ida"
    assert "15.00 left today" in desk.refused("pay_payee", **pay, amount=16)
    assert desk.call("get_account", account_id=desk.main).value["left_of_daily_limit"] == 15
    desk.session.advance(24 * 60)
    assert desk.call("pay_payee", **pay, amount=16).ok


def test_payees_are_not_paid_from_savings() -> None:
    desk = Desk()
    pay = {"account_id": desk.savings, "payee_id": desk.payee, "amount": 5}
    assert "checking accounts" in desk.refused("pay_payee", **pay)


def test_a_new_payee_gets_at_most_250_in_the_first_day() -> None:
    desk = Desk(overdraft=money(900))
    new = desk.befriend("Nils", hours=3)
    desk.session = Session.over(server, desk.bank)
    pay = {"account_id": desk.main, "payee_id": new}
    assert "Nils is new" in desk.refused("pay_payee", **pay, amount=250.01)
    assert desk.call("pay_payee", **pay, amount=250).ok
    desk.session.advance(21 * 60)
    assert desk.call("pay_payee", **pay, amount=251).ok


def test_a_payee_needs_a_right_and_new_account_number() -> None:
    desk = Desk()
    iban = make_iban(77)
    assert "check digits" in desk.refused("add_payee", name="Uma", iban=f"{iban[:-1]}5")
    own = desk.bank.accounts[desk.main].iban
    assert "transfer_funds" in desk.refused("add_payee", name="Me", iban=own)
    spaced = f"{iban[:4]} {iban[4:12]} {iban[12:]}".lower()
    assert desk.call("add_payee", name="Uma", iban=spaced).value["iban"] == iban
    assert "already on the list as Uma" in desk.refused("add_payee", name="Uma B", iban=iban)


def test_account_numbers_check_themselves() -> None:
    assert valid_iban("GB82WEST12345698765432")
    assert all(valid_iban(make_iban(number)) for number in (0, 1, 77, 10**18 - 1))
    assert not valid_iban("GB82WEST12345698765433")
    assert not valid_iban("")
    assert not valid_iban("²" * 20)


def test_a_payee_with_a_standing_order_stays() -> None:
    desk = Desk()
    order = order_from(desk).value["id"]
    assert order in desk.refused("remove_payee", payee_id=desk.payee)
    assert desk.call("cancel_standing_order", standing_order_id=order).ok
    assert "already cancelled" in desk.refused("cancel_standing_order", standing_order_id=order)
    assert desk.call("remove_payee", payee_id=desk.payee).ok
    assert desk.call("remove_payee", payee_id=desk.payee).error == "not_found"


def order_from(desk: Desk, **changes: Any) -> Outcome:
    """A weekly standing order from tomorrow on."""
    tomorrow = str(TODAY + timedelta(days=1))
    usual = {"account_id": desk.main, "payee_id": desk.payee, "amount": 30}
    usual |= {"interval": "weekly", "first_date": tomorrow}
    return desk.call("create_standing_order", **{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"first_date": str(TODAY)}, "within a year after"),
        ({"first_date": str(TODAY + timedelta(days=367))}, "within a year after"),
        ({"amount": 1_000.01}, "over the daily limit"),
        ({"account_id": "savings"}, "need a checking account"),
    ],
)
def test_a_standing_order_has_terms(changes: dict[str, Any], told: str) -> None:
    desk = Desk()
    if "account_id" in changes:
        changes = {"account_id": desk.savings}
    outcome = order_from(desk, **changes)
    assert outcome.error == "rejected"
    assert told in outcome.value["message"]


def test_one_standing_order_per_account_and_payee() -> None:
    desk = Desk()
    assert order_from(desk).ok
    assert "already runs" in order_from(desk).value["message"]
    assert order_from(desk, account_id=desk.spare).ok


def test_standing_orders_are_paid_by_themselves_until_the_money_is_gone() -> None:
    desk = Desk()
    order = order_from(desk).value["id"]
    desk.session.advance(29 * 24 * 60)
    desk.session.check()
    after = desk.now().orders[order]
    assert desk.balance(desk.main) == money(10)
    assert (after.missed, after.next_date) == (2, TODAY + timedelta(days=36))
    booked = [entry for entry in desk.now().transactions if entry.kind == "standing_order"]
    assert [(entry.at.hour, entry.counterparty) for entry in booked] == [(6, "Ida")] * 3


def test_a_monthly_series_stays_within_28_days() -> None:
    last = TODAY.replace(month=1, day=31)
    assert following(last, "monthly") == last.replace(month=2, day=28)
    assert following(last.replace(month=12), "monthly") == last.replace(
        year=last.year + 1, month=1, day=28
    )
    assert following(last, "weekly") == last + timedelta(days=7)


def test_a_cancelled_card_stays_cancelled() -> None:
    desk = Desk()
    assert "already active" in desk.refused("set_card_status", card_id=desk.card, status="active")
    assert desk.call("set_card_status", card_id=desk.card, status="frozen").ok
    assert desk.call("set_card_status", card_id=desk.card, status="cancelled").ok
    assert "cancelled" in desk.refused("set_card_status", card_id=desk.card, status="active")


def test_card_payments_of_the_last_60_days_can_be_disputed_once() -> None:
    desk = Desk()
    entry = {"kind": "card", "counterparty": "Kiosk", "card_id": desk.card}
    new, old = (
        desk.bank.book(desk.main, money(-5), at=NOW - timedelta(days=days), **entry).id
        for days in (59, 61)
    )
    paid = desk.bank.book(desk.main, money(-5), kind="payment", counterparty="Ida").id
    desk.session = Session.over(server, desk.bank)
    dispute = {"reason": "not_mine"}
    assert "only card payments" in desk.refused(
        "dispute_transaction", transaction_id=paid, **dispute
    )
    assert "older than 60" in desk.refused("dispute_transaction", transaction_id=old, **dispute)
    assert desk.call("dispute_transaction", transaction_id=new, **dispute).ok
    assert "already disputed" in desk.refused("dispute_transaction", transaction_id=new, **dispute)


def test_account_names_are_unique_and_their_number_is_limited() -> None:
    desk = Desk()
    assert "choose another name" in desk.refused("open_account", name="MAIN", kind="checking")
    for number in range(6):
        assert desk.call("open_account", name=f"No {number}", kind="checking").ok
    assert "close one first" in desk.refused("open_account", name="One more", kind="checking")


def test_an_account_is_closed_when_nothing_depends_on_it() -> None:
    desk = Desk()
    close = {"account_id": desk.main}
    assert "move the money first" in desk.refused("close_account", **close)
    order = order_from(desk).value["id"]
    desk.call("transfer_funds", source_id=desk.main, target_id=desk.spare, amount=100)
    assert "standing orders" in desk.refused("close_account", **close)
    desk.call("cancel_standing_order", standing_order_id=order)
    assert "cards draw on" in desk.refused("close_account", **close)
    desk.call("set_card_status", card_id=desk.card, status="cancelled")
    assert desk.call("close_account", **close).value["status"] == "closed"
    assert desk.main not in desk.call("list_accounts").text
    assert "closed" in desk.refused("close_account", **close)


def test_bookings_are_found_newest_first() -> None:
    desk = Desk()
    for amount in (1, 2):
        desk.call("pay_payee", account_id=desk.main, payee_id=desk.payee, amount=amount)
        desk.session.advance(24 * 60)
    found = desk.call("search_transactions", counterparty="ida", account_id=desk.main).value
    assert [item["amount"] for item in found["items"]] == [-2, -1]
    since = str(TODAY + timedelta(days=1))
    assert desk.call("search_transactions", since=since).value["total"] == 1
    assert desk.call("search_transactions", account_id="acc_1").error == "not_found"
