"""What a household's budget knows, how months follow each other, and what always adds up."""

from collections import defaultdict
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

from provegym.kernel import Record, Rejected, Server, State, Table, forbid, money, table

Rollover = Literal["carry", "sweep"]
NIL = money(0)


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
        """The envelope that soft ones borrow of."""
        return self.envelopes.where(kind="buffer")[0]

    def open_expense(self, expense_id: str) -> Expense:
        """An expense of the open month; closed months stay as they are."""
        expense, month = self.expenses[expense_id], month_of(self.now)
        forbid(month_of(expense.spent_on) != month, f"only {month} is open; choose one of its own")
        return expense

    def book(self, envelope_id: str, spent: Decimal, moved: Decimal = NIL) -> Envelope:
        """Change what an envelope holds by an expense or a move, never to below nothing."""
        held = self.envelopes[envelope_id]
        left = held.balance + moved - spent
        forbid(left < 0, f"{held.name} holds only {held.balance}; move money into it first")
        sums = {"spent": held.spent + spent, "moved": held.moved + moved, "balance": left}
        return self.envelopes.update(held.id, **sums)

    def spend(self, envelope_id: str, amount: Decimal) -> Envelope:
        """Take an amount out of an envelope; a soft one borrows what it lacks."""
        held, buffer = self.envelopes[envelope_id], self.buffer()
        forbid(held.id == buffer.id, f"{held.name} only lends; book it on another envelope")
        short = amount - held.balance
        if short > 0 and held.kind == "soft":
            self.book(buffer.id, NIL, -short)
            self.book(held.id, NIL, short)
            self.envelopes.update(held.id, borrowed=held.borrowed + short)
        return self.book(held.id, amount)

    def add_expense(self, envelope_id: str, amount: Decimal, **fields: Any) -> Expense:
        """Spend an amount and write down on what."""
        name = self.spend(envelope_id, amount).name
        fields |= {"envelope_id": envelope_id, "envelope_name": name}
        return self.expenses.add(amount=amount, **fields)

    def line(self, held: Envelope, month: str) -> MonthLine:
        """An envelope's month as it stands."""
        fields: dict[str, Any] = {"key": f"{month} {held.id}", "envelope_id": held.id}
        fields |= {"opening": held.opening, "moved": held.moved, "spent": held.spent}
        return MonthLine(month=month, envelope_name=held.name, left=held.balance, **fields)

    def next_event(self) -> datetime:
        """At midnight a month begins, or a recurring cost or the deadline of a goal is due."""
        days = [plan.next_date for plan in self.plans if plan.status == "active"]
        days += [goal.deadline for goal in self.goals if goal.status == "saving"]
        first = following(self.now.date().replace(day=1))
        return datetime.combine(min([first, *days]), time(), UTC)

    def happen(self) -> None:
        """Begin the month, book what recurs, and give up on goals whose day has come."""
        if self.now.day == 1:
            self._begin_month(month_of(self.now - timedelta(days=1)))
        for plan in self.plans.where(status="active"):
            if plan.next_date <= self.now.date():
                self._book_plan(plan)
        for goal in self.goals.where(status="saving"):
            if goal.deadline <= self.now.date():
                self.book(self.buffer().id, NIL, goal.saved)
                self.goals.update(goal.id, status="missed", saved=NIL)

    def _begin_month(self, last: str) -> None:
        """Write the last month down, carry or sweep what is left, and hand out the new money."""
        extra = NIL
        for held in list(self.envelopes):
            self.lines.put(self.line(held, last))
            carried = held.balance if held.rollover == "carry" else NIL
            repaid = min(held.borrowed, held.limit)
            extra += held.balance - carried + repaid
            sums = {"opening": carried + held.limit - repaid, "borrowed": held.borrowed - repaid}
            zero = {"moved": NIL, "spent": NIL}
            self.envelopes.update(held.id, balance=sums["opening"], **sums, **zero)
        buffer = self.buffer()
        sums = {"opening": buffer.opening + extra, "balance": buffer.balance + extra}
        self.envelopes.update(buffer.id, **sums)

    def _book_plan(self, plan: RecurringCost) -> None:
        missed = plan.missed
        try:
            fields = {"place": plan.place, "spent_on": plan.next_date}
            self.add_expense(plan.envelope_id, plan.amount, **fields)
        except Rejected:
            missed += 1
        self.plans.update(plan.id, next_date=following(plan.next_date), missed=missed)

    def check(self) -> None:
        """Every month adds up, closed or open, and what was moved is still there."""
        spent: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for expense in self.expenses:
            spent[month_of(expense.spent_on), expense.envelope_id] += expense.amount
        lines = [*self.lines, *(self.line(held, month_of(self.now)) for held in self.envelopes)]
        assert all(line.left == line.opening + line.moved - line.spent >= 0 for line in lines)
        assert all(line.spent == spent.pop((line.month, line.envelope_id), 0) for line in lines)
        assert not spent
        assert sum(line.moved for line in lines) + sum(goal.saved for goal in self.goals) == 0
        for goal in self.goals:
            assert 0 <= goal.saved <= goal.target
            assert (goal.status == "reached") == (goal.saved == goal.target)
            assert goal.status != "missed" or goal.saved == 0
        assert [held.kind for held in self.envelopes].count("buffer") == 1
        assert all(held.limit >= 0 and held.borrowed >= 0 for held in self.envelopes)


def month_of(day: date) -> str:
    """The month of a day, e.g. "2026-03"."""
    return f"{day:%Y-%m}"


def following(day: date) -> date:
    """The same day of the next month; plans keep to the first 28 days."""
    return (day.replace(day=1) + timedelta(days=32)).replace(day=day.day)


about = "A household's budget in envelopes: monthly limits, expenses, recurring costs, goals."
server = Server("budget", Budget, category="lifestyle", about=about)
