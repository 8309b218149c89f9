"""Draws a sales team with its customers, leads and deals at every stage."""

from datetime import date, timedelta
from random import Random
from typing import get_args

from provegym.kernel import Seed, money
from provegym.servers import people, words

from .state import CLOSED, Company, Contact, Deal, Sales, SalesRep, Stage, Territory, server

WORDS = words("crm")
COMPANIES = 26


@server.seed
def draw(seed: Seed) -> Sales:
    """Draw six reps and 26 companies, each with contacts, a deal, activities and a lead."""
    crm = Sales(seed)
    chance = seed.random
    others = people.others(seed, 5 + 2 * COMPANIES)
    _draw_reps(crm, seed, others[:5])
    buyers = others[5 : 5 + COMPANIES]
    prospects = others[5 + COMPANIES :]
    company_names = chance.sample(WORDS["companies"], COMPANIES)
    prospect_names = chance.sample(WORDS["prospects"], COMPANIES)
    products = chance.sample(WORDS["products"], COMPANIES)
    for number in range(COMPANIES):
        # More than half of the companies are the user's own customers.
        any_rep = chance.choice(list(crm.reps))
        owner = chance.choice([crm.me(), any_rep])
        company = crm.companies.add(name=company_names[number], territory=owner.territory)
        contact = _draw_contacts(crm, chance, company, owner, buyers[number])
        deal = _draw_deal(crm, chance, contact, products[number])
        _draw_quote(crm, chance, deal)
        _draw_activities(crm, chance, contact, deal)
        _draw_lead(crm, chance, deal, prospects[number], prospect_names[number])
    return crm


def _draw_reps(crm: Sales, seed: Seed, colleagues: list[people.Person]) -> None:
    """Add the user and five colleagues: two in the user's territory, one in each of the others."""
    home, *abroad = seed.random.sample(get_args(Territory), 4)
    user = people.acting_user(seed)
    away = colleagues[0]
    team = list(zip([user, *colleagues], [home, home, home, *abroad], strict=True))
    for person, territory in seed.random.sample(team, len(team)):
        crm.reps.add(
            name=person.name, territory=territory, is_me=person == user, away=person == away
        )


def _draw_contacts(
    crm: Sales, chance: Random, company: Company, owner: SalesRep, person: people.Person
) -> Contact:
    """Add one to three entries for the same person and return the last; they can be merged."""
    spellings = [person.name, f"{person.given[0]}. {person.family}", f"Dr {person.family}"]
    count = chance.randint(1, 3)
    for name in chance.sample(spellings, count):
        contact = crm.contacts.add(
            name=name,
            email=f"{name}@{company.name}.example".replace(" ", "").lower(),
            company_id=company.id,
            company_name=company.name,
            owner=owner.name,
        )
    return contact


def _draw_deal(crm: Sales, chance: Random, contact: Contact, product: str) -> Deal:
    """Add a deal at some stage."""
    stage = chance.choice(get_args(Stage))
    amount = money(chance.randrange(18, 900) * 50)
    closes = crm.now.date() + timedelta(days=chance.randint(2, 150))
    closed_at = None
    close_reason = ""
    if stage in CLOSED:
        closed_at = crm.now - timedelta(hours=chance.randint(20, 2_000))
        close_reason = chance.choice(WORDS["reasons"][stage])
    return crm.deals.add(
        name=f"{product} for {contact.company_name}",
        company_id=contact.company_id,
        company_name=contact.company_name,
        contact_id=contact.id,
        owner=contact.owner,
        stage=stage,
        amount=amount,
        closes=closes,
        closed_at=closed_at,
        close_reason=close_reason,
    )


def _draw_quote(crm: Sales, chance: Random, deal: Deal) -> None:
    """Add a quote that fits the stage of the deal; there is none in discovery."""
    status = chance.choice(WORDS["quoted"][deal.stage])
    if not status:
        return
    most_minutes = WORDS["lasts"].get(status)
    minutes = chance.randint(5, most_minutes or 5)
    until = crm.now + timedelta(minutes=minutes) if most_minutes else None
    least, most = WORDS["percents"].get(status, (0, 25))
    crm.offer(deal, chance.randint(least, most), status, until)


def _draw_activities(crm: Sales, chance: Random, contact: Contact, deal: Deal) -> None:
    """Add three calls, meetings or tasks; with an open deal they may be planned or overdue."""
    for day in chance.sample(range(-40, 20), 3):
        due_on: date | None = crm.now.date() + timedelta(days=day)
        status = "planned" if day >= 0 else "overdue"
        done_at = None
        outcome = ""
        if deal.stage in CLOSED or (day < 0 and chance.random() < 0.6):
            due_on = None
            status = "done"
            done_at = crm.now - timedelta(hours=24 * abs(day) + chance.randint(1, 20))
            outcome = chance.choice(WORDS["outcomes"])
        kind = chance.choice(("call", "meeting", "task"))
        subject = chance.choice(WORDS["subjects"])
        crm.activities.add(
            kind=kind,
            subject=subject,
            contact_id=contact.id,
            contact_name=contact.name,
            status=status,
            deal_id=deal.id,
            due_on=due_on,
            done_at=done_at,
            outcome=outcome,
        )


def _draw_lead(
    crm: Sales, chance: Random, deal: Deal, prospect: people.Person, company_name: str
) -> None:
    """Add a lead at a company that has bought nothing yet, or the lead that became the deal."""
    territory = crm.companies[deal.company_id].territory
    status = chance.choice(WORDS["statuses"])
    if status == "converted":
        contact = crm.contacts[deal.contact_id]
        crm.leads.add(
            name=contact.name,
            email=contact.email,
            company_name=contact.company_name,
            territory=territory,
            owner=deal.owner,
            status=status,
            contact_id=contact.id,
            deal_id=deal.id,
        )
        return
    budget = None
    if status == "qualified":
        budget = money(chance.randrange(20, 600) * 50)
    crm.leads.add(
        name=prospect.name,
        email=prospect.email,
        company_name=company_name,
        territory=territory,
        owner=deal.owner,
        status=status,
        budget=budget,
    )
