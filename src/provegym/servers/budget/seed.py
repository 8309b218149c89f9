"""Draws a household with a dozen envelopes and lives through a season of its spending."""

from datetime import timedelta
from decimal import Decimal

from provegym.kernel import Seed, money
from provegym.servers import words

from .state import NIL, Budget, server
from .tools import move_budget_money, record_expense, schedule_recurring_cost

WORDS, MINUTE = words("budget"), timedelta(minutes=1)
NOTHING_YET = {"moved": NIL, "spent": NIL, "borrowed": NIL}


@server.seed
def draw(seed: Seed) -> Budget:
    """Envelopes, goals and recurring costs, then what was spent day by day up to now."""
    purse, chance, shops = Budget(seed), seed.random, {}
    start = (seed.now.replace(day=1, hour=0, minute=0) - timedelta(days=80)).replace(day=1)
    purse.now, span = start, (seed.now - start) // MINUTE
    plan = chance.sample(list(WORDS["envelopes"].items()), 11)
    plan.insert(chance.randrange(12), (chance.choice(WORDS["buffers"]), WORDS["buffer"]))
    for name, about in plan:
        limit, rule = money(chance.randrange(*about["limit"])), chance.choice(about["rollover"])
        sums = dict.fromkeys(("limit", "opening", "balance"), limit) | NOTHING_YET
        held = purse.envelopes.add(name=name, kind=about["kind"], rollover=rule, **sums)
        shops[held.id] = chance.sample(about["places"], len(about["places"]))[:5]
    spendable = [key for key, places in shops.items() if places]
    for key in chance.sample(spendable, 9):
        first, place = start.date() + timedelta(days=chance.randint(1, 25)), shops[key][0]
        amount = money(purse.envelopes[key].limit * chance.randint(5, 30) / 100)
        schedule_recurring_cost(purse, key, amount, place, first)
    for name in chance.sample(WORDS["goals"], 8):
        deadline = seed.now.date() + timedelta(days=chance.randrange(-40, 200))
        fields = {"target": money(chance.randrange(80, 900, 5)), "saved": NIL, "status": "saving"}
        purse.goals.add(name=name, deadline=deadline, **fields)
    moments = [chance.randrange(span) for _ in range(170)]
    for moment in sorted(moments + [span - chance.randrange(4000) for _ in range(18)]):
        purse.pass_time(moment - (purse.now - start) // MINUTE)
        held, goals = purse.envelopes[chance.choice(spendable)], purse.goals.where(status="saving")
        amount = money(Decimal(chance.randrange(300, int(held.limit) * 38)) / 100)
        if goals and held.balance > 60 and chance.random() < 0.25:
            goal, most = chance.choice(goals), money(chance.randrange(15, 60))
            move_budget_money(purse, held.id, goal.id, min(goal.target - goal.saved, most))
        elif amount <= held.balance:
            record_expense(purse, held.id, amount, chance.choice(shops[held.id]))
    purse.pass_time(span - (purse.now - start) // MINUTE)
    return purse
