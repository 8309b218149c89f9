"""The sales team's rules, told on three reps, two companies and one deal made by hand."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, money
from provegym.servers.crm.state import Quote, Sales, server
from servers.desk import Desk

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TODAY = NOW.date()


class Office(Desk[Sales]):
    """Three reps, two companies, a contact, and the deal that is meant unless another is given."""

    def __init__(self, stage: str = "proposal", **deal: Any) -> None:
        super().__init__(server, Sales(Seed(0)))
        sales = self.world
        sales.now = NOW
        self.me = sales.reps.add(name="Ida Holm", territory="north", is_me=True).id
        self.ben = sales.reps.add(name="Ben Roth", territory="north").id
        self.eva = sales.reps.add(name="Eva Dahl", territory="south").id
        self.granite = sales.companies.add(name="Granite Tools", territory="north").id
        self.lantern = sales.companies.add(name="Lantern Studios", territory="north").id
        owner = deal.get("owner", "Ida Holm")
        self.mira = self.meet("Mira Koch", self.granite, "Granite Tools", owner)
        facts: dict[str, Any] = {
            "name": "Signage for Granite",
            "contact_id": self.mira,
            "owner": "Ida Holm",
        }
        facts |= {"company_id": self.granite, "company_name": "Granite Tools", "stage": stage}
        facts |= {"amount": money(1000), "closes": TODAY + timedelta(days=30)}
        self.deal = sales.deals.add(**(facts | deal)).id
        self.usual = {"deal_id": self.deal}
        self.start()

    def meet(self, name: str, company_id: str, company: str, owner: str = "Ida Holm") -> str:
        """A contact."""
        mail = f"{name.split()[-1].lower()}@mail.example"
        facts = {"company_id": company_id, "company_name": company, "owner": owner}
        return self.world.contacts.add(name=name, email=mail, **facts).id

    def find(self, status: str, **fields: Any) -> str:
        """A lead."""
        facts = {"name": "Omar Lund", "email": "omar@puffin.example", "territory": "north"}
        facts |= {"company_name": "Puffin Toys", "owner": "Ida Holm", "status": status}
        lead = self.world.leads.add(**(facts | fields)).id
        self.start()
        return lead

    def quotes(self) -> list[str]:
        """What became of the deal's quotes."""
        quotes: list[Quote] = self.state.quotes.where(deal_id=self.deal)
        return [quote.status for quote in quotes]


def test_what_others_own_may_be_seen_but_not_changed() -> None:
    office = Office(owner="Ben Roth")
    lead = office.find("working", owner="Ben Roth")
    other = office.meet("Tom Berg", office.granite, "Granite Tools", owner="Ben Roth")
    office.start()
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
        office.denied(tool, **arguments)


def test_leads_move_step_by_step_and_need_a_budget() -> None:
    office = Office()
    lead = {"lead_id": office.find("new")}
    office.rejected("update_lead", "working, disqualified", **lead, status="qualified")
    office.done("update_lead", **lead, status="working")
    office.rejected("update_lead", "budget", **lead, status="qualified")
    assert office.done("update_lead", **lead, status="qualified", budget=700)["budget"] == 700
    office.done("update_lead", **lead, status="disqualified")
    assert office.done("update_lead", **lead, status="working")["status"] == "working"


def test_a_converted_lead_becomes_company_contact_and_deal() -> None:
    office = Office()
    lead = office.find("qualified", budget=money(700))
    result = office.done("convert_lead", lead_id=lead, deal_name="Menu Boards")
    deal = office.state.deals[result["deal_id"]]
    contact = office.state.contacts[result["contact_id"]]
    assert (deal.stage, deal.amount, deal.owner) == ("discovery", money(700), "Ida Holm")
    assert office.state.companies[contact.company_id].name == "Puffin Toys"
    office.rejected("convert_lead", "is converted", lead_id=lead, deal_name="More")
    office.rejected("update_lead", "next can be", lead_id=lead, status="working")


def test_conversion_uses_what_is_known_already() -> None:
    office = Office()
    known = {"company_name": "granite tools", "email": "koch@mail.example", "budget": money(9)}
    lead = office.find("qualified", **known)
    office.rejected("convert_lead", "already called", lead_id=lead, deal_name="signage for granite")
    result = office.done("convert_lead", lead_id=lead, deal_name="Chairs")
    assert result["contact_id"] == office.mira
    assert len(office.state.companies) == 2


def test_only_qualified_leads_are_converted() -> None:
    office = Office()
    lead = office.find("working")
    office.rejected("convert_lead", "qualify", lead_id=lead, deal_name="Chairs")


def test_new_leads_go_to_their_territory_and_have_an_address_of_their_own() -> None:
    office = Office()
    new = {"name": "Ana Silva", "email": "Ana@Heron.example", "company": "Heron Fisheries"}
    assert office.done("create_lead", **new, territory="north")["owner"] == "Ida Holm"
    office.rejected("create_lead", "belongs to the lead", **new, territory="south")
    far = new | {"email": "zoe@heron.example"}
    assert office.done("create_lead", **far, territory="south")["owner"] == "Eva Dahl"
    wrong = new | {"email": "heron.example"}
    office.rejected("create_lead", "no mail address", **wrong, territory="north")


def test_a_proposal_needs_amount_and_closing_day() -> None:
    office = Office("discovery", amount=None, closes=None)
    office.rejected("update_deal", "amount and closing day", stage="proposal", amount=50)
    deal = office.done("update_deal", stage="proposal", amount=50, closes="2026-03-31")
    assert (deal["stage"], deal["amount"]) == ("proposal", 50)


def test_stages_follow_each_other() -> None:
    office = Office("discovery")
    office.rejected("update_deal", "only move to proposal", stage="negotiation")
    office.done("update_deal", stage="proposal")
    office.rejected("update_deal", "approved quote", stage="negotiation")
    office.done("create_deal_quote", discount_percent=10)
    office.done("update_deal", stage="negotiation")
    office.rejected("update_deal", "only move to proposal", stage="discovery")


def test_a_change_says_what_and_closes_within_a_year() -> None:
    office = Office()
    office.rejected("update_deal", "say what")
    for day in ("2026-03-01", "2028-01-01"):
        office.rejected("update_deal", "coming year", closes=day)


def test_small_discounts_are_approved_at_once_and_expire() -> None:
    office = Office()
    quote = office.done("create_deal_quote", discount_percent=10)
    assert (quote["status"], quote["total"]) == ("approved", 900)
    office.wait(days=14)
    assert office.quotes() == ["expired"]


@pytest.mark.parametrize(("percent", "verdict"), [(25, "approved"), (26, "declined")])
def test_the_manager_decides_on_larger_discounts(percent: int, verdict: str) -> None:
    office = Office()
    office.done("create_deal_quote", discount_percent=percent)
    office.rejected("create_deal_quote", "still pending", discount_percent=5)
    office.rejected("reassign_deal", "still pending", sales_rep_id=office.ben)
    office.wait(hours=4)
    assert office.quotes() == [verdict]


def test_quotes_come_with_a_proposal_and_have_a_limit() -> None:
    Office("discovery").rejected("create_deal_quote", "in discovery", discount_percent=5)
    Office().rejected("create_deal_quote", "more than 40", discount_percent=41)


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
    office.rejected("close_deal", "no approved quote in negotiation", **won)
    office.done("update_deal", stage="negotiation")
    office.rejected("close_deal", "for one of", outcome="won", reason="competitor")
    assert office.done("close_deal", **won)["stage"] == "won"
    assert office.quotes() == ["accepted"]
    calls: dict[str, dict[str, Any]] = {
        "update_deal": {"amount": 5},
        "close_deal": {"outcome": "lost", "reason": "price"},
        "create_deal_quote": {"discount_percent": 1},
        "reassign_deal": {"sales_rep_id": office.ben},
    }
    for tool, rest in calls.items():
        office.rejected(tool, "closed deals stay", **rest)


def test_a_lost_deal_takes_its_quote_and_plans_along() -> None:
    office = Office()
    office.done("create_deal_quote", discount_percent=30)
    plan = {"contact_id": office.mira, "kind": "call", "subject": "terms", "due_on": "2026-03-05"}
    planned = office.done("log_sales_activity", **plan)
    assert planned["deal_id"] == office.deal
    office.done("close_deal", outcome="lost", reason="no_budget")
    assert office.quotes() == ["withdrawn"]
    assert office.state.activities[planned["id"]].status == "cancelled"
    again = {"activity_id": planned["id"], "outcome": "late"}
    office.rejected("complete_sales_activity", "is cancelled", **again)


def test_a_deal_is_handed_to_a_present_rep_of_the_territory() -> None:
    office = Office()
    away = office.world.reps.add(name="Uwe Falk", territory="north", away=True).id
    office.start()
    office.rejected("reassign_deal", "yours already", sales_rep_id=office.me)
    office.rejected("reassign_deal", "is away", sales_rep_id=away)
    office.rejected("reassign_deal", "Eva Dahl is not", sales_rep_id=office.eva)
    assert office.done("reassign_deal", sales_rep_id=office.ben)["owner"] == "Ben Roth"
    assert office.state.contacts[office.mira].owner == "Ben Roth"
    office.denied("update_deal", amount=5)


def test_a_contact_and_all_its_open_deals_have_one_owner() -> None:
    office = Office()
    mail = {"email": "koch@mail.example", "company_name": "granite  tools"}
    mine = office.find("qualified", budget=money(50), **mail)
    office.meet("Ben's Contact", office.lantern, "Lantern Studios", owner="Ben Roth")
    known = {"email": "contact@mail.example", "company_name": "Lantern Studios"}
    his = office.find("qualified", budget=money(50), **known)
    second = office.done("convert_lead", lead_id=mine, deal_name="Chairs")["deal_id"]
    assert office.state.deals[second].contact_id == office.mira
    office.denied("convert_lead", "belongs to Ben Roth", lead_id=his, deal_name="Desks")
    office.done("reassign_deal", sales_rep_id=office.ben)
    assert office.state.deals[second].owner == "Ben Roth"


def test_a_known_company_stays_in_its_territory() -> None:
    lead = {"name": "Ole Lind", "email": "ole@mail.example", "company": " granite tools"}
    office = Office()
    office.rejected("create_lead", "Granite Tools is in the north", **lead, territory="south")
    office.done("create_lead", **lead, territory="north")


def test_blanks_make_no_new_deal_name() -> None:
    office = Office()
    lead = office.find("qualified", budget=money(50))
    name = "signage for  granite "
    office.rejected("convert_lead", "already called", lead_id=lead, deal_name=name)


def test_back_in_discovery_a_deal_has_no_quote() -> None:
    office = Office()
    office.done("create_deal_quote", discount_percent=5)
    office.done("update_deal", stage="discovery")
    assert office.quotes() == ["withdrawn"]


def test_what_is_planned_becomes_overdue_and_can_still_be_done_once() -> None:
    office = Office()
    plan = {"contact_id": office.mira, "kind": "meeting", "subject": "demo"}
    activity = office.done("log_sales_activity", **plan, due_on=str(TODAY))["id"]
    office.wait(hours=14)
    assert office.state.activities[activity].status == "planned"
    office.wait(hours=1)
    overdue = office.done("list_sales_activities", contact_id=office.mira, status="overdue")
    assert overdue["total"] == 1
    result = {"activity_id": activity, "outcome": "went well"}
    assert office.done("complete_sales_activity", **result)["status"] == "done"
    office.rejected("complete_sales_activity", "is done", **result)


def test_notes_are_written_down_not_planned() -> None:
    office = Office()
    note = {"contact_id": office.mira, "kind": "note", "subject": "likes tea"}
    assert office.done("log_sales_activity", **note)["status"] == "done"
    office.rejected("log_sales_activity", "no due day", **note, due_on="2026-03-05")
    call = note | {"kind": "call"}
    office.rejected("log_sales_activity", "coming year", **call, due_on="2026-03-01")


def test_merging_moves_deals_leads_and_activities() -> None:
    office = Office()
    kept = office.meet("M. Koch", office.granite, "Granite Tools")
    lead = office.find("converted", contact_id=office.mira, deal_id=office.deal)
    office.done("log_sales_activity", contact_id=office.mira, kind="call", subject="terms")
    office.done("merge_crm_contacts", contact_id=kept, duplicate_id=office.mira)
    assert office.mira not in office.state.contacts
    assert office.state.deals[office.deal].contact_id == kept
    assert office.state.leads[lead].contact_id == kept
    assert [a.contact_name for a in office.state.activities] == ["M. Koch"]


def test_only_two_contacts_of_one_company_are_merged() -> None:
    office = Office()
    other = office.meet("Lea Falk", office.lantern, "Lantern Studios")
    office.start()
    same = {"contact_id": office.mira, "duplicate_id": office.mira}
    office.rejected("merge_crm_contacts", "same contact", **same)
    apart = {"contact_id": office.mira, "duplicate_id": other}
    office.rejected("merge_crm_contacts", "companies", **apart)


def test_quotes_and_reps_are_looked_up() -> None:
    office = Office(closes=date(2026, 4, 1))
    office.done("create_deal_quote", discount_percent=0)
    [quote] = office.done("list_deal_quotes")["items"]
    assert quote["list_amount"] == quote["total"] == 1000
    assert office.done("list_sales_reps", name="ida")["items"][0]["is_me"]
    office.not_found("list_deal_quotes", deal_id="dea_1")
