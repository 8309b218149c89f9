"""The records of a household's budget, the change of months, recurring costs, invariants."""

from collections import defaultdict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal

from provegym.kernel import Record, Rejected, Server, State, Table, money, table

Rollover = Literal["carry", "sweep"]
ZERO = money(0)


class Envelope(Record, frozen=True):
    """Money for one purpose: a hard one is never overspent, a soft one borrows of the buffer."""

    id: str
    name: str
    kind: Literal["hard", "soft", "buffer"]
    rollover: Rollover
    limit: Decimal
    opening: Decimal
    balance: Decimal
    moved: Decimal
    spent: Decimal
    borrowed: Decimal


class Expense(Record, frozen=True):
    """Money spent somewhere, booked on one envelope."""

    id: str
    envelope_id: str
    envelope_name: str
    place: str
    amount: Decimal
    spent_on: date
    split_from_id: str | None = None


class RecurringCost(Record, frozen=True):
    """An expense that books itself each month; `missed` counts when its envelope refused."""

    id: str
    envelope_id: str
    envelope_name: str
    place: str
    amount: Decimal
    next_date: date
    status: Literal["active", "stopped"]
    missed: int = 0


class SavingsGoal(Record, frozen=True):
    """Something to save up for by a day; what is saved for a missed goal goes to the buffer."""

    id: str
    name: str
    target: Decimal
    saved: Decimal
    deadline: date
    status: Literal["saving", "reached", "missed"]


class MonthLine(Record, frozen=True):
    """What became of one envelope in one month."""

    key: str
    month: str
    envelope_id: str
    envelope_name: str
    opening: Decimal
    moved: Decimal
    spent: Decimal
    left: Decimal


class Budget(State):
    """The budget of one household: an open month and the closed ones before it."""

    envelopes: Table[Envelope] = table(Envelope, "env", look_up="list_envelopes")
    expenses: Table[Expense] = table(Expense, "exp", look_up="search_expenses", most=10_000)
    plans: Table[RecurringCost] = table(RecurringCost, "cst", look_up="list_recurring_costs")
    goals: Table[SavingsGoal] = table(SavingsGoal, "gol", look_up="list_savings_goals")
    lines: Table[MonthLine] = table(MonthLine, key="key", most=10_000)

    def buffer(self) -> Envelope:
        """The envelope that soft ones borrow from."""
        return self.envelopes.where(kind="buffer")[0]

    def open_expense(self, expense_id: str) -> Expense:
        """An expense of the open month; expenses of closed months cannot be changed."""
        expense = self.expenses[expense_id]
        month = month_of(self.now)
        if month_of(expense.spent_on) != month:
            raise Rejected(f"only {month} is open; choose one of its own")
        return expense

    def book(self, envelope_id: str, *, spent: Decimal = ZERO, moved: Decimal = ZERO) -> Envelope:
        """Book an expense or a move on an envelope; its balance never falls below zero."""
        envelope = self.envelopes[envelope_id]
        balance = envelope.balance + moved - spent
        if balance < 0:
            raise Rejected(
                f"{envelope.name} holds only {envelope.balance}; move money into it first"
            )
        return self.envelopes.update(
            envelope.id, balance=balance, moved=envelope.moved + moved, spent=envelope.spent + spent
        )

    def spend(self, envelope_id: str, amount: Decimal) -> Envelope:
        """Take an amount out of an envelope; a soft one borrows what it lacks from the buffer."""
        envelope = self.envelopes[envelope_id]
        buffer = self.buffer()
        if envelope.id == buffer.id:
            raise Rejected(f"{envelope.name} only lends; book it on another envelope")
        short = amount - envelope.balance
        if short > 0 and envelope.kind == "soft":
            self.book(buffer.id, moved=-short)
            self.book(envelope.id, moved=short)
            self.envelopes.update(envelope.id, borrowed=envelope.borrowed + short)
        return self.book(envelope.id, spent=amount)

    def unspend(self, envelope_id: str, amount: Decimal) -> Envelope:
        """Put an amount back into an envelope; what it borrowed goes back to the buffer first."""
        envelope = self.book(envelope_id, spent=-amount)
        repaid = min(amount, envelope.borrowed)
        if repaid == 0:
            return envelope
        self.book(self.buffer().id, moved=repaid)
        envelope = self.book(envelope_id, moved=-repaid)
        return self.envelopes.update(envelope_id, borrowed=envelope.borrowed - repaid)

    def recurring(self, envelope_id: str) -> Decimal:
        """What an envelope pays each month by itself."""
        plans = self.plans.where(envelope_id=envelope_id, status="active")
        return sum((plan.amount for plan in plans), ZERO)

    def add_expense(
        self,
        envelope_id: str,
        amount: Decimal,
        place: str,
        spent_on: date,
        split_from_id: str | None = None,
    ) -> Expense:
        """Spend an amount and record the expense."""
        envelope = self.spend(envelope_id, amount)
        return self.expenses.add(
            envelope_id=envelope_id,
            envelope_name=envelope.name,
            place=place,
            amount=amount,
            spent_on=spent_on,
            split_from_id=split_from_id,
        )

    def line(self, envelope: Envelope, month: str) -> MonthLine:
        """What an envelope's month looks like at present."""
        return MonthLine(
            key=f"{month} {envelope.id}",
            month=month,
            envelope_id=envelope.id,
            envelope_name=envelope.name,
            opening=envelope.opening,
            moved=envelope.moved,
            spent=envelope.spent,
            left=envelope.balance,
        )

    def next_event(self) -> datetime:
        """At midnight a month begins, or a recurring cost or the deadline of a goal is due."""
        days = [following(self.now.date().replace(day=1))]
        days += [plan.next_date for plan in self.plans if plan.status == "active"]
        days += [goal.deadline for goal in self.goals if goal.status == "saving"]
        return datetime.combine(min(days), time(), UTC)

    def happen(self) -> None:
        """Begin the month, book recurring costs, and end the goals whose deadline has come."""
        today = self.now.date()
        if today.day == 1:
            self._begin_month()
        for plan in self.plans.where(status="active"):
            if plan.next_date <= today:
                self._book_plan(plan)
        for goal in self.goals.where(status="saving"):
            if goal.deadline <= today:
                self.book(self.buffer().id, moved=goal.saved)
                self.goals.update(goal.id, status="missed", saved=ZERO)

    def _begin_month(self) -> None:
        """Record the last month, carry or sweep what is left, and hand out the new money."""
        last_month = month_of(self.now - timedelta(days=1))
        to_buffer = ZERO
        for envelope in list(self.envelopes):
            self.lines.put(self.line(envelope, last_month))
            carried = envelope.balance if envelope.rollover == "carry" else ZERO
            swept = envelope.balance - carried
            # What is swept into the buffer pays back what was borrowed of it.
            borrowed = max(ZERO, envelope.borrowed - swept)
            repaid = min(borrowed, envelope.limit)
            to_buffer += swept + repaid
            opening = carried + envelope.limit - repaid
            self.envelopes.update(
                envelope.id,
                opening=opening,
                balance=opening,
                moved=ZERO,
                spent=ZERO,
                borrowed=borrowed - repaid,
            )
        buffer = self.buffer()
        self.envelopes.update(
            buffer.id, opening=buffer.opening + to_buffer, balance=buffer.balance + to_buffer
        )

    def _book_plan(self, plan: RecurringCost) -> None:
        """Book a recurring cost once; if its envelope cannot pay, count it as missed."""
        missed = plan.missed
        try:
            self.add_expense(plan.envelope_id, plan.amount, plan.place, plan.next_date)
        except Rejected:
            missed += 1
        self.plans.update(plan.id, next_date=following(plan.next_date), missed=missed)

    def check(self) -> None:
        """Every month adds up, and money that was moved is in an envelope or a goal."""
        this_month = month_of(self.now)
        open_lines = [self.line(envelope, this_month) for envelope in self.envelopes]
        lines = [*self.lines, *open_lines]
        self._check_lines(lines)
        self._check_expenses(lines)
        self._check_goals()
        self._check_envelopes()
        self._check_plans()
        assert sum(line.moved for line in lines) + sum(goal.saved for goal in self.goals) == 0

    def _check_lines(self, lines: list[MonthLine]) -> None:
        for line in lines:
            assert line.left == line.opening + line.moved - line.spent
            assert line.left >= 0

    def _check_expenses(self, lines: list[MonthLine]) -> None:
        """The expenses of a month and envelope add up to its line; none is left without a line."""
        spent: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for expense in self.expenses:
            spent[month_of(expense.spent_on), expense.envelope_id] += expense.amount
        for line in lines:
            assert line.spent == spent.pop((line.month, line.envelope_id), ZERO)
        assert not spent

    def _check_goals(self) -> None:
        for goal in self.goals:
            assert 0 <= goal.saved <= goal.target
            assert (goal.status == "reached") == (goal.saved == goal.target)
            if goal.status == "missed":
                assert goal.saved == 0

    def _check_envelopes(self) -> None:
        assert len(self.envelopes.where(kind="buffer")) == 1
        for envelope in self.envelopes:
            assert envelope.limit >= 0
            assert envelope.borrowed >= 0
            assert self.recurring(envelope.id) <= envelope.limit

    def _check_plans(self) -> None:
        """No place is paid twice a month by the same envelope."""
        active = self.plans.where(status="active")
        assert len({(plan.envelope_id, plan.place.lower()) for plan in active}) == len(active)


def month_of(day: date) -> str:
    """The month of a day, e.g. "2026-03"."""
    return f"{day:%Y-%m}"


def following(day: date) -> date:
    """The same day of the next month; recurring costs fall on one of the first 28 days."""
    in_next_month = day.replace(day=1) + timedelta(days=31)
    return in_next_month.replace(day=day.day)


about = "A household's budget in envelopes: monthly limits, expenses, recurring costs, goals."
server = Server("budget", Budget, category="lifestyle", about=about, version=2)
