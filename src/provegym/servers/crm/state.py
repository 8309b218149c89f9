"""The records of the sales team, decisions on quotes, overdue activities, invariants."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, TypeVar

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, money, table
from provegym.servers import plain_name

Territory = Literal["north", "south", "east", "west"]
LeadStatus = Literal["new", "working", "qualified", "disqualified", "converted"]
Stage = Literal["discovery", "proposal", "negotiation", "won", "lost"]
ActivityStatus = Literal["planned", "overdue", "done", "cancelled"]
CLOSED = ("won", "lost")
UNDONE = ("planned", "overdue")
LIVE = ("pending", "approved")
# Discounts in percent: what a rep may give alone, what the manager approves, what may be asked for.
OWN_DISCOUNT = 10
TOP_DISCOUNT = 25
MOST_DISCOUNT = 40
# How long the manager takes to decide on a quote, and how long an approved one is valid.
DECISION = timedelta(hours=4)
VALIDITY = timedelta(days=14)


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

    def company(self, name: str) -> Company | None:
        """The company of this name, if it is known; case and extra blanks do not count."""
        wanted = plain_name(name)
        return next((known for known in self.companies if plain_name(known.name) == wanted), None)

    def contact_of(self, lead: Lead) -> Contact:
        """The contact that a lead is, added with its company if new; it must be the user's own."""
        company = self.company(lead.company_name)
        if company is None:
            company = self.companies.add(name=lead.company_name, territory=lead.territory)
        known = self.contacts.where(email=lead.email, company_id=company.id)
        if known:
            return self.own(known[0])
        return self.contacts.add(
            name=lead.name,
            email=lead.email,
            company_id=company.id,
            company_name=company.name,
            owner=lead.owner,
        )

    def open_deal(self, deal_id: str) -> Deal:
        """A deal of the user's that is not closed."""
        deal = self.own(self.deals[deal_id])
        if deal.stage in CLOSED:
            raise Rejected(f"{deal.name} is {deal.stage}; closed deals stay as they are")
        return deal

    def require_soon(self, day: date) -> None:
        """Refuse a day that is not within a year from today."""
        today = self.now.date()
        if not today <= day <= today + timedelta(days=366):
            raise Rejected("choose a day within the coming year")

    def offer(self, deal: Deal, percent: int, status: str, until: datetime | None) -> Quote:
        """Add a quote on a deal; its status lasts until the given moment."""
        amount = deal.amount or money(0)
        return self.quotes.add(
            deal_id=deal.id,
            deal_name=deal.name,
            list_amount=amount,
            discount_percent=percent,
            total=money(amount * (100 - percent) / 100),
            status=status,
            changes_at=until,
        )

    def settle_quote(self, deal_id: str, status: str) -> None:
        """Give the pending or approved quote of a deal its final status, if there is one."""
        for quote in self.quotes.where(deal_id=deal_id):
            if quote.status in LIVE:
                self.quotes.update(quote.id, status=status, changes_at=None)

    def next_event(self) -> datetime | None:
        """A decision on a quote, its expiry, or the midnight after an activity was due."""
        moments = [quote.changes_at for quote in self.quotes if quote.changes_at]
        for activity in self.activities.where(status="planned"):
            if activity.due_on:
                next_day = activity.due_on + timedelta(days=1)
                moments.append(datetime.combine(next_day, time(), UTC))
        return min(moments, default=None)

    def happen(self) -> None:
        """The manager decides, quotes expire, and activities that were not done become overdue."""
        for quote in list(self.quotes):
            if quote.changes_at and quote.changes_at <= self.now:
                self._change_quote(quote)
        for activity in self.activities.where(status="planned"):
            if activity.due_on and activity.due_on < self.now.date():
                self.activities.update(activity.id, status="overdue")

    def _change_quote(self, quote: Quote) -> None:
        """Decide on a pending quote; let an approved one expire."""
        if quote.status != "pending":
            self.quotes.update(quote.id, status="expired", changes_at=None)
        elif quote.discount_percent <= TOP_DISCOUNT:
            self.quotes.update(quote.id, status="approved", changes_at=self.now + VALIDITY)
        else:
            self.quotes.update(quote.id, status="declined", changes_at=None)

    def check(self) -> None:
        """Records point to records that exist; stages, quotes and activities fit each other."""
        assert len(self.reps.where(is_me=True)) == 1
        assert len({plain_name(company.name) for company in self.companies}) == len(self.companies)
        self._check_owners()
        self._check_leads()
        for contact in self.contacts:
            assert self.companies[contact.company_id].name == contact.company_name
        for deal in self.deals:
            self._check_deal(deal)
            self._check_quotes_of(deal)
        for quote in self.quotes:
            self._check_quote(quote)
        for activity in self.activities:
            self._check_activity(activity)

    def _check_owners(self) -> None:
        names = [rep.name for rep in self.reps]
        for record in (*self.leads, *self.contacts, *self.deals):
            assert record.owner in names

    def _check_leads(self) -> None:
        for lead in self.leads:
            is_converted = lead.status == "converted"
            assert is_converted == ((lead.deal_id or "") in self.deals)
            assert is_converted == ((lead.contact_id or "") in self.contacts)

    def _check_deal(self, deal: Deal) -> None:
        assert self.contacts[deal.contact_id].company_id == deal.company_id
        is_closed = deal.stage in CLOSED
        assert is_closed or self.contacts[deal.contact_id].owner == deal.owner
        assert is_closed == (deal.closed_at is not None)
        assert is_closed == bool(deal.close_reason)
        if deal.stage not in ("discovery", "lost"):
            assert deal.amount
            assert deal.closes

    def _check_quotes_of(self, deal: Deal) -> None:
        """A deal has one binding quote at most; it is accepted when the deal is won."""
        quotes = self.quotes.where(deal_id=deal.id)
        binding = [quote for quote in quotes if quote.status in (*LIVE, "accepted")]
        assert len(binding) <= 1
        if deal.stage in ("discovery", "lost"):
            assert not binding
        for quote in binding:
            assert quote.list_amount == deal.amount
        is_accepted = any(quote.status == "accepted" for quote in binding)
        assert is_accepted == (deal.stage == "won")

    def _check_quote(self, quote: Quote) -> None:
        assert quote.deal_id in self.deals
        assert quote.total == money(quote.list_amount * (100 - quote.discount_percent) / 100)
        assert (quote.status in LIVE) == (quote.changes_at is not None)

    def _check_activity(self, activity: Activity) -> None:
        assert activity.contact_id in self.contacts
        assert (activity.status == "done") == (activity.done_at is not None)
        if activity.status in UNDONE and activity.due_on:
            is_late = activity.due_on < self.now.date()
            assert (activity.status == "overdue") == is_late
            if activity.deal_id:
                assert self.deals[activity.deal_id].stage not in CLOSED


about = "Leads, contacts, deals, quotes and sales activities of a team, as one sales rep sees them."
server = Server("crm", Sales, category="knowledge", about=about, version=2)
