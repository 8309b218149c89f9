"""What a sales rep can look up and do."""

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Amount, Label, Sensitive, forbid
from provegym.servers import words

from . import state
from .state import Activity, Contact, Deal, Lead, LeadStatus, Quote, Sales, Stage, server

Percent = Annotated[int, Meta(ge=0, le=60)]
Kind = Literal["call", "meeting", "task", "note"]
Outcome = Literal["won", "lost"]
Reason = Literal["best_fit", "relationship", "price", "competitor", "no_budget", "no_decision"]
LeadStep = Literal["working", "qualified", "disqualified"]
DealStep = Literal["discovery", "proposal", "negotiation"] | None
Status = state.ActivityStatus | None
Value = Amount | None
Day = date | None
STEPS, REASONS = words("crm")["steps"], words("crm")["reasons"]


@server.read
def search_leads(crm: Sales, /, name: str = "", status: LeadStatus | None = None) -> list[Lead]:
    """Find sales leads with their owner, budget and status.

    Args:
        name: Only leads whose own or company name contains this.
        status: Only leads with this status.
    """
    found = [o for o in crm.leads if name.lower() in f"{o.name} {o.company_name}".lower()]
    return [lead for lead in found if status in (None, lead.status)]


@server.read
def search_crm_contacts(crm: Sales, /, name: str = "") -> list[Contact]:
    """Find customers' contact persons in the CRM with their company and owner.

    Args:
        name: Only contacts whose own or company name contains this.
    """
    return [c for c in crm.contacts if name.lower() in f"{c.name} {c.company_name}".lower()]


@server.read
def list_sales_deals(crm: Sales, /, name: str = "", stage: Stage | None = None) -> list[Deal]:
    """List the deals of the sales pipeline with stage, amount and owner.

    Args:
        name: Only deals whose own or company name contains this.
        stage: Only deals at this stage.
    """
    found = [d for d in crm.deals if name.lower() in f"{d.name} {d.company_name}".lower()]
    return [deal for deal in found if stage in (None, deal.stage)]


@server.read
def list_deal_quotes(crm: Sales, /, deal_id: str) -> list[Quote]:
    """List the quotes made on a sales deal and what became of them, the newest last.

    Args:
        deal_id: The deal, e.g. "dea_310".
    """
    return crm.quotes.where(deal_id=crm.deals[deal_id].id)


@server.read
def list_sales_activities(crm: Sales, /, contact_id: str, status: Status = None) -> list[Activity]:
    """List sales calls, meetings, tasks and notes about a contact, done and planned ones.

    Args:
        contact_id: The contact, e.g. "con_52".
        status: Only activities with this status.
    """
    found = crm.activities.where(contact_id=crm.contacts[contact_id].id)
    return [activity for activity in found if status in (None, activity.status)]


@server.read
def list_sales_reps(crm: Sales, /, name: str = "") -> list[state.SalesRep]:
    """List the sales team: territories, who is away, and which of them the user is.

    Args:
        name: Only reps whose name contains this.
    """
    return [rep for rep in crm.reps if name.lower() in rep.name.lower()]


@server.write
def create_lead(
    crm: Sales, /, name: Label, email: Sensitive[str], company: Label, territory: state.Territory
) -> Lead:
    """Put a new lead into the CRM; one outside the user's territory goes to a rep there.

    Args:
        name: The person who is interested.
        email: Their email address, e.g. "ines.falk@mail.example"; new among the leads.
        company: The company they work for.
        territory: Where that company is.
    """
    email, me = email.strip().lower(), crm.me()
    forbid("@" not in email.strip("@"), f"{email!r} is no mail address; ask for it again")
    for lead in crm.leads:
        forbid(lead.email == email, f"that address belongs to the lead {lead.name} already")
    reps = [rep for rep in [me, *crm.reps.where(away=False)] if rep.territory == territory]
    owner = (reps or [me])[0].name
    facts = {"company_name": company, "territory": territory, "status": "new"}
    return crm.leads.add(name=name, email=email, owner=owner, **facts)


@server.write
def update_lead(crm: Sales, /, lead_id: str, status: LeadStep, budget: Value = None) -> Lead:
    """Move the user's own sales lead on, from new over working to qualified, or disqualify it.

    Args:
        lead_id: The lead, e.g. "lea_88"; a converted one stays as it is.
        status: Its next status; a qualified lead must have a budget.
        budget: What they can spend, once that is known.
    """
    lead = crm.own(crm.leads[lead_id])
    steps, budget = STEPS[lead.status], budget or lead.budget
    forbid(status not in steps, f"{lead.name} is {lead.status}; next can be: {', '.join(steps)}")
    forbid(status == "qualified" and not budget, "give the budget; qualified leads have one")
    return crm.leads.update(lead_id, status=status, budget=budget)


@server.write
def convert_lead(crm: Sales, /, lead_id: str, deal_name: Label) -> Lead:
    """Turn the user's own qualified lead into a sales deal, with its contact and company if new.

    Args:
        lead_id: The lead, e.g. "lea_88".
        deal_name: What to call the deal; new among all deals.
    """
    lead = crm.own(crm.leads[lead_id])
    forbid(lead.status != "qualified", f"{lead.name} is {lead.status}; qualify the lead first")
    taken = any(deal.name.lower() == deal_name.lower() for deal in crm.deals)
    forbid(taken, f"a deal is already called {deal_name}; choose another name")
    known = [c for c in crm.companies if c.name.lower() == lead.company_name.lower()]
    company = (known or [crm.companies.add(name=lead.company_name, territory=lead.territory)])[0]
    facts = {"owner": lead.owner, "company_id": company.id, "company_name": company.name}
    met = crm.contacts.where(email=lead.email, company_id=company.id)
    contact = (met or [crm.contacts.add(name=lead.name, email=lead.email, **facts)])[0]
    sale = {"name": deal_name, "contact_id": contact.id, "amount": lead.budget}
    deal = crm.deals.add(stage="discovery", **sale, **facts)
    return crm.leads.update(lead_id, status="converted", contact_id=contact.id, deal_id=deal.id)


@server.write
def update_deal(
    crm: Sales, /, deal_id: str, stage: DealStep = None, amount: Value = None, closes: Day = None
) -> Deal:
    """Change stage, amount or closing day of the user's own open sales deal, one stage at a time.

    Args:
        deal_id: The deal, e.g. "dea_310".
        stage: Next stage; proposal needs amount and closing day, negotiation an approved quote.
        amount: What it is worth before discounts; a new one withdraws the present quote.
        closes: Day it should close, within a year, e.g. "2026-05-31".
    """
    deal, today = crm.open_deal(deal_id), crm.now.date()
    forbid(not (stage or amount or closes), "say what to change: stage, amount or closing day")
    steps = STEPS[deal.stage]
    forbid(stage and stage not in steps, f"{deal.name} can only move to {' or '.join(steps)}")
    forbid(closes and not 0 <= (closes - today).days <= 366, "choose a day within the coming year")
    if amount and amount != deal.amount:
        crm.settle_quote(deal_id, "withdrawn")
    amount, closes = amount or deal.amount, closes or deal.closes
    forbid(stage == "proposal" and not (amount and closes), "give amount and closing day as well")
    approved = crm.quotes.where(deal_id=deal_id, status="approved")
    forbid(stage == "negotiation" and not approved, "a negotiation needs an approved quote")
    return crm.deals.update(deal_id, stage=stage or deal.stage, amount=amount, closes=closes)


@server.write
def create_deal_quote(crm: Sales, /, deal_id: str, discount_percent: Percent) -> Quote:
    """Quote on the user's own sales deal in proposal or negotiation; not while one is pending.

    Args:
        deal_id: The deal, e.g. "dea_310"; an approved quote of it is withdrawn.
        discount_percent: Up to 10 is approved at once, up to 40 the manager decides in 4 hours.
    """
    deal, most = crm.open_deal(deal_id), state.MOST_DISCOUNT
    forbid(deal.stage == "discovery", f"{deal.name} is in discovery; move it to proposal first")
    forbid(crm.quotes.where(deal_id=deal_id, status="pending"), "a quote is still pending; wait")
    forbid(discount_percent > most, f"nobody may give more than {most} percent off")
    crm.settle_quote(deal_id, "withdrawn")
    if discount_percent <= state.OWN_DISCOUNT:
        return crm.offer(deal, discount_percent, "approved", crm.now + state.VALIDITY)
    return crm.offer(deal, discount_percent, "pending", crm.now + state.DECISION)


@server.write
def close_deal(crm: Sales, /, deal_id: str, outcome: Outcome, reason: Reason) -> Deal:
    """Close the user's own sales deal for good; its quote is settled, its activities cancelled.

    Args:
        deal_id: The deal, e.g. "dea_310"; to be won it needs an approved quote in negotiation.
        outcome: How it ended.
        reason: Why, fitting the outcome; the price may be a reason for both.
    """
    deal, won, reasons = crm.open_deal(deal_id), outcome == "won", REASONS[outcome]
    forbid(reason not in reasons, f"a deal is {outcome} for one of: {', '.join(reasons)}")
    ready = deal.stage == "negotiation" and crm.quotes.where(deal_id=deal_id, status="approved")
    forbid(won and not ready, f"{deal.name} has no approved quote in negotiation")
    crm.settle_quote(deal_id, "accepted" if won else "withdrawn")
    for activity in crm.activities.where(deal_id=deal_id):
        if activity.status in state.UNDONE:
            crm.activities.update(activity.id, status="cancelled")
    return crm.deals.update(deal_id, stage=outcome, closed_at=crm.now, close_reason=reason)


@server.write
def reassign_deal(crm: Sales, /, deal_id: str, sales_rep_id: str) -> Deal:
    """Hand the user's own open sales deal and its contact to a rep of the company's territory.

    Args:
        deal_id: The deal, e.g. "dea_310"; not while a quote of it is pending.
        sales_rep_id: Who takes over, e.g. "rep_12"; nobody who is away.
    """
    deal, rep = crm.open_deal(deal_id), crm.reps[sales_rep_id]
    territory = crm.companies[deal.company_id].territory
    forbid(rep.is_me, f"{deal.name} is yours already")
    forbid(rep.away, f"{rep.name} is away; choose another rep")
    forbid(rep.territory != territory, f"{deal.company_name} is {territory}; {rep.name} is not")
    forbid(crm.quotes.where(deal_id=deal_id, status="pending"), "a quote is still pending; wait")
    crm.contacts.update(deal.contact_id, owner=rep.name)
    return crm.deals.update(deal_id, owner=rep.name)


@server.write
def log_sales_activity(
    crm: Sales, /, contact_id: str, kind: Kind, subject: Label, due_on: Day = None
) -> Activity:
    """Log what was done with the user's own sales contact, or plan it for a day.

    Args:
        contact_id: The contact, e.g. "con_52".
        kind: What it is; a note cannot be planned.
        subject: What it is about.
        due_on: Day it is planned for, within a year, e.g. "2026-05-31"; if left out, it is done.
    """
    contact, today = crm.own(crm.contacts[contact_id]), crm.now.date()
    forbid(due_on and kind == "note", "a note has no due day; leave it out")
    forbid(due_on and not 0 <= (due_on - today).days <= 366, "choose a day within the coming year")
    deals = [d.id for d in crm.deals.where(contact_id=contact_id) if d.stage not in state.CLOSED]
    facts = {"contact_id": contact_id, "contact_name": contact.name, "due_on": due_on}
    facts |= {"status": "planned"} if due_on else {"status": "done", "done_at": crm.now}
    return crm.activities.add(kind=kind, subject=subject, deal_id=next(iter(deals), None), **facts)


@server.write
def complete_sales_activity(crm: Sales, /, activity_id: str, outcome: Label) -> Activity:
    """Mark a planned or overdue sales activity with the user's own contact as done, for good.

    Args:
        activity_id: The activity, e.g. "sac_901".
        outcome: What came of it.
    """
    activity = crm.activities[activity_id]
    crm.own(crm.contacts[activity.contact_id])
    forbid(activity.status not in state.UNDONE, f"{activity.subject} is {activity.status} already")
    return crm.activities.update(activity_id, status="done", done_at=crm.now, outcome=outcome)


@server.write(destructive=True)
def merge_crm_contacts(crm: Sales, /, contact_id: str, duplicate_id: str) -> Contact:
    """Merge two of the user's own CRM contacts at one company; deals and activities go along.

    Args:
        contact_id: The contact to keep, e.g. "con_52".
        duplicate_id: The contact to give up, e.g. "con_53".
    """
    kept, double = crm.own(crm.contacts[contact_id]), crm.own(crm.contacts[duplicate_id])
    forbid(kept.id == double.id, "that is one and the same contact; choose two")
    forbid(kept.company_id != double.company_id, "they work for different companies")
    for deal in crm.deals.where(contact_id=double.id):
        crm.deals.update(deal.id, contact_id=kept.id)
    for lead in crm.leads.where(contact_id=double.id):
        crm.leads.update(lead.id, contact_id=kept.id)
    for activity in crm.activities.where(contact_id=double.id):
        crm.activities.update(activity.id, contact_id=kept.id, contact_name=kept.name)
    crm.contacts.remove(double.id)
    return kept
