"""Draws a sales team with its customers, leads and a pipeline at every stage."""

from datetime import timedelta
from random import Random
from typing import Any, get_args

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import CLOSED, Contact, Deal, Sales, Stage, Territory, server

WORDS = words("crm")


@server.seed
def draw(seed: Seed) -> Sales:
    """Six reps; about half of the customers and leads are the user's own."""
    crm, chance, folk = Sales(seed), seed.random, people.others(seed, 57)
    home, *far = chance.sample(get_args(Territory), 4)
    team = [people.acting_user(seed), *folk[:5]]
    for at, land in chance.sample([*enumerate([home, home, home, *far])], 6):
        crm.reps.add(name=team[at].name, territory=land, is_me=at == 0, away=at == 1)
    lists = [chance.sample(WORDS[name], 26) for name in ("companies", "prospects", "products")]
    for person, other, firm, prospect, product in zip(folk[5:31], folk[31:], *lists, strict=True):
        rep = chance.choice([crm.me(), chance.choice(list(crm.reps))])
        company = crm.companies.add(name=firm, territory=rep.territory)
        owner = {"owner": rep.name, "company_name": firm}
        called = [person.name, f"{person.given[0]}. {person.family}", f"Dr {person.family}"]
        for name in chance.sample(called, chance.randint(1, 3)):
            mail = f"{name}@{firm}.example".replace(" ", "").lower()
            contact = crm.contacts.add(name=name, email=mail, company_id=company.id, **owner)
        facts = {"name": f"{product} for {firm}", "company_id": company.id, **owner}
        deal = _sell(crm, chance, {"contact_id": contact.id, **facts})
        _talk(crm, chance, contact, deal)
        status = chance.choice(WORDS["statuses"])
        who: dict[str, Any] = {"name": other.name, "email": other.email, "company_name": prospect}
        if status == "converted":
            who = {"name": name, "email": mail, "contact_id": contact.id, "deal_id": deal.id}
        budget = money(chance.randrange(20, 600) * 50) if status == "qualified" else None
        crm.leads.add(territory=rep.territory, status=status, budget=budget, **(owner | who))
    return crm


def _sell(crm: Sales, chance: Random, facts: dict[str, Any]) -> Deal:
    """A deal at some stage, and what came of its quote."""
    stage, amount = chance.choice(get_args(Stage)), money(chance.randrange(18, 900) * 50)
    closes = crm.now.date() + timedelta(days=chance.randint(2, 150))
    if stage in CLOSED:
        facts["closed_at"] = crm.now - timedelta(hours=chance.randint(20, 2_000))
        facts["close_reason"] = chance.choice(WORDS["reasons"][stage])
    deal = crm.deals.add(stage=stage, amount=amount, closes=closes, **facts)
    if status := chance.choice(WORDS["quoted"][stage]):
        minutes = chance.randint(5, WORDS["lasts"].get(status, 5))
        until = crm.now + timedelta(minutes=minutes) if status in WORDS["lasts"] else None
        percent = chance.randint(*WORDS["percents"].get(status, (0, 25)))
        crm.offer(deal, percent, status, until)
    return deal


def _talk(crm: Sales, chance: Random, contact: Contact, deal: Deal) -> None:
    """Calls, meetings and tasks; those with an open deal may still be ahead or overdue."""
    about = {"contact_id": contact.id, "contact_name": contact.name, "deal_id": deal.id}
    for day in chance.sample(range(-40, 20), 3):
        due = crm.now.date() + timedelta(days=day)
        state = {"due_on": due, "status": "planned" if day >= 0 else "overdue"}
        if deal.stage in CLOSED or (day < 0 and chance.random() < 0.6):
            done_at = crm.now - timedelta(hours=24 * abs(day) + chance.randint(1, 20))
            outcome = chance.choice(WORDS["outcomes"])
            state = {"status": "done", "done_at": done_at, "outcome": outcome}
        kind, subject = chance.choice(("call", "meeting", "task")), chance.choice(WORDS["subjects"])
        crm.activities.add(kind=kind, subject=subject, **about, **state)
