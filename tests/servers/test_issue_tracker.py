"""The tracker's rules, told on a project of two that the acting user leads."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.issue_tracker.state import Board, Issue, Role, Sprint, server
from servers.desk import Desk

NOW = Seed(0).now
ME = "Ida Falk"


class Team(Desk[Board]):
    """A project with four members, two sprints and a release; one more issue per call."""

    def __init__(self, role: Role = "lead") -> None:
        super().__init__(server, Board(Seed(0)))
        self.project = self.found("Orchard", role)
        self.other = self.found("Tundra", "lead")
        self.me, self.dev = self.hire(ME, role), self.hire("Omar Berg", "developer")
        self.reporter = self.hire("Nora Ito", "reporter")
        self.stranger = self.hire("Levi Roth", "developer", project_id=self.other)
        self.sprint, self.later = (
            self.sprint_of("ORC Sprint 4", 4),
            self.sprint_of("ORC Sprint 5", 5),
        )
        due = NOW.date() + timedelta(days=9)
        self.release = self.world.releases.add(
            project_id=self.project, name="Orchard 2.1", due=due
        ).id
        self.login, self.menu = self.report("Fix login"), self.report("Redesign menu")
        self.start()

    def found(self, name: str, role: Role) -> str:
        """A project without people."""
        fields = {"name": name, "components": ("Editor", "Search"), "last_number": 2}
        return self.world.projects.add(key=name[:3].upper(), my_name=ME, my_role=role, **fields).id

    def hire(self, name: str, role: Role, **fields: Any) -> str:
        """A member of the project."""
        fields = {"project_id": self.project, **fields}
        return self.world.members.add(name=name, role=role, **fields).id

    def sprint_of(self, name: str, number: int) -> str:
        """A planned sprint with room for eight points."""
        fields = {"name": name, "number": number, "capacity": 8, "load": 0, "status": "planned"}
        return self.world.sprints.add(project_id=self.project, **fields).id

    def report(self, title: str, **fields: Any) -> str:
        """An open issue of three points for Omar."""
        number = len(self.world.issues) + 1
        known = {"key": f"ORC-{number}", "project_id": self.project, "kind": "task", "estimate": 3}
        known |= {"status": "open", "priority": "low"}
        known |= {
            "created_at": NOW,
            "updated_at": NOW,
            "assignee": "Omar Berg",
            "reporter": "Nora Ito",
        }
        return self.world.issues.add(title=title, **{**known, **fields}).id

    def move(self, issue_id: str, *statuses: str) -> None:
        """Move an issue along."""
        for status in statuses:
            self.done("move_issue", issue_id=issue_id, status=status)

    def plan(self, issue_id: str, sprint_id: str) -> None:
        """Put an issue into a sprint."""
        self.done("plan_issue", issue_id=issue_id, sprint_id=sprint_id)

    def issue(self, issue_id: str) -> Issue:
        """An issue as it is now."""
        return self.state.issues[issue_id]

    def load(self, sprint_id: str) -> Sprint:
        """A sprint as it is now."""
        return self.state.sprints[sprint_id]


@pytest.fixture
def team() -> Team:
    return Team()


def test_an_issue_goes_through_the_workflow(team: Team) -> None:
    team.move(team.login, "in_progress", "in_review", "done")
    moved = [
        entry["moved_to"] for entry in team.done("list_issue_history", issue_id=team.login)["items"]
    ]
    assert moved == ["done", "in_review", "in_progress"]


def test_there_are_no_short_cuts_and_no_way_back_from_closed(team: Team) -> None:
    team.rejected(
        "move_issue", "it can go to in_progress, wont_do", issue_id=team.login, status="done"
    )
    team.move(team.login, "wont_do")
    team.rejected("move_issue", "ORC-1 is wont_do", issue_id=team.login, status="open")
    team.rejected("comment_on_issue", "is closed", issue_id=team.login, text="Why?")


def test_work_starts_with_somebody_and_an_estimate(team: Team) -> None:
    created = team.done(
        "create_issue", project_id=team.project, title="Sort", kind="bug", component="Search"
    )
    start = {"issue_id": created["id"], "status": "in_progress"}
    team.rejected("move_issue", "needs an assignee and an estimate", **start)
    team.done("assign_issue", issue_id=created["id"], member_id=team.dev)
    team.rejected("move_issue", "needs an assignee and an estimate", **start)
    team.done("update_issue", issue_id=created["id"], points=5)
    assert team.done("move_issue", **start)["status"] == "in_progress"


def test_nobody_approves_their_own_work(team: Team) -> None:
    team.done("assign_issue", issue_id=team.login, member_id=team.me)
    team.move(team.login, "in_progress", "in_review")
    team.denied("move_issue", "your own work", issue_id=team.login, status="done")


def test_a_developer_moves_and_takes_only_for_themselves() -> None:
    team = Team("developer")
    team.denied("move_issue", "is not yours", issue_id=team.login, status="in_progress")
    team.denied("assign_issue", "may take ORC-1 yourself", issue_id=team.login, member_id=team.dev)
    team.done("assign_issue", issue_id=team.login, member_id=team.me)
    team.move(team.login, "in_progress", "in_review")
    team.denied("move_issue", "ask a reviewer or lead", issue_id=team.login, status="done")


def test_a_reporter_only_withdraws_what_they_reported() -> None:
    team = Team("reporter")
    team.denied("move_issue", "is not yours", issue_id=team.login, status="wont_do")
    team.denied("update_issue", "you are reporter", issue_id=team.login, priority="high")
    created = team.done(
        "create_issue", project_id=team.project, title="Sort", kind="bug", component="Search"
    )
    team.move(created["id"], "wont_do")


def test_a_reviewer_sends_back() -> None:
    team = Team("reviewer")
    team.denied("move_issue", "you are reviewer", issue_id=team.login, status="in_progress")
    board = team.state
    board.move(board.issues[team.login], "in_progress", "Omar Berg")
    board.move(board.issues[team.login], "in_review", "Omar Berg")
    team.move(team.login, "in_progress")


def test_issues_go_to_able_people_of_the_team(team: Team) -> None:
    team.rejected("assign_issue", "on another team", issue_id=team.login, member_id=team.stranger)
    team.rejected("assign_issue", "only reports", issue_id=team.login, member_id=team.reporter)
    team.rejected("assign_issue", "is Omar Berg's already", issue_id=team.login, member_id=team.dev)
    team.move(team.login, "in_progress", "in_review")
    team.rejected("assign_issue", "send it back", issue_id=team.login, member_id=team.me)


def test_new_issues_get_the_next_key_and_a_title_of_their_own(team: Team) -> None:
    new = {"project_id": team.project, "kind": "bug", "component": "Editor"}
    team.rejected("create_issue", "is open under this title", title="Fix login", **new)
    team.rejected("create_issue", "Editor, Search", title="Odd", **{**new, "component": "Roof"})
    created = team.done("create_issue", title="Fix logout", **new)
    assert (created["key"], created["watchers"]) == ("ORC-3", [ME])
    team.move(team.login, "wont_do")
    assert team.done("create_issue", title="Fix login", **new)["key"] == "ORC-4"


def test_a_parent_closes_after_its_subtasks(team: Team) -> None:
    new = {"project_id": team.project, "kind": "task", "component": "Editor"}
    part = team.done("create_issue", title="Part", parent_id=team.login, **new)["id"]
    assert team.done("get_issue", issue_id=team.login)["subtasks"] == [part]
    team.rejected("create_issue", "no top-level issue", title="Deep", parent_id=part, **new)
    team.rejected("move_issue", "ORC-3 has to be closed", issue_id=team.login, status="wont_do")
    team.move(part, "wont_do")
    team.move(team.login, "wont_do")


def test_blockers_hold_up_closing_and_never_go_in_circles(team: Team) -> None:
    third = team.state.issues.update(team.menu, title="Menu").id
    team.done("add_issue_blocker", issue_id=team.login, blocker_id=third)
    team.rejected("add_issue_blocker", "itself waits", issue_id=third, blocker_id=team.login)
    team.rejected("add_issue_blocker", "itself waits", issue_id=third, blocker_id=third)
    team.rejected("add_issue_blocker", "already", issue_id=team.login, blocker_id=third)
    team.rejected("move_issue", "ORC-2 has to be closed", issue_id=team.login, status="wont_do")
    team.move(third, "wont_do")
    team.move(team.login, "wont_do")


def test_a_duplicate_hands_its_watchers_on(team: Team) -> None:
    team.done("watch_issue", issue_id=team.login)
    team.rejected("watch_issue", "watch ORC-1 already", issue_id=team.login)
    same = {"issue_id": team.login, "original_id": team.menu}
    team.rejected("close_duplicate_issue", "of itself", **{**same, "original_id": team.login})
    closed = team.done("close_duplicate_issue", **same)
    assert (closed["status"], closed["duplicate_of_id"]) == ("wont_do", team.menu)
    assert team.issue(team.menu).watchers == (ME,)
    told = team.done("list_issue_history", issue_id=team.menu)["items"][0]
    assert told["text"] == "ORC-1 is a duplicate of this issue."
    back = {"issue_id": team.menu, "original_id": team.login}
    team.rejected("close_duplicate_issue", "is a duplicate too", **back)


def test_duplicates_follow_their_original(team: Team) -> None:
    filters = team.report("Add filters")
    team.start()
    team.done("close_duplicate_issue", issue_id=team.login, original_id=team.menu)
    team.done("close_duplicate_issue", issue_id=team.menu, original_id=filters)
    assert team.issue(team.login).duplicate_of_id == filters


def test_blanks_and_case_make_no_new_title_and_a_label_counts_once(team: Team) -> None:
    new = {"project_id": team.project, "kind": "bug", "component": "Editor"}
    team.rejected("create_issue", "is open under this title", title=" fix  Login", **new)
    labels = ["docs", "debt", "docs"]
    changed = team.done("update_issue", issue_id=team.login, labels=labels)
    assert changed["labels"] == ["docs", "debt"]


def test_a_sprint_cannot_be_overfilled(team: Team) -> None:
    team.plan(team.login, team.sprint)
    team.done("update_issue", issue_id=team.menu, points=8)
    plan = {"issue_id": team.menu, "sprint_id": team.sprint}
    team.rejected("plan_issue", "has room for 5 points", **plan)
    team.rejected("update_issue", "has room for 8 points", issue_id=team.login, points=13)
    team.done("update_issue", issue_id=team.menu, points=5)
    team.plan(team.menu, team.sprint)
    assert team.load(team.sprint).load == 8
    team.rejected("plan_issue", "already", **plan)
    team.plan(team.menu, "backlog")
    assert team.load(team.sprint).load == 3
    team.rejected("plan_issue", "already", issue_id=team.menu, sprint_id="backlog")


def test_estimates_are_fixed_once_work_has_started(team: Team) -> None:
    team.move(team.login, "in_progress")
    team.rejected("update_issue", "its estimate stays", issue_id=team.login, points=1)
    assert team.call("update_issue", issue_id=team.menu, points=4).error == "invalid_argument"
    team.rejected("update_issue", "say what to change", issue_id=team.menu)


def test_only_a_lead_makes_issues_critical() -> None:
    team = Team("developer")
    team.denied("update_issue", "ask a lead", issue_id=team.login, priority="critical")
    changed = team.done("update_issue", issue_id=team.login, priority="high", labels=["docs"])
    assert (changed["priority"], changed["labels"]) == ("high", ["docs"])


def test_one_sprint_at_a_time_and_none_without_issues(team: Team) -> None:
    team.rejected("start_sprint", "has no issues yet", sprint_id=team.sprint)
    team.plan(team.login, team.sprint)
    team.plan(team.menu, team.later)
    team.done("start_sprint", sprint_id=team.sprint)
    team.rejected("start_sprint", "ORC Sprint 4 is active", sprint_id=team.later)
    team.rejected("start_sprint", "is active already", sprint_id=team.sprint)
    team.rejected("end_sprint", "not active", sprint_id=team.later)


def test_ending_a_sprint_moves_what_is_unfinished(team: Team) -> None:
    team.done("update_issue", issue_id=team.menu, points=5)
    team.plan(team.login, team.sprint)
    team.plan(team.menu, team.sprint)
    team.state.sprints.update(team.later, capacity=4)
    team.done("start_sprint", sprint_id=team.sprint)
    ended = team.done("end_sprint", sprint_id=team.sprint)
    assert (ended["status"], ended.get("load", 0)) == ("closed", 0)
    assert team.issue(team.login).sprint_id == team.later
    assert team.issue(team.menu).sprint_id is None
    team.rejected("plan_issue", "is over", issue_id=team.menu, sprint_id=team.sprint)


def test_a_sprint_runs_out_by_itself(team: Team) -> None:
    team.plan(team.login, team.sprint)
    team.done("start_sprint", sprint_id=team.sprint, weeks=1)
    team.wait(7 * 1440 - 1)
    assert team.load(team.sprint).status == "active"
    team.wait(1)
    assert team.load(team.sprint).status == "closed"
    assert team.load(team.later).load == 3


def test_only_the_lead_runs_sprints_and_releases() -> None:
    team = Team("developer")
    team.plan(team.login, team.sprint)
    team.denied("start_sprint", "ask a lead", sprint_id=team.sprint)
    team.denied("end_sprint", "ask a lead", sprint_id=team.sprint)
    team.denied("ship_release", "ask a lead", release_id=team.release)


def test_a_release_ships_when_everything_in_it_is_closed(team: Team) -> None:
    team.rejected("ship_release", "nothing in Orchard 2.1 is done", release_id=team.release)
    team.done("set_issue_release", issue_id=team.login, release_id=team.release)
    team.rejected("set_issue_release", "already", issue_id=team.login, release_id=team.release)
    team.rejected("ship_release", "not closed yet: ORC-1", release_id=team.release)
    team.move(team.login, "in_progress", "in_review", "done")
    assert team.done("ship_release", release_id=team.release)["released_at"]
    team.rejected("ship_release", "has shipped already", release_id=team.release)
    team.rejected("set_issue_release", "has shipped", issue_id=team.menu, release_id=team.release)


def test_issues_nobody_touches_are_stale(team: Team) -> None:
    team.wait(days=21)
    team.done("comment_on_issue", issue_id=team.menu, text="Still wanted.")
    stale = team.done("search_issues", status="stale")["items"]
    assert [issue["id"] for issue in stale] == [team.login]


def test_projects_do_not_mix(team: Team) -> None:
    board = team.state
    fields = {"key": "TUN-1", "project_id": team.other, "title": "Far", "kind": "bug"}
    times = {"created_at": NOW, "updated_at": NOW, "status": "open", "priority": "low"}
    elsewhere = board.issues.add(reporter=ME, estimate=2, **fields, **times).id
    team.rejected(
        "plan_issue", "another project's sprint", issue_id=elsewhere, sprint_id=team.sprint
    )
    ship = {"issue_id": elsewhere, "release_id": team.release}
    team.rejected("set_issue_release", "another project's release", **ship)
    same = {"issue_id": elsewhere, "original_id": team.login}
    team.rejected("close_duplicate_issue", "in another project", **same)
    team.done("add_issue_blocker", issue_id=elsewhere, blocker_id=team.login)
