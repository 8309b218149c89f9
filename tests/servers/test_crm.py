"""The sales team's rules, told on three reps, two companies and one deal made by hand."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Outcome, Seed, Session, money
from provegym.servers.crm.state import Quote, Sales, server

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TODAY = NOW.date()


class Office:
    """A session over a tiny hand-made world, and the ids in it."""

    def __init__(self, stage: str = "proposal", **deal: Any) -> None:
        self.sales = sales = Sales(Seed(0))
        sales.now = NOW
        self.me = sales.reps.add(name="Ida Holm", territory="north", is_me=True).id
        self.ben = sales.reps.add(name="Ben Roth", territory="north").id
        self.eva = sales.reps.add(name="Eva Dahl", territory="south").id
        self.granite = sales.companies.add(name="Granite Tools", territory="north").id
        self.lantern = sales.companies.add(name="Lantern Studios", territory="north").id
        self.mira = self.meet("Mira Koch", self.granite, "Granite Tools")
        facts: dict[str, Any] = {
            "name": "Signage for Granite",
            "contact_id": self.mira,
            "owner": "Ida Holm",
        }
        facts |= {"company_id": self.granite, "company_name": "Granite Tools", "stage": stage}
        facts |= {"amount": money(1000), "closes": TODAY + timedelta(days=30)}
        self.deal = sales.deals.add(**(facts | deal)).id
        self.restart()

    def restart(self) -> None:
        """Begin anew from the world as it was made so far."""
        self.session = Session.over(server, self.sales)

    def meet(self, name: str, company_id: str, company: str, owner: str = "Ida Holm") -> str:
        """A contact."""
        mail = f"{name.split()[-1].lower()}@mail.example"
        facts = {"company_id": company_id, "company_name": company, "owner": owner}
        return self.sales.contacts.add(name=name, email=mail, **facts).id

    def find(self, status: str, **fields: Any) -> str:
        """A lead."""
        facts = {"name": "Omar Lund", "email": "omar@puffin.example", "territory": "north"}
        facts |= {"company_name": "Puffin Toys", "owner": "Ida Holm", "status": status}
        lead = self.sales.leads.add(**(facts | fields)).id
        self.restart()
        return lead

    def call(self, tool: str, **arguments: Any) -> Outcome:
        """A call, on the deal unless another is given, after which all must be in order."""
        if "deal_id" in server.tools[tool].input_schema["properties"]:
            arguments = {"deal_id": self.deal, **arguments}
        outcome = self.session.call(tool, arguments)
        self.session.check()
        return outcome

    def done(self, tool: str, **arguments: Any) -> Any:
        """What a call that must succeed returns."""
        outcome = self.call(tool, **arguments)
        assert outcome.ok, outcome.text
        return outcome.value

    def refused(self, tool: str, **arguments: Any) -> str:
        """What the rep is told when a rule forbids it."""
        outcome = self.call(tool, **arguments)
        assert outcome.error == "rejected", outcome.text
        return str(outcome.value["message"])

    def wait(self, hours: int) -> None:
        """Let time pass."""
        self.session.advance(hours * 60)
        self.session.check()

    @property
    def now(self) -> Sales:
        """The world as it is now."""
        state = self.session.state(server)
        assert isinstance(state, Sales)
        return state

    def quotes(self) -> list[str]:
        """What became of the deal's quotes."""
        quotes: list[Quote] = self.now.quotes.where(deal_id=self.deal)
        return [quote.status for quote in quotes]


def test_what_others_own_may_be_seen_but_not_changed() -> None:
    office = Office(owner="Ben Roth")
    lead = office.find("working", owner="Ben Roth")
    other = office.meet("Tom Berg", office.granite, "Granite Tools", owner="Ben Roth")
    office.restart()
    assert office.done("list_sales_deals", name="granite")["total"] == 1
    calls: dict[str, dict[str, Any]] = {
        "update_lead": {"lead_id": lead, "status": "disqualified"},
        "convert_lead": {"lead_id": lead, "deal_name": "Chairs"},
        "update_deal": {"amount": 5},
        "create_deal_quote": {"discount_percent": 5},
        "close_deal": {"outcome": "lost", "reason": "price"},
        "reassign_deal": {"sales_rep_id": office.eva},
        "log_sales_activity": {"contact_id": other, "kind": "note", "subject": "hello"},
        "merge_crm_contacts": {"contact_id": office.mira, "duplicate_id": other},
    }
    for tool, arguments in calls.items():
        assert office.call(tool, **arguments).error == "denied", tool


def test_leads_move_step_by_step_and_need_a_budget() -> None:
    office = Office()
    lead = {"lead_id": office.find("new")}
    assert "working, disqualified" in office.refused("update_lead", **lead, status="qualified")
    office.done("update_lead", **lead, status="working")
    assert "budget" in office.refused("update_lead", **lead, status="qualified")
    assert office.done("update_lead", **lead, status="qualified", budget=700)["budget"] == 700
    office.done("update_lead", **lead, status="disqualified")
    assert office.done("update_lead", **lead, status="working")["status"] == "working"


def test_a_converted_lead_becomes_company_contact_and_deal() -> None:
    office = Office()
    lead = office.find("qualified", budget=money(700))
    result = office.done("convert_lead", lead_id=lead, deal_name="Menu Boards")
    deal = office.now.deals[result["deal_id"]]
    contact = office.now.contacts[result["contact_id"]]
    assert (deal.stage, deal.amount, deal.owner) == ("discovery", money(700), "Ida Holm")
    assert office.now.companies[contact.company_id].name == "Puffin Toys"
    assert "is converted" in office.refused("convert_lead", lead_id=lead, deal_name="More")
    assert "next can be" in office.refused("update_lead", lead_id=lead, status="working")


def test_conversion_uses_what_is_known_already() -> None:
    office = Office()
    known = {"company_name": "granite tools", "email": "koch@mail.example", "budget": money(9)}
    lead = office.find("qualified", **known)
    assert "already called" in office.refused(
        "convert_lead", lead_id=lead, deal_name="signage for granite"
    )
    result = office.done("convert_lead", lead_id=lead, deal_name="Chairs")
    assert result["contact_id"] == office.mira
    assert len(office.now.companies) == 2


def test_only_qualified_leads_are_converted() -> None:
    office = Office()
    lead = office.find("working")
    assert "qualify" in office.refused("convert_lead", lead_id=lead, deal_name="Chairs")


def test_new_leads_go_to_their_territory_and_have_an_address_of_their_own() -> None:
    office = Office()
    new = {"name": "Ana Silva", "email": "Ana@Heron.example", "company": "Heron Fisheries"}
    assert office.done("create_lead", **new, territory="north")["owner"] == "Ida Holm"
    assert "belongs to the lead" in office.refused("create_lead", **new, territory="south")
    far = new | {"email": "zoe@heron.example"}
    assert office.done("create_lead", **far, territory="south")["owner"] == "Eva Dahl"
    wrong = new | {"email": "heron.example"}
    assert "no mail address" in office.refused("create_lead", **wrong, territory="north")


def test_a_proposal_needs_amount_and_closing_day() -> None:
    office = Office("discovery", amount=None, closes=None)
    assert "amount and closing day" in office.refused("update_deal", stage="proposal", amount=50)
    deal = office.done("update_deal", stage="proposal", amount=50, closes="2026-03-31")
    assert (deal["stage"], deal["amount"]) == ("proposal", 50)


def test_stages_follow_each_other() -> None:
    office = Office("discovery")
    assert "only move to proposal" in office.refused("update_deal", stage="negotiation")
    office.done("update_deal", stage="proposal")
    assert "approved quote" in office.refused("update_deal", stage="negotiation")
    office.done("create_deal_quote", discount_percent=10)
    office.done("update_deal", stage="negotiation")
    assert "only move to proposal" in office.refused("update_deal", stage="discovery")


def test_a_change_says_what_and_closes_within_a_year() -> None:
    office = Office()
    assert "say what" in office.refused("update_deal")
    for day in ("2026-03-01", "2028-01-01"):
        assert "coming year" in office.refused("update_deal", closes=day)


def test_small_discounts_are_approved_at_once_and_expire() -> None:
    office = Office()
    quote = office.done("create_deal_quote", discount_percent=10)
    assert (quote["status"], quote["total"]) == ("approved", 900)
    office.wait(14 * 24)
    assert office.quotes() == ["expired"]


@pytest.mark.parametrize(("percent", "verdict"), [(25, "approved"), (26, "declined")])
def test_the_manager_decides_on_larger_discounts(percent: int, verdict: str) -> None:
    office = Office()
    office.done("create_deal_quote", discount_percent=percent)
    assert "still pending" in office.refused("create_deal_quote", discount_percent=5)
    assert "still pending" in office.refused("reassign_deal", sales_rep_id=office.ben)
    office.wait(4)
    assert office.quotes() == [verdict]


def test_quotes_come_with_a_proposal_and_have_a_limit() -> None:
    assert "in discovery" in Office("discovery").refused("create_deal_quote", discount_percent=5)
    assert "more than 40" in Office().refused("create_deal_quote", discount_percent=41)


def test_a_new_quote_or_amount_withdraws_the_last_quote() -> None:
    office = Office()
    office.done("create_deal_quote", discount_percent=5)
    office.done("create_deal_quote", discount_percent=8)
    assert office.quotes() == ["withdrawn", "approved"]
    office.done("update_deal", amount=1000)
    assert office.quotes() == ["withdrawn", "approved"]
    office.done("update_deal", amount=1200.50)
    assert office.quotes() == ["withdrawn", "withdrawn"]


def test_a_deal_is_won_with_an_approved_quote_and_closed_for_good() -> None:
    office = Office()
    won = {"outcome": "won", "reason": "best_fit"}
    office.done("create_deal_quote", discount_percent=5)
    assert "no approved quote in negotiation" in office.refused("close_deal", **won)
    office.done("update_deal", stage="negotiation")
    assert "for one of" in office.refused("close_deal", outcome="won", reason="competitor")
    assert office.done("close_deal", **won)["stage"] == "won"
    assert office.quotes() == ["accepted"]
    calls: dict[str, dict[str, Any]] = {
        "update_deal": {"amount": 5},
        "close_deal": {"outcome": "lost", "reason": "price"},
        "create_deal_quote": {"discount_percent": 1},
        "reassign_deal": {"sales_rep_id": office.ben},
    }
    for tool, rest in calls.items():
        assert "closed deals stay" in office.refused(tool, **rest)


def test_a_lost_deal_takes_its_quote_and_plans_along() -> None:
    office = Office()
    office.done("create_deal_quote", discount_percent=30)
    plan = {"contact_id": office.mira, "kind": "call", "subject": "terms", "due_on": "2026-03-05"}
    planned = office.done("log_sales_activity", **plan)
    assert planned["deal_id"] == office.deal
    office.done("close_deal", outcome="lost", reason="no_budget")
    assert office.quotes() == ["withdrawn"]
    assert office.now.activities[planned["id"]].status == "cancelled"
    again = {"activity_id": planned["id"], "outcome": "late"}
    assert "is cancelled" in office.refused("complete_sales_activity", **again)


def test_a_deal_is_handed_to_a_present_rep_of_the_territory() -> None:
    office = Office()
    away = office.sales.reps.add(name="Uwe Falk", territory="north", away=True).id
    office.restart()
    assert "yours already" in office.refused("reassign_deal", sales_rep_id=office.me)
    assert "is away" in office.refused("reassign_deal", sales_rep_id=away)
    assert "Eva Dahl is not" in office.refused("reassign_deal", sales_rep_id=office.eva)
    assert office.done("reassign_deal", sales_rep_id=office.ben)["owner"] == "Ben Roth"
    assert office.now.contacts[office.mira].owner == "Ben Roth"
    assert office.call("update_deal", amount=5).error == "denied"


def test_what_is_planned_becomes_overdue_and_can_still_be_done_once() -> None:
    office = Office()
    plan = {"contact_id": office.mira, "kind": "meeting", "subject": "demo"}
    activity = office.done("log_sales_activity", **plan, due_on=str(TODAY))["id"]
    office.wait(14)
    assert office.now.activities[activity].status == "planned"
    office.wait(1)
    overdue = office.done("list_sales_activities", contact_id=office.mira, status="overdue")
    assert overdue["total"] == 1
    result = {"activity_id": activity, "outcome": "went well"}
    assert office.done("complete_sales_activity", **result)["status"] == "done"
    assert "is done" in office.refused("complete_sales_activity", **result)


def test_notes_are_written_down_not_planned() -> None:
    office = Office()
    note = {"contact_id": office.mira, "kind": "note", "subject": "likes tea"}
    assert office.done("log_sales_activity", **note)["status"] == "done"
    assert "no due day" in office.refused("log_sales_activity", **note, due_on="2026-03-05")
    call = note | {"kind": "call"}
    assert "coming year" in office.refused("log_sales_activity", **call, due_on="2026-03-01")


def test_merging_moves_deals_leads_and_activities() -> None:
    office = Office()
    kept = office.meet("M. Koch", office.granite, "Granite Tools")
    lead = office.find("converted", contact_id=office.mira, deal_id=office.deal)
    office.done("log_sales_activity", contact_id=office.mira, kind="call", subject="terms")
    office.done("merge_crm_contacts", contact_id=kept, duplicate_id=office.mira)
    assert office.mira not in office.now.contacts
    assert office.now.deals[office.deal].contact_id == kept
    assert office.now.leads[lead].contact_id == kept
    assert [a.contact_name for a in office.now.activities] == ["M. Koch"]


def test_only_two_contacts_of_one_company_are_merged() -> None:
    office = Office()
    other = office.meet("Lea Falk", office.lantern, "Lantern Studios")
    office.restart()
    same = {"contact_id": office.mira, "duplicate_id": office.mira}
    assert "same contact" in office.refused("merge_crm_contacts", **same)
    apart = {"contact_id": office.mira, "duplicate_id": other}
    assert "companies" in office.refused("merge_crm_contacts", **apart)


def test_quotes_and_reps_are_looked_up() -> None:
    office = Office(closes=date(2026, 4, 1))
    office.done("create_deal_quote", discount_percent=0)
    [quote] = office.done("list_deal_quotes")["items"]
    assert quote["list_amount"] == quote["total"] == 1000
    assert office.done("list_sales_reps", name="ida")["items"][0]["is_me"]
    assert office.call("list_deal_quotes", deal_id="dea_1").error == "not_found"
