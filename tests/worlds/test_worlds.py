"""What a world from a spec does: how it is drawn, what time does to it, and its smaller rules."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import AnyServer, Session
from provegym.worlds.seeding import HOURS
from worlds.editing import GONE, server_of

LEND, TAG = "operations/lend_item", "operations/tag_item"


def opened(server: AnyServer, seed: int = 0) -> tuple[Session, Any]:
    """A session and its state."""
    session = Session([server], seed)
    return session, session.state(server)


@pytest.fixture(scope="module")
def library() -> AnyServer:
    """The library of tools."""
    return server_of()


# Drawing


def test_the_past_happens_in_office_hours(library: AnyServer) -> None:
    for seed in range(5):
        _, state = opened(library, seed)
        starts = [note.written_at for note in state.notes]
        starts += [loan.due_at for loan in state.loans]
        assert len(starts) > 20
        assert all(HOURS[0] <= moment.hour < HOURS[1] for moment in starts)
        assert all(moment.minute % 15 == 0 for moment in starts)
        written = [note.written_at for note in state.notes]
        assert written == sorted(written)
        assert state.now - timedelta(days=31) < written[0]
        assert written[-1] < state.now


def test_equal_seeds_give_equal_worlds_and_others_differ(library: AnyServer) -> None:
    again = server_of()
    assert library.world(3).digest() == again.world(3).digest()
    assert len({library.world(seed).digest() for seed in range(9)}) == 9


def test_names_are_unique_and_copies_are_right(library: AnyServer) -> None:
    _, state = opened(library)
    assert max(Counter(item.name for item in state.items).values()) == 1
    for loan in state.loans:
        assert loan.item_name == state.items[loan.item_id].name
        assert loan.member_name == state.members[loan.member_id].name
    for branch in state.branches:
        member = state.members.get(branch.member_id or "")
        assert branch.member_name == (member.name if member else None)


def test_a_flag_can_be_true_for_an_exact_number_of_records() -> None:
    field = {"name": "main", "kind": "flag", "exactly": 1}
    server = server_of(("entities/branch/fields/+", field))
    for seed in range(5):
        _, state = opened(server, seed)
        assert sum(branch.main for branch in state.branches) == 1


def test_names_get_a_number_if_words_run_out() -> None:
    server = server_of(("entities/item/fields/name/words", ["{brand}", "{brand} Saw", "{thing}"]))
    _, state = opened(server)
    assert len({item.name for item in state.items}) == 22


# Time


def test_an_event_happens_at_its_time_and_once(library: AnyServer) -> None:
    session, state = opened(library)
    item = next(item for item in state.items if item.status == "available")
    member = next(
        member
        for member in state.members
        if member.status == "active"
        and not any(loan.member_id == member.id for loan in state.loans)
    )
    given = {"item_id": item.id, "member_id": member.id, "days": 2}
    loan = session.call("lend_item", given).value
    for minutes, status in ((2 * 1_440 - 1, "out"), (1, "overdue"), (9_000, "overdue")):
        session.advance(minutes)
        now: Any = session.state(library)
        assert now.loans[loan["id"]].status == status


def test_time_passes_alike_in_one_go_or_several(library: AnyServer) -> None:
    once, _ = opened(library)
    often, _ = opened(library)
    once.advance(90_000)
    for _ in range(90):
        often.advance(1_000)
    assert once.digest() == often.digest()


def test_of_the_events_of_a_record_only_the_first_that_is_due_happens() -> None:
    mark = {
        "entity": "loan",
        "at": "due_at",
        "where": {"status": ["out", "overdue"]},
        "effects": [{"change": "$row", "set": {"status": "returned"}}],
    }
    first, _ = opened(server_of(("events/+", mark)))
    first.advance(60 * 1_440)
    state: Any = first.state(first.servers[0])
    assert {loan.status for loan in state.loans} == {"returned"}


# Rules


def test_a_change_reaches_copies(library: AnyServer) -> None:
    session, state = opened(library)
    loan = next(iter(state.loans))
    done = session.call("rename_item", {"item_id": loan.item_id, "name": "Quiet  Hammer "})
    assert done.value["name"] == "Quiet Hammer"
    assert state.loans[loan.id].item_name == "Quiet Hammer"
    clash = session.call("rename_item", {"item_id": loan.item_id, "name": "quiet hammer"})
    assert clash.error == "rejected"
    session.check()


def test_an_optional_reference_can_be_taken_away(library: AnyServer) -> None:
    session, state = opened(library)
    branch = next(branch for branch in state.branches if branch.member_id)
    done = session.call("assign_branch", {"branch_id": branch.id})
    assert "member_id" not in done.value
    assert "member_name" not in done.value
    session.check()


def test_a_let_chooses_between_two_values(library: AnyServer) -> None:
    session, state = opened(library)
    tagged = {tag.item_id for tag in state.tags}
    free = [item.id for item in state.items if item.id not in tagged][:2]
    branch = next(iter(state.branches.keys()))
    later = (state.now + timedelta(days=3)).isoformat()
    given = {"item_id": free[0], "branch_id": branch, "first_check": later}
    assert session.call("tag_item", given).value["next_check"].startswith(later[:10])
    other = session.call("tag_item", {"item_id": free[1], "branch_id": branch}).value
    assert other["next_check"].startswith(f"{state.now:%Y-%m-%dT%H:%M}")


def test_a_flag_of_a_search_switches_a_condition_on(library: AnyServer) -> None:
    session, _ = opened(library)
    session.advance(50 * 1_440)
    every = session.call("list_tags", {"limit": 20}).value
    checked = session.call("list_tags", {"limit": 20, "checked": True}).value
    assert every["total"] == session.call("list_tags", {"checked": False}).value["total"]
    assert 0 < checked["total"] <= every["total"]
    assert all(tag["checks"] > 0 for tag in checked["items"])
    counts = [tag["checks"] for tag in every["items"]]
    assert counts == sorted(counts, reverse=True)


def test_a_filter_can_be_required_and_take_a_day() -> None:
    day = {"name": "day", "about": "The day it is due.", "filter": "due_at", "test": "on"}
    arguments = "operations/list_loans/arguments"
    server = server_of((f"{arguments}/member_id/required", True), (f"{arguments}/+", day))
    assert server.tools["list_loans"].input_schema["required"] == ["member_id"]
    session, state = opened(server)
    loans = list(state.loans)
    assert len(loans) > 3
    for loan in loans:
        wanted = {"member_id": loan.member_id, "day": loan.due_at.date().isoformat()}
        found = session.call("list_loans", wanted).value["items"]
        same = [
            each.id
            for each in loans
            if (each.member_id, each.due_at.date()) == (loan.member_id, loan.due_at.date())
        ]
        assert sorted(each["id"] for each in found) == sorted(same)
    assert not session.call("list_loans", {}).ok


def test_a_report_counts_and_sums(library: AnyServer) -> None:
    session, state = opened(library)
    branch = next(iter(state.branches))
    shown = session.call("count_branch", {"branch_id": branch.id}).value
    assert shown["branch_name"] == branch.name
    assert shown["tags"] == sum(tag.branch_id == branch.id for tag in state.tags)
    assert shown["fees"] == float(sum(member.fees_owed for member in state.members))


def test_a_get_shows_the_records_that_belong_to_one(library: AnyServer) -> None:
    session, state = opened(library)
    loan = next(loan for loan in state.loans if loan.status != "returned")
    shown = session.call("get_member", {"member_id": loan.member_id}).value
    assert loan.id in [each["id"] for each in shown["loans"]]


def test_a_hidden_operation_is_no_tool_but_part_of_the_past() -> None:
    server = server_of(("operations/add_note/hidden", True))
    session, state = opened(server)
    assert session.call("add_note", {}).error == "not_found"
    assert len(state.notes) == 8


def test_each_changes_all_records_that_are_chosen(library: AnyServer) -> None:
    session, state = opened(library)
    branch = next(branch for branch in state.branches if branch.member_id)
    if state.members[branch.member_id].status != "active":
        pytest.skip("the member is paused already")
    session.call("pause_member", {"member_id": branch.member_id})
    assert state.branches[branch.id].budget == branch.budget - 5


def test_a_text_is_kept_on_one_line_and_not_too_long() -> None:
    many = [{"name": f"t{n}", "kind": "text", "empty": True} for n in range(15)]
    edits = [("entities/note/fields/+", field) for field in many]
    session, state = opened(server_of(*edits))
    item = next(iter(state.items.keys()))
    assert session.call("add_note", {"item_id": item, "text": "a\nb\x00c"}).value["text"] == "a b c"
    refused = session.call("add_note", {"item_id": item, "text": "x" * 160})
    assert refused.error == "rejected"
    assert "the text is too long" in refused.text


def test_the_owner_rule_denies_and_the_others_reject(library: AnyServer) -> None:
    me = server_of(("entities/member/fields/name/words", ["{me}", "{person}"]))
    session, state = opened(me)
    own = next(member for member in state.members if member.name == state.me)
    assert session.call("pause_member", {"member_id": own.id}).error == "denied"
    plain, other = opened(library)
    paused = next(member for member in other.members if member.status == "paused")
    assert plain.call("pause_member", {"member_id": paused.id}).error == "rejected"


def test_an_argument_without_a_default_may_stand_after_one_with_a_default() -> None:
    days = {"name": "fee", "about": "An extra fee.", "kind": "money", "make": [5]}
    server = server_of((f"{LEND}/arguments/+", days))
    assert "fee" in server.tools["lend_item"].input_schema["required"]


def test_a_field_without_a_start_is_drawn_or_set() -> None:
    server = server_of(("entities/tag/fields/next_check/start", GONE), (f"{TAG}/hidden", True))
    _, state = opened(server)
    assert all(tag.next_check for tag in state.tags)
