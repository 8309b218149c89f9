"""The tools of the CRM, as one sales rep uses them."""

from datetime import date
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Amount, Label, Rejected, Sensitive
from provegym.servers import plain_name, words

from .state import (
    CLOSED,
    DECISION,
    MOST_DISCOUNT,
    OWN_DISCOUNT,
    UNDONE,
    VALIDITY,
    Activity,
    ActivityStatus,
    Contact,
    Deal,
    Lead,
    LeadStatus,
    Quote,
    Sales,
    SalesRep,
    Stage,
    Territory,
    server,
)

Percent = Annotated[int, Meta(ge=0, le=60)]
Reason = Literal["best_fit", "relationship", "price", "competitor", "no_budget", "no_decision"]
STEPS = words("crm")["steps"]
REASONS = words("crm")["reasons"]


def _is_called(record: Lead | Contact | Deal, name: str) -> bool:
    """Whether the record's own name or its company's name contains this."""
    return name.lower() in f"{record.name} {record.company_name}".lower()


@server.read
def search_leads(crm: Sales, /, name: str = "", status: LeadStatus | None = None) -> list[Lead]:
    """Find sales leads with their owner, budget and status.

    Args:
        name: Only leads whose own or company name contains this.
        status: Only leads with this status.
    """
    found = [lead for lead in crm.leads if _is_called(lead, name)]
    if status is not None:
        found = [lead for lead in found if lead.status == status]
    return found


@server.read
def search_crm_contacts(crm: Sales, /, name: str = "") -> list[Contact]:
    """Find customers' contact persons in the CRM with their company and owner.

    Args:
        name: Only contacts whose own or company name contains this.
    """
    return [contact for contact in crm.contacts if _is_called(contact, name)]


@server.read
def list_sales_deals(crm: Sales, /, name: str = "", stage: Stage | None = None) -> list[Deal]:
    """List the deals of the sales pipeline with stage, amount and owner.

    Args:
        name: Only deals whose own or company name contains this.
        stage: Only deals at this stage.
    """
    found = [deal for deal in crm.deals if _is_called(deal, name)]
    if stage is not None:
        found = [deal for deal in found if deal.stage == stage]
    return found


@server.read
def list_deal_quotes(crm: Sales, /, deal_id: str) -> list[Quote]:
    """List the quotes made on a sales deal and what became of them, the newest last.

    Args:
        deal_id: The deal, e.g. "dea_310".
    """
    deal = crm.deals[deal_id]
    return crm.quotes.where(deal_id=deal.id)


@server.read
def list_sales_activities(
    crm: Sales, /, contact_id: str, status: ActivityStatus | None = None
) -> list[Activity]:
    """List sales calls, meetings, tasks and notes about a contact, done and planned ones.

    Args:
        contact_id: The contact, e.g. "con_52".
        status: Only activities with this status.
    """
    contact = crm.contacts[contact_id]
    if status is None:
        return crm.activities.where(contact_id=contact.id)
    return crm.activities.where(contact_id=contact.id, status=status)


@server.read
def list_sales_reps(crm: Sales, /, name: str = "") -> list[SalesRep]:
    """List the sales team: territories, who is away, and which of them the user is.

    Args:
        name: Only reps whose name contains this.
    """
    return [rep for rep in crm.reps if name.lower() in rep.name.lower()]


@server.write
def create_lead(
    crm: Sales, /, name: Label, email: Sensitive[str], company: Label, territory: Territory
) -> Lead:
    """Put a new lead into the CRM; one outside the user's territory goes to a rep there.

    Args:
        name: The person who is interested.
        email: Their email address, e.g. "ines.falk@mail.example"; new among the leads.
        company: The company they work for.
        territory: Where that company is.
    """
    email = email.strip().lower()
    if "@" not in email.strip("@"):
        raise Rejected(f"{email!r} is no mail address; ask for it again")
    known = crm.leads.where(email=email)
    if known:
        raise Rejected(f"that address belongs to the lead {known[0].name} already")
    known_company = crm.company(company)
    if known_company and known_company.territory != territory:
        raise Rejected(f"{known_company.name} is in the {known_company.territory}; say so")
    owner = crm.me()
    if owner.territory != territory:
        local_reps = crm.reps.where(territory=territory, away=False)
        if local_reps:
            owner = local_reps[0]
    return crm.leads.add(
        name=name,
        email=email,
        company_name=company,
        territory=territory,
        owner=owner.name,
        status="new",
    )


@server.write
def update_lead(
    crm: Sales,
    /,
    lead_id: str,
    status: Literal["working", "qualified", "disqualified"],
    budget: Amount | None = None,
) -> Lead:
    """Move the user's own sales lead on, from new over working to qualified, or disqualify it.

    Args:
        lead_id: The lead, e.g. "lea_88"; a converted one stays as it is.
        status: Its next status; a qualified lead must have a budget.
        budget: What they can spend, once that is known.
    """
    lead = crm.own(crm.leads[lead_id])
    steps = STEPS[lead.status]
    if status not in steps:
        raise Rejected(f"{lead.name} is {lead.status}; next can be: {', '.join(steps)}")
    budget = budget or lead.budget
    if status == "qualified" and not budget:
        raise Rejected("give the budget; qualified leads have one")
    return crm.leads.update(lead_id, status=status, budget=budget)


@server.write
def convert_lead(crm: Sales, /, lead_id: str, deal_name: Label) -> Lead:
    """Turn the user's own qualified lead into a sales deal, with its contact and company if new.

    Args:
        lead_id: The lead, e.g. "lea_88".
        deal_name: What to call the deal; new among all deals.
    """
    lead = crm.own(crm.leads[lead_id])
    if lead.status != "qualified":
        raise Rejected(f"{lead.name} is {lead.status}; qualify the lead first")
    if any(plain_name(deal.name) == plain_name(deal_name) for deal in crm.deals):
        raise Rejected(f"a deal is already called {deal_name}; choose another name")
    contact = crm.contact_of(lead)
    deal = crm.deals.add(
        name=deal_name,
        company_id=contact.company_id,
        company_name=contact.company_name,
        contact_id=contact.id,
        owner=lead.owner,
        stage="discovery",
        amount=lead.budget,
    )
    return crm.leads.update(lead_id, status="converted", contact_id=contact.id, deal_id=deal.id)


@server.write
def update_deal(
    crm: Sales,
    /,
    deal_id: str,
    stage: Literal["discovery", "proposal", "negotiation"] | None = None,
    amount: Amount | None = None,
    closes: date | None = None,
) -> Deal:
    """Change stage, amount or closing day of the user's own open sales deal, one stage at a time.

    Args:
        deal_id: The deal, e.g. "dea_310".
        stage: Next stage; proposal needs amount and closing day, negotiation an approved quote;
            back in discovery, the present quote is withdrawn.
        amount: What it is worth before discounts; a new one withdraws the present quote.
        closes: Day it should close, within a year, e.g. "2026-05-31".
    """
    deal = crm.open_deal(deal_id)
    if not (stage or amount or closes):
        raise Rejected("say what to change: stage, amount or closing day")
    steps = STEPS[deal.stage]
    if stage and stage not in steps:
        raise Rejected(f"{deal.name} can only move to {' or '.join(steps)}")
    if closes:
        crm.require_soon(closes)
    if stage == "discovery" or (amount and amount != deal.amount):
        crm.settle_quote(deal_id, "withdrawn")
    amount = amount or deal.amount
    closes = closes or deal.closes
    if stage == "proposal" and not (amount and closes):
        raise Rejected("give amount and closing day as well")
    approved = crm.quotes.where(deal_id=deal_id, status="approved")
    if stage == "negotiation" and not approved:
        raise Rejected("a negotiation needs an approved quote")
    return crm.deals.update(deal_id, stage=stage or deal.stage, amount=amount, closes=closes)


@server.write
def create_deal_quote(crm: Sales, /, deal_id: str, discount_percent: Percent) -> Quote:
    """Quote on the user's own sales deal in proposal or negotiation; not while one is pending.

    Args:
        deal_id: The deal, e.g. "dea_310"; an approved quote of it is withdrawn.
        discount_percent: Up to 10 is approved at once, up to 40 the manager decides in 4 hours.
    """
    deal = crm.open_deal(deal_id)
    if deal.stage == "discovery":
        raise Rejected(f"{deal.name} is in discovery; move it to proposal first")
    if crm.quotes.where(deal_id=deal_id, status="pending"):
        raise Rejected("a quote is still pending; wait")
    if discount_percent > MOST_DISCOUNT:
        raise Rejected(f"nobody may give more than {MOST_DISCOUNT} percent off")
    crm.settle_quote(deal_id, "withdrawn")
    if discount_percent <= OWN_DISCOUNT:
        return crm.offer(deal, discount_percent, "approved", crm.now + VALIDITY)
    return crm.offer(deal, discount_percent, "pending", crm.now + DECISION)


@server.write
def close_deal(
    crm: Sales, /, deal_id: str, outcome: Literal["won", "lost"], reason: Reason
) -> Deal:
    """Close the user's own sales deal for good; its quote is settled, its activities cancelled.

    Args:
        deal_id: The deal, e.g. "dea_310"; to be won it needs an approved quote in negotiation.
        outcome: How it ended.
        reason: Why, fitting the outcome; the price may be a reason for both.
    """
    deal = crm.open_deal(deal_id)
    reasons = REASONS[outcome]
    if reason not in reasons:
        raise Rejected(f"a deal is {outcome} for one of: {', '.join(reasons)}")
    approved = crm.quotes.where(deal_id=deal_id, status="approved")
    is_ready = deal.stage == "negotiation" and approved
    if outcome == "won" and not is_ready:
        raise Rejected(f"{deal.name} has no approved quote in negotiation")
    crm.settle_quote(deal_id, "accepted" if outcome == "won" else "withdrawn")
    for activity in crm.activities.where(deal_id=deal_id):
        if activity.status in UNDONE:
            crm.activities.update(activity.id, status="cancelled")
    return crm.deals.update(deal_id, stage=outcome, closed_at=crm.now, close_reason=reason)


@server.write
def reassign_deal(crm: Sales, /, deal_id: str, sales_rep_id: str) -> Deal:
    """Hand the user's own open sales deal and its contact to a rep of the company's territory.

    Args:
        deal_id: The deal, e.g. "dea_310"; other open deals with that contact go along, and none
            of them may have a pending quote.
        sales_rep_id: Who takes over, e.g. "rep_12"; nobody who is away.
    """
    deal = crm.open_deal(deal_id)
    rep = crm.reps[sales_rep_id]
    territory = crm.companies[deal.company_id].territory
    if rep.is_me:
        raise Rejected(f"{deal.name} is yours already")
    if rep.away:
        raise Rejected(f"{rep.name} is away; choose another rep")
    if rep.territory != territory:
        raise Rejected(f"{deal.company_name} is {territory}; {rep.name} is not")
    crm.contacts.update(deal.contact_id, owner=rep.name)
    for other in crm.deals.where(contact_id=deal.contact_id):
        if crm.quotes.where(deal_id=other.id, status="pending"):
            raise Rejected(f"a quote on {other.name} is still pending; wait")
        if other.stage not in CLOSED:
            crm.deals.update(other.id, owner=rep.name)
    return crm.deals[deal_id]


@server.write
def log_sales_activity(
    crm: Sales,
    /,
    contact_id: str,
    kind: Literal["call", "meeting", "task", "note"],
    subject: Label,
    due_on: date | None = None,
) -> Activity:
    """Log what was done with the user's own sales contact, or plan it for a day.

    Args:
        contact_id: The contact, e.g. "con_52".
        kind: What it is; a note cannot be planned.
        subject: What it is about.
        due_on: Day it is planned for, within a year, e.g. "2026-05-31"; if left out, it is done.
    """
    contact = crm.own(crm.contacts[contact_id])
    if due_on and kind == "note":
        raise Rejected("a note has no due day; leave it out")
    if due_on:
        crm.require_soon(due_on)
    deals = crm.deals.where(contact_id=contact_id)
    open_deals = [deal.id for deal in deals if deal.stage not in CLOSED]
    return crm.activities.add(
        kind=kind,
        subject=subject,
        contact_id=contact_id,
        contact_name=contact.name,
        status="planned" if due_on else "done",
        deal_id=open_deals[0] if open_deals else None,
        due_on=due_on,
        done_at=None if due_on else crm.now,
    )


@server.write
def complete_sales_activity(crm: Sales, /, activity_id: str, outcome: Label) -> Activity:
    """Mark a planned or overdue sales activity with the user's own contact as done, for good.

    Args:
        activity_id: The activity, e.g. "sac_901".
        outcome: What came of it.
    """
    activity = crm.activities[activity_id]
    crm.own(crm.contacts[activity.contact_id])
    if activity.status not in UNDONE:
        raise Rejected(f"{activity.subject} is {activity.status} already")
    return crm.activities.update(activity_id, status="done", done_at=crm.now, outcome=outcome)


@server.write(destructive=True)
def merge_crm_contacts(crm: Sales, /, contact_id: str, duplicate_id: str) -> Contact:
    """Merge two of the user's own CRM contacts at one company; deals and activities go along.

    Args:
        contact_id: The contact to keep, e.g. "con_52".
        duplicate_id: The contact to give up, e.g. "con_53".
    """
    kept = crm.own(crm.contacts[contact_id])
    duplicate = crm.own(crm.contacts[duplicate_id])
    if kept.id == duplicate.id:
        raise Rejected("that is one and the same contact; choose two")
    if kept.company_id != duplicate.company_id:
        raise Rejected("they work for different companies")
    for deal in crm.deals.where(contact_id=duplicate.id):
        crm.deals.update(deal.id, contact_id=kept.id)
    for lead in crm.leads.where(contact_id=duplicate.id):
        crm.leads.update(lead.id, contact_id=kept.id)
    for activity in crm.activities.where(contact_id=duplicate.id):
        crm.activities.update(activity.id, contact_id=kept.id, contact_name=kept.name)
    crm.contacts.remove(duplicate.id)
    return kept
