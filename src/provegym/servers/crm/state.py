"""What the sales team knows, what the clock decides, and what is always true of it."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, TypeVar

from provegym.kernel import Denied, Record, Server, State, Table, forbid, money, table

Territory = Literal["north", "south", "east", "west"]
LeadStatus = Literal["new", "working", "qualified", "disqualified", "converted"]
Stage = Literal["discovery", "proposal", "negotiation", "won", "lost"]
ActivityStatus = Literal["planned", "overdue", "done", "cancelled"]
CLOSED, UNDONE, LIVE = ("won", "lost"), ("planned", "overdue"), ("pending", "approved")
OWN_DISCOUNT, TOP_DISCOUNT, MOST_DISCOUNT = 10, 25, 40
DECISION, VALIDITY = timedelta(hours=4), timedelta(days=14)


class SalesRep(Record, frozen=True):
    """Somebody who sells; one of them is the acting user."""

    id: str
    name: str
    territory: Territory
    away: bool = False
    is_me: bool = False


class Company(Record, frozen=True):
    """An organisation that buys."""

    id: str
    name: str
    territory: Territory


class Contact(Record, frozen=True):
    """A person at a company."""

    id: str
    name: str
    email: str
    company_id: str
    company_name: str
    owner: str


class Lead(Record, frozen=True):
    """Interest that may become business; a converted one points to what it became."""

    id: str
    name: str
    email: str
    company_name: str
    territory: Territory
    owner: str
    status: LeadStatus
    budget: Decimal | None = None
    contact_id: str | None = None
    deal_id: str | None = None


class Deal(Record, frozen=True):
    """A sale in the pipeline, from discovery to its close."""

    id: str
    name: str
    company_id: str
    company_name: str
    contact_id: str
    owner: str
    stage: Stage
    amount: Decimal | None = None
    closes: date | None = None
    closed_at: datetime | None = None
    close_reason: str = ""


class Quote(Record, frozen=True):
    """An offer on a deal; the manager decides on a pending one, an approved one expires."""

    id: str
    deal_id: str
    deal_name: str
    list_amount: Decimal
    discount_percent: int
    total: Decimal
    status: Literal["pending", "approved", "declined", "withdrawn", "expired", "accepted"]
    changes_at: datetime | None = None


class Activity(Record, frozen=True):
    """A call, meeting, task or note about a contact; what is done stays as it is."""

    id: str
    kind: Literal["call", "meeting", "task", "note"]
    subject: str
    contact_id: str
    contact_name: str
    status: ActivityStatus
    deal_id: str | None = None
    due_on: date | None = None
    done_at: datetime | None = None
    outcome: str = ""


Owned = TypeVar("Owned", Lead, Contact, Deal)


class Sales(State):
    """The customers of a sales team as one of its reps sees them."""

    reps: Table[SalesRep] = table(SalesRep, "rep", look_up="list_sales_reps")
    companies: Table[Company] = table(Company, "org", look_up="search_crm_contacts")
    contacts: Table[Contact] = table(Contact, "con", look_up="search_crm_contacts")
    leads: Table[Lead] = table(Lead, "lea", look_up="search_leads")
    deals: Table[Deal] = table(Deal, "dea", look_up="list_sales_deals")
    quotes: Table[Quote] = table(Quote, "quo", look_up="list_deal_quotes")
    activities: Table[Activity] = table(Activity, "sac", look_up="list_sales_activities")

    def me(self) -> SalesRep:
        """The acting user."""
        return self.reps.where(is_me=True)[0]

    def own(self, record: Owned) -> Owned:
        """A record, if the user owns it."""
        if record.owner != self.me().name:
            raise Denied(f"{record.name} belongs to {record.owner}; only they may change it")
        return record

    def open_deal(self, deal_id: str) -> Deal:
        """A deal of the user's that is not closed."""
        deal = self.own(self.deals[deal_id])
        forbid(deal.stage in CLOSED, f"{deal.name} is {deal.stage}; closed deals stay as they are")
        return deal

    def offer(self, deal: Deal, percent: int, status: str, until: datetime | None) -> Quote:
        """Write down a quote on a deal and until when its status lasts."""
        amount, about = deal.amount or money(0), {"deal_id": deal.id, "deal_name": deal.name}
        terms = {"list_amount": amount, "discount_percent": percent, "changes_at": until}
        total = money(amount * (100 - percent) / 100)
        return self.quotes.add(status=status, total=total, **terms, **about)

    def settle_quote(self, deal_id: str, status: str) -> None:
        """Say what becomes of the pending or approved quote of a deal, if there is one."""
        for quote in self.quotes.where(deal_id=deal_id):
            if quote.status in LIVE:
                self.quotes.update(quote.id, status=status, changes_at=None)

    def next_event(self) -> datetime | None:
        """A decision on a quote, its expiry, or the midnight after an activity was due."""
        moments = [quote.changes_at for quote in self.quotes if quote.changes_at]
        for day in [a.due_on for a in self.activities if a.due_on and a.status == "planned"]:
            moments.append(datetime.combine(day + timedelta(days=1), time(), UTC))
        return min(moments, default=None)

    def happen(self) -> None:
        """The manager decides, offers run out, and what was not done becomes overdue."""
        for quote in [q for q in self.quotes if q.changes_at and q.changes_at <= self.now]:
            verdict = "approved" if quote.discount_percent <= TOP_DISCOUNT else "declined"
            status = verdict if quote.status == "pending" else "expired"
            until = self.now + VALIDITY if status == "approved" else None
            self.quotes.update(quote.id, status=status, changes_at=until)
        for activity in self.activities.where(status="planned"):
            if activity.due_on and activity.due_on < self.now.date():
                self.activities.update(activity.id, status="overdue")

    def check(self) -> None:
        """Nothing hangs in the air; stages, amounts, quotes and activities fit each other."""
        assert len(self.reps.where(is_me=True)) == 1
        names = [rep.name for rep in self.reps]
        assert all(one.owner in names for one in (*self.leads, *self.contacts, *self.deals))
        for lead in self.leads:
            assert (lead.status == "converted") == ((lead.deal_id or "") in self.deals)
            assert (lead.status == "converted") == ((lead.contact_id or "") in self.contacts)
        assert all(self.companies[c.company_id].name == c.company_name for c in self.contacts)
        for deal in self.deals:
            assert self.contacts[deal.contact_id].company_id == deal.company_id
            assert (deal.stage in CLOSED) == (deal.closed_at is not None) == bool(deal.close_reason)
            assert deal.stage in ("discovery", "lost") or (deal.amount and deal.closes)
            quotes = self.quotes.where(deal_id=deal.id)
            bound = [quote for quote in quotes if quote.status in (*LIVE, "accepted")]
            assert all(quote.list_amount == deal.amount for quote in bound)
            assert len(bound) <= (deal.stage != "lost")
            assert (deal.stage == "won") == any(quote.status == "accepted" for quote in bound)
        for quote in self.quotes:
            assert quote.deal_id in self.deals
            assert quote.total == money(quote.list_amount * (100 - quote.discount_percent) / 100)
            assert (quote.status in LIVE) == (quote.changes_at is not None)
        for activity in self.activities:
            assert activity.contact_id in self.contacts
            assert (activity.status == "done") == (activity.done_at is not None)
            if activity.status in UNDONE and activity.due_on:
                assert (activity.status == "overdue") == (activity.due_on < self.now.date())
                assert not activity.deal_id or self.deals[activity.deal_id].stage not in CLOSED


about = "Leads, contacts, deals, quotes and sales activities of a team, as one sales rep sees them."
server = Server("crm", Sales, category="knowledge", about=about)
