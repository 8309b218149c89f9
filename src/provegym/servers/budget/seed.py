"""Draws a household's budget: a dozen envelopes and about three months of spending."""

from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

from provegym.kernel import Seed, money
from provegym.servers import words

from .state import ZERO, Budget, server
from .tools import move_budget_money, record_expense, schedule_recurring_cost

WORDS = words("budget")
MINUTE = timedelta(minutes=1)


@server.seed
def draw(seed: Seed) -> Budget:
    """Draw envelopes, recurring costs and goals, then simulate the months up to now."""
    budget = Budget(seed)
    chance = seed.random
    this_month = seed.now.replace(day=1, hour=0, minute=0)
    budget.now = (this_month - timedelta(days=80)).replace(day=1)
    places = _draw_envelopes(budget, chance)
    _draw_recurring_costs(budget, chance, places)
    _draw_goals(budget, seed)
    _draw_spending(budget, seed, places)
    return budget


def _draw_envelopes(budget: Budget, chance: Random) -> dict[str, list[str]]:
    """Fill eleven envelopes and a buffer, and say at which places each one is spent."""
    plan = chance.sample(list(WORDS["envelopes"].items()), 11)
    position = chance.randrange(12)
    buffer_name = chance.choice(WORDS["buffers"])
    plan.insert(position, (buffer_name, WORDS["buffer"]))
    places = {}
    for name, about in plan:
        limit = money(chance.randrange(*about["limit"]))
        rollover = chance.choice(about["rollover"])
        envelope = budget.envelopes.add(
            name=name,
            kind=about["kind"],
            rollover=rollover,
            limit=limit,
            opening=limit,
            balance=limit,
            moved=ZERO,
            spent=ZERO,
            borrowed=ZERO,
        )
        if about["places"]:
            shuffled = chance.sample(about["places"], len(about["places"]))
            places[envelope.id] = shuffled[:5]
    return places


def _draw_recurring_costs(budget: Budget, chance: Random, places: dict[str, list[str]]) -> None:
    """Let nine envelopes pay one of their places each month."""
    for envelope_id in chance.sample(list(places), 9):
        first_date = budget.now.date() + timedelta(days=chance.randint(1, 25))
        percent = chance.randint(5, 30)
        amount = money(budget.envelopes[envelope_id].limit * percent / 100)
        schedule_recurring_cost(budget, envelope_id, amount, places[envelope_id][0], first_date)


def _draw_goals(budget: Budget, seed: Seed) -> None:
    """Start to save for eight goals; some of their deadlines will have passed by now."""
    chance = seed.random
    for name in chance.sample(WORDS["goals"], 8):
        deadline = seed.now.date() + timedelta(days=chance.randrange(-40, 200))
        target = money(chance.randrange(80, 900, 5))
        budget.goals.add(name=name, target=target, saved=ZERO, deadline=deadline, status="saving")


def _draw_spending(budget: Budget, seed: Seed, places: dict[str, list[str]]) -> None:
    """Simulate the time up to now; some of the spending falls in the last three days."""
    chance = seed.random
    start = budget.now
    span = (seed.now - start) // MINUTE
    minutes = [chance.randrange(span) for _ in range(170)]
    minutes += [span - chance.randrange(4000) for _ in range(18)]
    for minute in sorted(minutes):
        _wait_until(budget, start + minute * MINUTE)
        envelope_id = chance.choice(list(places))
        _draw_expense(budget, chance, envelope_id, places[envelope_id])
    _wait_until(budget, seed.now)


def _wait_until(budget: Budget, moment: datetime) -> None:
    budget.pass_time((moment - budget.now) // MINUTE)


def _draw_expense(budget: Budget, chance: Random, envelope_id: str, places: list[str]) -> None:
    """Put something aside for a goal, or else spend an amount that the envelope can pay."""
    envelope = budget.envelopes[envelope_id]
    amount = money(Decimal(chance.randrange(300, int(envelope.limit) * 38)) / 100)
    goals = budget.goals.where(status="saving")
    if goals and envelope.balance > 60 and chance.random() < 0.25:
        goal = chance.choice(goals)
        put_aside = money(chance.randrange(15, 60))
        missing = goal.target - goal.saved
        move_budget_money(budget, envelope.id, goal.id, min(missing, put_aside))
    elif amount <= envelope.balance:
        record_expense(budget, envelope.id, amount, chance.choice(places))
