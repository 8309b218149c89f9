"""The tools of the household's budget."""

from datetime import date, timedelta

from provegym.kernel import Amount, Label, NotFound, Rejected

from .state import (
    ZERO,
    Budget,
    Envelope,
    Expense,
    MonthLine,
    RecurringCost,
    Rollover,
    SavingsGoal,
    month_of,
    server,
)


@server.read
def list_envelopes(budget: Budget, /, name: str = "") -> list[Envelope]:
    """List the household budget's envelopes with this month's balance, monthly limit and rules.

    Args:
        name: Only envelopes whose name contains this.
    """
    return [envelope for envelope in budget.envelopes if name.lower() in envelope.name.lower()]


@server.read
def search_expenses(
    budget: Budget, /, place: str = "", envelope_id: str | None = None
) -> list[Expense]:
    """Find household expenses of the open and of closed months, newest first.

    Args:
        place: Only expenses at a shop or company whose name contains this.
        envelope_id: Only expenses booked on this envelope, e.g. "env_310".
    """
    found = [expense for expense in budget.expenses if place.lower() in expense.place.lower()]
    if envelope_id is not None:
        found = [expense for expense in found if expense.envelope_id == envelope_id]
    return sorted(found, key=lambda expense: expense.spent_on, reverse=True)


@server.read
def get_budget_month(budget: Budget, /, month: str) -> list[MonthLine]:
    """Sum a budget month up by envelope: its opening, what was moved and spent, what is left.

    Args:
        month: The open month or a closed one, e.g. "2026-03".
    """
    open_month = month_of(budget.now)
    if month == open_month:
        return [budget.line(envelope, month) for envelope in budget.envelopes]
    lines = budget.lines.where(month=month)
    if not lines:
        raise NotFound(f"no budget for {month!r}; months are written like {open_month}")
    return lines


@server.read
def list_recurring_costs(budget: Budget, /, place: str = "") -> list[RecurringCost]:
    """List the household expenses that book themselves each month, stopped ones too.

    Args:
        place: Only costs at a shop or company whose name contains this.
    """
    return [plan for plan in budget.plans if place.lower() in plan.place.lower()]


@server.read
def list_savings_goals(budget: Budget, /, name: str = "") -> list[SavingsGoal]:
    """List what the household saves up for: target, saved so far, deadline.

    Args:
        name: Only goals whose name contains this.
    """
    return [goal for goal in budget.goals if name.lower() in goal.name.lower()]


@server.write
def record_expense(
    budget: Budget, /, envelope_id: str, amount: Amount, place: Label, spent_on: date | None = None
) -> Expense:
    """Book a household expense of the open month; only soft envelopes spend more than they hold.

    Args:
        envelope_id: The envelope it is paid out of, e.g. "env_310"; not the buffer.
        amount: How much was spent.
        place: The shop or company it was spent at.
        spent_on: The day, this month and not in the future, e.g. "2026-03-14"; today if left out.
    """
    today = budget.now.date()
    day = spent_on or today
    if month_of(day) != month_of(today):
        raise Rejected(f"only {month_of(today)} is open; closed months cannot be changed")
    if day > today:
        raise Rejected(f"{day} is in the future; use schedule_recurring_cost")
    return budget.add_expense(envelope_id, amount, place, day)


@server.write
def correct_expense(budget: Budget, /, expense_id: str, amount: Amount) -> Expense:
    """Correct the amount of a household expense of the open month, as its envelope allows.

    Args:
        expense_id: The expense, e.g. "exp_4711".
        amount: What it should have been.
    """
    expense = budget.open_expense(expense_id)
    if amount == expense.amount:
        raise Rejected(f"{expense_id} is booked with {amount} already")
    if amount > expense.amount:
        budget.spend(expense.envelope_id, amount - expense.amount)
    else:
        budget.unspend(expense.envelope_id, expense.amount - amount)
    return budget.expenses.update(expense_id, amount=amount)


@server.write
def split_expense(budget: Budget, /, expense_id: str, envelope_id: str, amount: Amount) -> Expense:
    """Book a part of a household expense of the open month on another envelope instead.

    Args:
        expense_id: The expense to take the part from, e.g. "exp_4711".
        envelope_id: The envelope to book the part on, e.g. "env_310"; it must hold that or be soft.
        amount: How large the part is, less than the whole.
    """
    expense = budget.open_expense(expense_id)
    if expense.envelope_id == envelope_id:
        raise Rejected(f"{expense_id} is on that envelope already")
    if amount >= expense.amount:
        raise Rejected(f"the part must be smaller than {expense.amount}")
    budget.unspend(expense.envelope_id, amount)
    budget.expenses.update(expense_id, amount=expense.amount - amount)
    return budget.add_expense(
        envelope_id, amount, expense.place, expense.spent_on, split_from_id=expense_id
    )


@server.write
def move_budget_money(
    budget: Budget, /, source_id: str, target_id: str, amount: Amount
) -> Envelope:
    """Move money from an envelope of the budget to another, or into a savings goal.

    Args:
        source_id: The envelope to take it from, e.g. "env_310"; it must hold that much.
        target_id: The envelope, e.g. "env_311", or a goal that still needs it, e.g. "gol_52".
        amount: How much.
    """
    if source_id == target_id:
        raise Rejected("source and target are the same; choose two")
    source = budget.book(source_id, moved=-amount)
    goal = budget.goals.get(target_id)
    if goal is None:
        budget.book(target_id, moved=amount)
        return source
    missing = goal.target - goal.saved if goal.status == "saving" else ZERO
    if amount > missing:
        raise Rejected(f"{goal.name} is {goal.status} and takes only {missing} more")
    status = "reached" if amount == missing else "saving"
    budget.goals.update(target_id, saved=goal.saved + amount, status=status)
    return source


@server.write(idempotent=True)
def update_envelope(
    budget: Budget,
    /,
    envelope_id: str,
    limit: Amount | None = None,
    rollover: Rollover | None = None,
) -> Envelope:
    """Change a budget envelope's monthly limit, from next month on, or the rule for its left-over.

    Args:
        envelope_id: The envelope, e.g. "env_310"; not the buffer.
        limit: What it shall get each month, enough for its recurring costs; the buffer's own limit
            gives or takes the difference.
        rollover: Whether what is left at the end of a month stays or is swept into the buffer.
    """
    envelope = budget.envelopes[envelope_id]
    buffer = budget.buffer()
    if envelope.id == buffer.id:
        raise Rejected(f"{envelope.name} gets what the others leave; change one of them")
    if limit is None and rollover is None:
        raise Rejected(f"say what to change about {envelope.name}")
    new_limit = limit or envelope.limit
    more = new_limit - envelope.limit
    if more > buffer.limit:
        raise Rejected(f"only {buffer.limit} of the monthly income is not claimed yet")
    recurring = budget.recurring(envelope.id)
    if new_limit < recurring:
        raise Rejected(
            f"{envelope.name} has recurring costs of {recurring}; stop one of them first"
        )
    budget.envelopes.update(buffer.id, limit=buffer.limit - more)
    return budget.envelopes.update(
        envelope_id, limit=new_limit, rollover=rollover or envelope.rollover
    )


@server.write
def schedule_recurring_cost(
    budget: Budget, /, envelope_id: str, amount: Amount, place: Label, first_date: date
) -> RecurringCost:
    """Let a household expense book itself on an envelope each month, on the same day of the month.

    Args:
        envelope_id: The envelope, e.g. "env_310"; not the buffer.
        amount: How much each time; with its other recurring costs, at most its monthly limit.
        place: The shop or company that is paid; once per envelope.
        first_date: The first day, in the next 31 and by the 28th of its month, e.g. "2026-04-01".
    """
    envelope = budget.envelopes[envelope_id]
    if envelope.kind == "buffer":
        raise Rejected(f"{envelope.name} only lends; choose another envelope")
    today = budget.now.date()
    is_soon = today < first_date <= today + timedelta(days=31)
    if not is_soon or first_date.day > 28:
        raise Rejected("choose a first day within the next 31, but no 29th, 30th or 31st")
    left = envelope.limit - budget.recurring(envelope.id)
    if amount > left:
        raise Rejected(
            f"{envelope.name} gets {envelope.limit} a month, of which {left} is left to plan"
        )
    plans = budget.plans.where(envelope_id=envelope_id, status="active")
    if any(plan.place.lower() == place.lower() for plan in plans):
        raise Rejected(f"{place} is booked on {envelope.name} each month already")
    return budget.plans.add(
        envelope_id=envelope_id,
        envelope_name=envelope.name,
        place=place,
        amount=amount,
        next_date=first_date,
        status="active",
    )


@server.write(destructive=True)
def stop_recurring_cost(budget: Budget, /, recurring_cost_id: str) -> RecurringCost:
    """Stop an expense from booking itself on the budget each month.

    Args:
        recurring_cost_id: The recurring cost, e.g. "cst_88"; not stopped yet.
    """
    plan = budget.plans[recurring_cost_id]
    if plan.status == "stopped":
        raise Rejected(f"{plan.place} is stopped already")
    return budget.plans.update(plan.id, status="stopped")
