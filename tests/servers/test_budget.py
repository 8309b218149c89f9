"""The budget's rules, told on a household with three envelopes and a buffer."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from provegym.kernel import Seed, money
from provegym.servers.budget.state import Budget, Envelope, SavingsGoal, following, server
from servers.desk import Desk

NOON = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
TO_APRIL = (datetime(2026, 4, 1, tzinfo=UTC) - NOON) // timedelta(minutes=1)


class Household(Desk[Budget]):
    """Three envelopes, a buffer and a savings goal."""

    def __init__(self) -> None:
        super().__init__(server, Budget(Seed(0)))
        self.world.now = NOON
        self.food = self.envelope("Food", 300, kind="hard")
        self.fun = self.envelope("Fun", 100, kind="soft", rollover="sweep")
        self.rent = self.envelope("Rent", 500, kind="hard")
        self.jar = self.envelope("Jar", 50, kind="buffer")
        goal = {"target": money(80), "saved": money(0), "status": "saving"}
        self.tent = self.world.goals.add(name="Tent", deadline=date(2026, 3, 20), **goal).id
        self.start()

    def envelope(self, name: str, limit: int, *, kind: str, rollover: str = "carry") -> str:
        """An envelope that has its limit in it."""
        sums = dict.fromkeys(("limit", "opening", "balance"), money(limit))
        sums |= dict.fromkeys(("moved", "spent", "borrowed"), money(0))
        return self.world.envelopes.add(name=name, kind=kind, rollover=rollover, **sums).id

    def spend(self, envelope_id: str, amount: float, place: str = "Kiosk") -> str:
        """Book an expense of today."""
        booked = {"envelope_id": envelope_id, "amount": amount, "place": place}
        expense_id: str = self.done("record_expense", **booked)["id"]
        return expense_id

    def held(self, envelope_id: str) -> Envelope:
        """An envelope as it is now."""
        return self.state.envelopes[envelope_id]

    def balances(self, *envelope_ids: str) -> list[Decimal]:
        """What envelopes hold now."""
        return [self.held(key).balance for key in envelope_ids]

    def goal(self) -> SavingsGoal:
        """The tent as it is now."""
        return self.state.goals[self.tent]


@pytest.fixture
def home() -> Household:
    return Household()


def test_expenses_add_up(home: Household) -> None:
    home.spend(home.food, 12.5)
    home.spend(home.food, 7.25)
    assert home.balances(home.food) == [Decimal("280.25")]
    assert home.done("search_expenses", envelope_id=home.food)["total"] == 2


def test_a_hard_envelope_is_never_overspent(home: Household) -> None:
    over = {"envelope_id": home.food, "amount": 300.01, "place": "Kiosk"}
    home.rejected("record_expense", "Food holds only 300.00", **over)
    home.spend(home.food, 300)


def test_a_soft_envelope_borrows_of_the_buffer(home: Household) -> None:
    home.spend(home.fun, 130)
    assert home.balances(home.fun, home.jar) == [0, 20]
    assert home.held(home.fun).borrowed == 30
    more = {"envelope_id": home.fun, "amount": 20.5, "place": "Kiosk"}
    home.rejected("record_expense", "Jar holds only 20.00", **more)


def test_the_buffer_only_lends(home: Household) -> None:
    straight = {"envelope_id": home.jar, "amount": 5, "place": "Kiosk"}
    home.rejected("record_expense", "only lends", **straight)
    home.rejected("schedule_recurring_cost", "only lends", first_date="2026-03-12", **straight)
    home.rejected("update_envelope", "gets what the others leave", envelope_id=home.jar, limit=90)


def test_only_days_of_the_open_month_are_booked(home: Household) -> None:
    booked = {"envelope_id": home.food, "amount": 5, "place": "Kiosk"}
    home.rejected("record_expense", "only 2026-03 is open", spent_on="2026-02-28", **booked)
    home.rejected("record_expense", "in the future", spent_on="2026-03-11", **booked)
    assert home.done("record_expense", spent_on="2026-03-01", **booked)["spent_on"] == "2026-03-01"


def test_corrections_change_the_envelope(home: Household) -> None:
    expense_id = home.spend(home.food, 20)
    home.done("correct_expense", expense_id=expense_id, amount=35)
    assert home.balances(home.food) == [265]
    home.done("correct_expense", expense_id=expense_id, amount=15)
    assert home.balances(home.food) == [285]
    home.rejected("correct_expense", "with 15.00 already", expense_id=expense_id, amount=15)
    home.rejected("correct_expense", "holds only 285.00", expense_id=expense_id, amount=301)


def test_a_correction_gives_back_what_was_borrowed(home: Household) -> None:
    expense_id = home.spend(home.fun, 130)
    assert home.balances(home.fun, home.jar) == [0, 20]
    home.done("correct_expense", expense_id=expense_id, amount=110)
    assert home.balances(home.fun, home.jar) == [0, 40]
    home.done("correct_expense", expense_id=expense_id, amount=30)
    assert home.balances(home.fun, home.jar) == [70, 50]
    assert home.held(home.fun).borrowed == 0


def test_a_split_gives_back_what_was_borrowed(home: Household) -> None:
    expense_id = home.spend(home.fun, 130)
    part = {"expense_id": expense_id, "envelope_id": home.food, "amount": 40}
    home.done("split_expense", **part)
    assert home.balances(home.fun, home.food, home.jar) == [10, 260, 50]


def test_what_is_swept_pays_back_what_was_borrowed(home: Household) -> None:
    home.spend(home.fun, 130)
    home.done("move_budget_money", source_id=home.rent, target_id=home.fun, amount=20)
    home.wait(TO_APRIL)
    assert home.balances(home.fun, home.jar) == [90, 20 + 50 + 20 + 10]
    assert home.held(home.fun).borrowed == 0


def test_closed_months_stay_as_they_are(home: Household) -> None:
    expense_id = home.spend(home.food, 20)
    home.wait(TO_APRIL)
    home.rejected("correct_expense", "only 2026-04 is open", expense_id=expense_id, amount=10)
    part = {"expense_id": expense_id, "envelope_id": home.rent, "amount": 5}
    home.rejected("split_expense", "only 2026-04 is open", **part)


def test_a_part_of_an_expense_goes_on_another_envelope(home: Household) -> None:
    expense_id = home.spend(home.food, 50, "Market Hall")
    part = {"expense_id": expense_id, "envelope_id": home.fun}
    split = home.done("split_expense", amount=20, **part)
    assert (split["split_from_id"], split["place"]) == (expense_id, "Market Hall")
    assert home.balances(home.food, home.fun) == [270, 80]
    home.rejected("split_expense", "smaller than 30.00", amount=30, **part)
    home.rejected("split_expense", "already", **{**part, "envelope_id": home.food}, amount=5)


def test_a_part_must_fit_its_envelope(home: Household) -> None:
    expense_id = home.spend(home.rent, 400)
    part = {"expense_id": expense_id, "envelope_id": home.food, "amount": 301}
    home.rejected("split_expense", "Food holds only 300.00", **part)
    assert home.balances(home.rent, home.food) == [100, 300]


def test_money_moves_between_envelopes(home: Household) -> None:
    move = {"source_id": home.rent, "target_id": home.food}
    assert home.done("move_budget_money", amount=120, **move)["balance"] == 380
    assert home.balances(home.rent, home.food) == [380, 420]
    home.rejected("move_budget_money", "Rent holds only 380.00", amount=381, **move)
    same = {"source_id": home.rent, "target_id": home.rent, "amount": 1}
    home.rejected("move_budget_money", "the same", **same)


def test_a_goal_is_reached_exactly(home: Household) -> None:
    save = {"source_id": home.rent, "target_id": home.tent}
    home.done("move_budget_money", amount=30, **save)
    home.rejected("move_budget_money", "takes only 50.00 more", amount=51, **save)
    home.done("move_budget_money", amount=50, **save)
    assert (home.goal().status, home.goal().saved) == ("reached", 80)
    home.rejected("move_budget_money", "Tent is reached", amount=1, **save)
    home.wait(TO_APRIL)
    assert home.goal().saved == 80


def test_what_was_saved_for_a_missed_goal_goes_to_the_buffer(home: Household) -> None:
    save = {"source_id": home.rent, "target_id": home.tent}
    home.done("move_budget_money", amount=30, **save)
    home.wait(days=10)
    assert (home.goal().status, home.goal().saved) == ("missed", 0)
    assert home.balances(home.jar) == [80]
    home.rejected("move_budget_money", "Tent is missed", amount=1, **save)


def test_a_new_month_carries_sweeps_and_repays(home: Household) -> None:
    home.spend(home.food, 100)
    home.spend(home.fun, 40)
    home.wait(TO_APRIL)
    assert home.balances(home.food, home.fun, home.jar) == [500, 100, 50 + 60 + 50]
    home.spend(home.fun, 110)
    home.wait(days=30)
    assert home.balances(home.fun) == [90]
    assert home.held(home.fun).borrowed == 0


def test_a_month_is_summed_up_open_or_closed(home: Household) -> None:
    home.spend(home.food, 100)
    lines = home.done("get_budget_month", month="2026-03")["items"]
    assert [line["spent"] for line in lines] == [100, 0, 0, 0]
    home.wait(TO_APRIL)
    home.spend(home.food, 9)
    assert home.done("get_budget_month", month="2026-03")["items"] == lines
    assert home.done("get_budget_month", month="2026-04")["items"][0]["spent"] == 9
    home.not_found("get_budget_month", month="2025-01")


def test_limits_share_the_monthly_income(home: Household) -> None:
    raised = home.done("update_envelope", envelope_id=home.food, limit=340)
    assert (raised["limit"], raised["balance"]) == (340, 300)
    assert home.held(home.jar).limit == 10
    home.rejected("update_envelope", "only 10.00 of", envelope_id=home.fun, limit=111)
    home.done("update_envelope", envelope_id=home.rent, limit=400, rollover="sweep")
    assert home.held(home.jar).limit == 110
    home.rejected("update_envelope", "say what to change", envelope_id=home.food)
    home.wait(TO_APRIL)
    assert home.balances(home.food, home.rent) == [640, 400]


def test_recurring_costs_book_themselves(home: Household) -> None:
    plan = {"envelope_id": home.rent, "amount": 450, "place": "Landlord"}
    cost = home.done("schedule_recurring_cost", first_date="2026-03-12", **plan)["id"]
    again = {**plan, "amount": 5, "first_date": "2026-03-13"}
    for place in ("Landlord", "Landlord ", " landlord", "LANDLORD"):
        home.rejected("schedule_recurring_cost", "each month already", **{**again, "place": place})
    home.wait(days=2)
    assert home.balances(home.rent) == [50]
    assert home.state.plans[cost].next_date == date(2026, 4, 12)
    home.done("stop_recurring_cost", recurring_cost_id=cost)
    home.rejected("stop_recurring_cost", "stopped already", recurring_cost_id=cost)
    home.wait(days=40)
    assert home.done("search_expenses", place="Landlord")["total"] == 1


def test_a_recurring_cost_that_is_not_covered_is_missed(home: Household) -> None:
    plan = {"envelope_id": home.food, "amount": 200, "place": "Veg Box"}
    cost = home.done("schedule_recurring_cost", first_date="2026-03-12", **plan)["id"]
    home.spend(home.food, 150)
    home.wait(days=2)
    assert home.state.plans[cost].missed == 1
    assert home.balances(home.food) == [150]


def test_recurring_costs_fit_the_envelope_and_the_calendar(home: Household) -> None:
    plan = {"envelope_id": home.fun, "amount": 20, "place": "Stream Box"}
    for day in ("2026-03-10", "2026-04-11", "2026-03-29"):
        home.rejected("schedule_recurring_cost", "choose a first day", first_date=day, **plan)
    dear = {**plan, "amount": 101, "first_date": "2026-03-12"}
    home.rejected("schedule_recurring_cost", "100.00 is left to plan", **dear)


def test_recurring_costs_together_fit_the_monthly_limit(home: Household) -> None:
    plan = {"envelope_id": home.fun, "amount": 60, "first_date": "2026-03-12"}
    first = home.done("schedule_recurring_cost", place="Stream Box", **plan)["id"]
    home.rejected("schedule_recurring_cost", "40.00 is left to plan", place="Gym", **plan)
    lower = {"envelope_id": home.fun, "limit": 59}
    home.rejected("update_envelope", "recurring costs of 60.00", **lower)
    home.done("stop_recurring_cost", recurring_cost_id=first)
    home.done("update_envelope", **lower)


def test_months_follow_each_other() -> None:
    assert following(date(2026, 1, 28)) == date(2026, 2, 28)
    assert following(date(2026, 12, 1)) == date(2027, 1, 1)
