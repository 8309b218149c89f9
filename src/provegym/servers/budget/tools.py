"""What can be done with the household purse."""

from datetime import date, timedelta

from provegym.kernel import Amount, Label, NotFound, forbid

from . import state as house
from .state import NIL, Budget, Envelope, Expense, RecurringCost, month_of, server

Id = str | None
Rule = house.Rollover | None


@server.read
def list_envelopes(purse: Budget, /, name: str = "") -> list[Envelope]:
    """List the household budget's envelopes with this month's balance, monthly limit and rules.

    Args:
        name: Only envelopes whose name contains this.
    """
    return [held for held in purse.envelopes if name.lower() in held.name.lower()]


@server.read
def search_expenses(purse: Budget, /, place: str = "", envelope_id: Id = None) -> list[Expense]:
    """Find household expenses of the open and of closed months, newest first.

    Args:
        place: Only expenses at a shop or company whose name contains this.
        envelope_id: Only expenses booked on this envelope, e.g. "env_310".
    """
    found = [e for e in purse.expenses if envelope_id in (None, e.envelope_id)]
    found = [e for e in found if place.lower() in e.place.lower()]
    return sorted(found, key=lambda expense: expense.spent_on, reverse=True)


@server.read
def get_budget_month(purse: Budget, /, month: str) -> list[house.MonthLine]:
    """Sum a budget month up by envelope: its opening, what was moved and spent, what is left.

    Args:
        month: The open month or a closed one, e.g. "2026-03".
    """
    if month == month_of(purse.now):
        return [purse.line(held, month) for held in purse.envelopes]
    if lines := purse.lines.where(month=month):
        return lines
    raise NotFound(f"no budget for {month!r}; months are written like {month_of(purse.now)}")


@server.read
def list_recurring_costs(purse: Budget, /, place: str = "") -> list[RecurringCost]:
    """List the household expenses that book themselves each month, stopped ones too.

    Args:
        place: Only costs at a shop or company whose name contains this.
    """
    return [plan for plan in purse.plans if place.lower() in plan.place.lower()]


@server.read
def list_savings_goals(purse: Budget, /, name: str = "") -> list[house.SavingsGoal]:
    """List what the household saves up for: target, saved so far, deadline.

    Args:
        name: Only goals whose name contains this.
    """
    return [goal for goal in purse.goals if name.lower() in goal.name.lower()]


@server.write
def record_expense(
    purse: Budget, /, envelope_id: str, amount: Amount, place: Label, spent_on: date | None = None
) -> Expense:
    """Book a household expense of the open month; only soft envelopes spend more than they hold.

    Args:
        envelope_id: The envelope it is paid out of, e.g. "env_310"; not the buffer.
        amount: How much was spent.
        place: The shop or company it was spent at.
        spent_on: The day, this month and not in the future, e.g. "2026-03-14"; today if left out.
    """
    day, month = spent_on or purse.now.date(), month_of(purse.now)
    forbid(month_of(day) != month, f"only {month} is open; closed months cannot be changed")
    forbid(day > purse.now.date(), f"{day} is in the future; use schedule_recurring_cost")
    return purse.add_expense(envelope_id, amount, place=place, spent_on=day)


@server.write
def correct_expense(purse: Budget, /, expense_id: str, amount: Amount) -> Expense:
    """Correct the amount of a household expense of the open month, as its envelope allows.

    Args:
        expense_id: The expense, e.g. "exp_4711".
        amount: What it should have been.
    """
    expense = purse.open_expense(expense_id)
    forbid(amount == expense.amount, f"{expense_id} is booked with {amount} already")
    purse.spend(expense.envelope_id, amount - expense.amount)
    return purse.expenses.update(expense_id, amount=amount)


@server.write
def split_expense(purse: Budget, /, expense_id: str, envelope_id: str, amount: Amount) -> Expense:
    """Book a part of a household expense of the open month on another envelope instead.

    Args:
        expense_id: The expense to take the part from, e.g. "exp_4711".
        envelope_id: The envelope to book the part on, e.g. "env_310"; it must hold that or be soft.
        amount: How large the part is, less than the whole.
    """
    expense = purse.open_expense(expense_id)
    forbid(expense.envelope_id == envelope_id, f"{expense_id} is on that envelope already")
    forbid(amount >= expense.amount, f"the part must be smaller than {expense.amount}")
    purse.book(expense.envelope_id, -amount)
    purse.expenses.update(expense_id, amount=expense.amount - amount)
    fields = {"place": expense.place, "spent_on": expense.spent_on, "split_from_id": expense_id}
    return purse.add_expense(envelope_id, amount, **fields)


@server.write
def move_budget_money(purse: Budget, /, source_id: str, target_id: str, amount: Amount) -> Envelope:
    """Move money from an envelope of the budget to another, or into a savings goal.

    Args:
        source_id: The envelope to take it from, e.g. "env_310"; it must hold that much.
        target_id: The envelope, e.g. "env_311", or a goal that still needs it, e.g. "gol_52".
        amount: How much.
    """
    forbid(source_id == target_id, "source and target are the same; choose two")
    source, goal = purse.book(source_id, NIL, -amount), purse.goals.get(target_id)
    if goal is None:
        purse.book(target_id, NIL, amount)
        return source
    missing = goal.target - goal.saved if goal.status == "saving" else NIL
    forbid(amount > missing, f"{goal.name} is {goal.status} and takes only {missing} more")
    reached = {"status": "reached"} if amount == missing else {}
    purse.goals.update(target_id, saved=goal.saved + amount, **reached)
    return source


@server.write(idempotent=True)
def update_envelope(
    purse: Budget, /, envelope_id: str, limit: Amount | None = None, rollover: Rule = None
) -> Envelope:
    """Change a budget envelope's monthly limit, from next month on, or the rule for its left-over.

    Args:
        envelope_id: The envelope, e.g. "env_310"; not the buffer.
        limit: What it shall get each month; the buffer's own limit gives or takes the difference.
        rollover: Whether what is left at the end of a month stays or is swept into the buffer.
    """
    held, buffer = purse.envelopes[envelope_id], purse.buffer()
    forbid(held.id == buffer.id, f"{held.name} gets what the others leave; change one of them")
    forbid(limit is None and rollover is None, f"say what to change about {held.name}")
    more = (limit or held.limit) - held.limit
    forbid(more > buffer.limit, f"only {buffer.limit} of the monthly income is not claimed yet")
    purse.envelopes.update(buffer.id, limit=buffer.limit - more)
    rule = rollover or held.rollover
    return purse.envelopes.update(envelope_id, limit=held.limit + more, rollover=rule)


@server.write
def schedule_recurring_cost(
    purse: Budget, /, envelope_id: str, amount: Amount, place: Label, first_date: date
) -> RecurringCost:
    """Let a household expense book itself on an envelope each month, on the same day of the month.

    Args:
        envelope_id: The envelope, e.g. "env_310"; not the buffer.
        amount: How much each time, at most the envelope's monthly limit.
        place: The shop or company that is paid; once per envelope.
        first_date: The first day, in the next 31 and by the 28th of its month, e.g. "2026-04-01".
    """
    held, wait = purse.envelopes[envelope_id], first_date - purse.now.date()
    forbid(held.kind == "buffer", f"{held.name} only lends; choose another envelope")
    fits = timedelta(0) < wait <= timedelta(31) and first_date.day <= 28
    forbid(not fits, "choose a first day within the next 31, but no 29th, 30th or 31st")
    forbid(amount > held.limit, f"{held.name} gets only {held.limit} a month")
    twice = purse.plans.where(envelope_id=envelope_id, place=place, status="active")
    forbid(bool(twice), f"{place} is booked on {held.name} each month already")
    fields = {"envelope_id": held.id, "envelope_name": held.name, "status": "active"}
    return purse.plans.add(amount=amount, place=place, next_date=first_date, **fields)


@server.write(destructive=True)
def stop_recurring_cost(purse: Budget, /, recurring_cost_id: str) -> RecurringCost:
    """Stop an expense from booking itself on the budget each month.

    Args:
        recurring_cost_id: The recurring cost, e.g. "cst_88"; not stopped yet.
    """
    plan = purse.plans[recurring_cost_id]
    forbid(plan.status == "stopped", f"{plan.place} is stopped already")
    return purse.plans.update(plan.id, status="stopped")
