"""The bank's rules, told on a tiny bank made by hand."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.banking.seed import make_iban, valid_iban
from provegym.servers.banking.state import Bank, server
from servers.desk import Desk

NOW = Seed(0).now
TODAY = NOW.date()


class Branch(Desk[Bank]):
    """A bank with three accounts, one payee and one card."""

    def __init__(self, **main: Any) -> None:
        super().__init__(server, Bank(Seed(0)))
        self.main = self.open("Main", 100, **main)
        self.spare = self.open("Spare", 0)
        self.savings = self.open("Pot", 500, kind="savings")
        self.payee = self.befriend("Ida", hours=900)
        fields = {"account_id": self.main, "last_digits": "1234", "kind": "debit"}
        self.card = self.world.cards.add(status="active", **fields).id
        self.start()

    def open(self, name: str, balance: int, **fields: Any) -> str:
        """An account with money in it."""
        number = len(self.world.accounts)
        held = {"balance": money(balance), "opening": money(balance)}
        known = {"kind": "checking", "currency": "EUR", "iban": make_iban(10**6 + number)}
        return self.world.accounts.add(name=name, **held, **{**known, **fields}).id

    def befriend(self, name: str, hours: int) -> str:
        """A payee known for so many hours."""
        iban = make_iban(2 * 10**6 + len(self.world.payees))
        return self.world.payees.add(name=name, iban=iban, added=NOW - timedelta(hours=hours)).id

    def weekly(self, **changes: Any) -> dict[str, Any]:
        """The arguments of a weekly standing order from tomorrow on."""
        tomorrow = str(TODAY + timedelta(days=1))
        usual = {"account_id": self.main, "payee_id": self.payee, "amount": 30}
        return {**usual, "interval": "weekly", "first_date": tomorrow, **changes}

    def balance(self, account_id: str) -> Decimal:
        """What an account holds now."""
        return self.state.accounts[account_id].balance


def test_a_transfer_books_both_sides() -> None:
    desk = Branch()
    desk.done("transfer_funds", source_id=desk.main, target_id=desk.spare, amount=40.5)
    assert (desk.balance(desk.main), desk.balance(desk.spare)) == (money("59.5"), money("40.5"))
    assert [entry.amount for entry in desk.state.transactions] == [money("40.5"), money("-40.5")]


def test_a_transfer_needs_cover_but_may_use_the_overdraft() -> None:
    desk = Branch(overdraft=money(50))
    move = {"source_id": desk.main, "target_id": desk.spare}
    desk.rejected("transfer_funds", "150.00 available", **move, amount=150.01)
    desk.done("transfer_funds", **move, amount=150)
    assert desk.balance(desk.main) == money(-50)


def test_a_transfer_goes_between_two_open_accounts_of_one_currency() -> None:
    desk = Branch()
    dollars = desk.open("Dollars", 5, currency="USD")
    frozen = desk.open("Ice", 5, status="frozen")
    desk.start()
    from_main = {"source_id": desk.main, "amount": 1}
    desk.rejected("transfer_funds", "same account", **from_main, target_id=desk.main)
    desk.rejected("transfer_funds", "EUR", **from_main, target_id=dollars)
    desk.rejected("transfer_funds", "takes no money", **from_main, target_id=frozen)
    back = {"source_id": frozen, "target_id": desk.main, "amount": 1}
    desk.rejected("transfer_funds", "choose an open account", **back)


def test_a_viewer_may_look_but_not_act() -> None:
    desk = Branch(access="viewer")
    desk.done("get_account", account_id=desk.main)
    move = {"source_id": desk.main, "target_id": desk.spare, "amount": 1}
    desk.denied("transfer_funds", **move)
    desk.denied("close_account", account_id=desk.main)


def test_savings_allow_four_withdrawals_a_month() -> None:
    desk = Branch()
    move = {"source_id": desk.savings, "target_id": desk.spare, "amount": 10}
    for _ in range(4):
        desk.done("transfer_funds", **move)
    desk.rejected("transfer_funds", "no withdrawals left", **move)
    assert desk.done("get_account", account_id=desk.savings)["withdrawals_left"] == 0
    desk.wait(days=31)
    desk.done("transfer_funds", **move)


def test_a_deposit_is_fixed_until_it_matures() -> None:
    desk = Branch(kind="fixed_term", matures=TODAY + timedelta(days=2))
    move = {"source_id": desk.main, "target_id": desk.spare, "amount": 10}
    desk.rejected("transfer_funds", "is fixed until", **move)
    desk.wait(days=2)
    desk.done("transfer_funds", **move)


def test_payees_are_paid_within_the_daily_limit() -> None:
    desk = Branch(daily_limit=money(60))
    pay = {"account_id": desk.main, "payee_id": desk.payee}
    assert desk.done("pay_payee", **pay, amount=45)["counterparty"] == "Ida"
    desk.rejected("pay_payee", "15.00 left today", **pay, amount=16)
    assert desk.done("get_account", account_id=desk.main)["left_of_daily_limit"] == 15
    desk.wait(days=1)
    desk.done("pay_payee", **pay, amount=16)


def test_payees_are_not_paid_from_savings() -> None:
    desk = Branch()
    pay = {"account_id": desk.savings, "payee_id": desk.payee, "amount": 5}
    desk.rejected("pay_payee", "checking accounts", **pay)


def test_a_new_payee_gets_at_most_250_in_the_first_day() -> None:
    desk = Branch(overdraft=money(900))
    new = desk.befriend("Nils", hours=3)
    desk.start()
    pay = {"account_id": desk.main, "payee_id": new}
    desk.rejected("pay_payee", "Nils is new", **pay, amount=250.01)
    desk.done("pay_payee", **pay, amount=200)
    desk.rejected("pay_payee", "only 50.00 more", **pay, amount=50.01)
    desk.done("pay_payee", **pay, amount=50)
    desk.wait(hours=21)
    desk.done("pay_payee", **pay, amount=251)


def test_a_payee_that_is_put_on_the_list_again_is_new_but_not_unpaid() -> None:
    desk = Branch(overdraft=money(900))
    payee = desk.done("add_payee", name="Uma", iban=make_iban(77))["id"]
    desk.done("pay_payee", account_id=desk.main, payee_id=payee, amount=250)
    desk.done("remove_payee", payee_id=payee)
    again = desk.done("add_payee", name="Uma Holm", iban=make_iban(77))["id"]
    desk.rejected("pay_payee", "is new", account_id=desk.main, payee_id=again, amount=1)


def test_a_standing_order_does_not_get_round_the_cap_of_a_new_payee() -> None:
    desk = Branch(overdraft=money(900))
    new = desk.befriend("Nils", hours=3)
    desk.start()
    large = desk.weekly(payee_id=new, amount=251)
    assert large["first_date"] == str(TODAY + timedelta(days=1))
    desk.rejected("create_standing_order", "Nils is new", **large)
    day_after = str(TODAY + timedelta(days=2))
    desk.done("create_standing_order", **{**large, "first_date": day_after})
    desk.wait(days=3)
    assert desk.balance(desk.main) == money(100 - 251)


def test_a_standing_order_pays_a_new_payee_what_the_cap_leaves() -> None:
    desk = Branch(overdraft=money(900))
    new = desk.befriend("Nils", hours=3)
    desk.start()
    order = desk.done("create_standing_order", **desk.weekly(payee_id=new, amount=200))["id"]
    desk.done("pay_payee", account_id=desk.main, payee_id=new, amount=60)
    desk.wait(days=1)
    assert desk.state.orders[order].missed == 1


def test_a_payee_needs_a_right_and_new_account_number() -> None:
    desk = Branch()
    iban = make_iban(77)
    desk.rejected("add_payee", "check digits", name="Uma", iban=f"{iban[:-1]}5")
    own = desk.world.accounts[desk.main].iban
    desk.rejected("add_payee", "transfer_funds", name="Me", iban=own)
    spaced = f"{iban[:4]} {iban[4:12]} {iban[12:]}".lower()
    assert desk.done("add_payee", name="Uma", iban=spaced)["iban"] == iban
    desk.rejected("add_payee", "already on the list as Uma", name="Uma B", iban=iban)


def test_account_numbers_check_themselves() -> None:
    assert valid_iban("GB82WEST12345698765432")
    assert all(valid_iban(make_iban(number)) for number in (0, 1, 77, 10**18 - 1))
    assert not valid_iban("GB82WEST12345698765433")
    assert not valid_iban("")
    assert not valid_iban("²" * 20)


def test_a_payee_with_a_standing_order_stays() -> None:
    desk = Branch()
    order = desk.done("create_standing_order", **desk.weekly())["id"]
    desk.rejected("remove_payee", order, payee_id=desk.payee)
    desk.done("cancel_standing_order", standing_order_id=order)
    desk.rejected("cancel_standing_order", "already cancelled", standing_order_id=order)
    desk.done("remove_payee", payee_id=desk.payee)
    desk.not_found("remove_payee", payee_id=desk.payee)


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
    desk = Branch()
    if "account_id" in changes:
        changes = {"account_id": desk.savings}
    desk.rejected("create_standing_order", told, **desk.weekly(**changes))


def test_one_standing_order_per_account_and_payee() -> None:
    desk = Branch()
    desk.done("create_standing_order", **desk.weekly())
    desk.rejected("create_standing_order", "already runs", **desk.weekly())
    desk.done("create_standing_order", **desk.weekly(account_id=desk.spare))


def test_standing_orders_are_paid_by_themselves_until_the_money_is_gone() -> None:
    desk = Branch()
    order = desk.done("create_standing_order", **desk.weekly())["id"]
    desk.wait(days=29)
    after = desk.state.orders[order]
    assert desk.balance(desk.main) == money(10)
    assert (after.missed, after.next_date) == (2, TODAY + timedelta(days=36))
    booked = [entry for entry in desk.state.transactions if entry.kind == "standing_order"]
    assert [(entry.at.hour, entry.counterparty) for entry in booked] == [(6, "Ida")] * 3


def test_standing_orders_count_towards_the_daily_limit() -> None:
    desk = Branch(daily_limit=money(50))
    other = desk.befriend("Olga", hours=900)
    desk.start()
    desk.done("create_standing_order", **desk.weekly())
    second = desk.done("create_standing_order", **desk.weekly(payee_id=other))["id"]
    desk.wait(days=1)
    assert desk.state.orders[second].missed == 1
    assert desk.done("get_account", account_id=desk.main)["left_of_daily_limit"] == 20
    pay = {"account_id": desk.main, "payee_id": desk.payee}
    desk.rejected("pay_payee", "20.00 left today", **pay, amount=21)


def test_a_monthly_payment_keeps_its_day_where_the_month_has_it() -> None:
    desk = Branch()
    desk.world.now = datetime(2027, 1, 15, 12, 0, tzinfo=UTC)
    desk.start()
    monthly = desk.weekly(interval="monthly", amount=1, first_date="2027-01-31")
    order = desk.done("create_standing_order", **monthly)["id"]
    days = []
    for _ in range(5):
        days.append(str(desk.state.orders[order].next_date))
        desk.wait(days=31)
    assert days == ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"]


def test_a_cancelled_card_stays_cancelled() -> None:
    desk = Branch()
    desk.rejected("set_card_status", "already active", card_id=desk.card, status="active")
    desk.done("set_card_status", card_id=desk.card, status="frozen")
    desk.done("set_card_status", card_id=desk.card, status="cancelled")
    desk.rejected("set_card_status", "cancelled", card_id=desk.card, status="active")


def test_card_payments_of_the_last_60_days_can_be_disputed_once() -> None:
    desk = Branch()
    entry = {"kind": "card", "counterparty": "Kiosk", "card_id": desk.card}
    new, old = (
        desk.world.book(desk.main, money(-5), at=NOW - timedelta(days=days), **entry).id
        for days in (59, 61)
    )
    paid = desk.world.book(desk.main, money(-5), kind="payment", counterparty="Ida").id
    desk.start()
    dispute = {"reason": "not_mine"}
    desk.rejected("dispute_transaction", "only card payments", transaction_id=paid, **dispute)
    desk.rejected("dispute_transaction", "older than 60", transaction_id=old, **dispute)
    desk.done("dispute_transaction", transaction_id=new, **dispute)
    desk.rejected("dispute_transaction", "already disputed", transaction_id=new, **dispute)


def test_account_names_are_unique_and_their_number_is_limited() -> None:
    desk = Branch()
    desk.rejected("open_account", "choose another name", name="MAIN", kind="checking")
    for number in range(6):
        desk.done("open_account", name=f"No {number}", kind="checking")
    desk.rejected("open_account", "close one first", name="One more", kind="checking")


def test_an_account_is_closed_when_nothing_depends_on_it() -> None:
    desk = Branch()
    close = {"account_id": desk.main}
    desk.rejected("close_account", "move the money first", **close)
    order = desk.done("create_standing_order", **desk.weekly())["id"]
    desk.done("transfer_funds", source_id=desk.main, target_id=desk.spare, amount=100)
    desk.rejected("close_account", "standing orders", **close)
    desk.done("cancel_standing_order", standing_order_id=order)
    desk.rejected("close_account", "cards draw on", **close)
    desk.done("set_card_status", card_id=desk.card, status="cancelled")
    assert desk.done("close_account", **close)["status"] == "closed"
    assert desk.main not in desk.call("list_accounts").text
    desk.rejected("close_account", "closed", **close)


def test_bookings_are_found_newest_first() -> None:
    desk = Branch()
    for amount in (1, 2):
        desk.done("pay_payee", account_id=desk.main, payee_id=desk.payee, amount=amount)
        desk.wait(days=1)
    found = desk.done("search_transactions", counterparty="ida", account_id=desk.main)
    assert [item["amount"] for item in found["items"]] == [-2, -1]
    since = str(TODAY + timedelta(days=1))
    assert desk.done("search_transactions", since=since)["total"] == 1
    desk.not_found("search_transactions", account_id="acc_1")
