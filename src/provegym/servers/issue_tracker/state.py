"""The state of the tracker: projects, issues, sprints, releases, the workflow, invariants."""

from datetime import date, datetime
from itertools import pairwise
from typing import Literal

from provegym.kernel import Denied, Record, Rejected, Server, State, Table, table

Role = Literal["reporter", "developer", "reviewer", "lead"]
Status = Literal["open", "in_progress", "in_review", "done", "wont_do"]
Kind = Literal["bug", "task", "feature"]
Priority = Literal["low", "medium", "high", "critical"]
Points = Literal[1, 2, 3, 5, 8, 13]
Tag = Literal["backend", "frontend", "docs", "security", "speed", "customer", "quick_win", "debt"]
Phase = Literal["planned", "active", "closed"]

CLOSED = ("done", "wont_do")
TEAM: tuple[Role, ...] = ("developer", "reviewer", "lead")
# The moves there are from one status to another, and the roles that may make them.
WORKFLOW: dict[tuple[Status, Status], tuple[Role, ...]] = {
    ("open", "in_progress"): ("developer", "lead"),
    ("in_progress", "open"): ("developer", "lead"),
    ("in_progress", "in_review"): ("developer", "lead"),
    ("in_review", "in_progress"): ("reviewer", "lead"),
    ("in_review", "done"): ("reviewer", "lead"),
    ("open", "wont_do"): ("reporter", "lead"),
    ("in_progress", "wont_do"): ("lead",),
    ("in_review", "wont_do"): ("lead",),
}
# How many subtasks, and how many blockers, an issue may have.
MOST_LINKS = 5


class Project(Record, frozen=True):
    """A team's work, and the acting user's place in the team."""

    id: str
    key: str
    name: str
    components: tuple[str, ...]
    last_number: int
    my_name: str
    my_role: Role


class Member(Record, frozen=True):
    """Somebody on a project's team."""

    id: str
    project_id: str
    name: str
    role: Role


class Sprint(Record, frozen=True):
    """A stretch of work; the estimates of its issues add up to its load."""

    id: str
    project_id: str
    name: str
    number: int
    capacity: int
    load: int
    status: Phase
    ends_at: datetime | None = None

    @property
    def room(self) -> int:
        """How many more points fit in."""
        return self.capacity - self.load


class Release(Record, frozen=True):
    """A version that issues are promised for."""

    id: str
    project_id: str
    name: str
    due: date
    released_at: datetime | None = None


class Issue(Record, frozen=True):
    """A piece of work people quote by its key; the title says what is to be done."""

    id: str
    key: str
    project_id: str
    title: str
    kind: Kind
    status: Status
    priority: Priority
    reporter: str
    created_at: datetime
    updated_at: datetime
    estimate: int = 0
    component: str | None = None
    assignee: str | None = None
    sprint_id: str | None = None
    sprint_name: str | None = None
    release_id: str | None = None
    parent_id: str | None = None
    duplicate_of_id: str | None = None
    subtasks: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()
    labels: tuple[Tag, ...] = ()
    watchers: tuple[str, ...] = ()

    @property
    def prerequisites(self) -> tuple[str, ...]:
        """The ids of the issues that have to be closed before this one."""
        return (*self.blocked_by, *self.subtasks)


class HistoryEntry(Record, frozen=True):
    """A comment or a move of an issue; entries are never changed."""

    id: str
    issue_id: str
    author: str
    at: datetime
    text: str = ""
    moved_to: Status | None = None


class Board(State):
    """The issue tracker as the acting user may use it."""

    projects: Table[Project] = table(Project, "prj", look_up="list_tracker_projects")
    members: Table[Member] = table(Member, "mem", look_up="list_project_members")
    sprints: Table[Sprint] = table(Sprint, "spr", look_up="list_sprints")
    releases: Table[Release] = table(Release, "rel", look_up="list_project_releases")
    issues: Table[Issue] = table(Issue, "iss", look_up="search_issues")
    history: Table[HistoryEntry] = table(HistoryEntry, "hst", look_up="list_issue_history")

    def allow(self, project_id: str, *roles: Role) -> Project:
        """A project in which the acting user has one of these roles."""
        project = self.projects[project_id]
        if project.my_role not in roles:
            raise Denied(f"in {project.name} you are {project.my_role}; ask a {' or '.join(roles)}")
        return project

    def active(self, issue_id: str) -> Issue:
        """An issue that is not closed; closing is final."""
        issue = self.issues[issue_id]
        if issue.status in CLOSED:
            raise Rejected(f"{issue.key} is closed; choose or create an open issue")
        return issue

    def require_closable(self, issue: Issue) -> None:
        """Refuse to close an issue before its blockers and subtasks are."""
        for other_id in issue.prerequisites:
            other = self.issues[other_id]
            if other.status not in CLOSED:
                raise Rejected(f"{other.key} has to be closed before {issue.key}")

    def waits_for(self, issue_id: str, other_id: str) -> bool:
        """Whether an issue waits for another, directly or through others, or is that one."""
        seen = {issue_id}
        to_visit = [issue_id]
        while to_visit:
            issue = self.issues[to_visit.pop()]
            for key in issue.prerequisites:
                if key not in seen:
                    seen.add(key)
                    to_visit.append(key)
        return other_id in seen

    def touch(self, issue_id: str, **changes: object) -> Issue:
        """Change an issue and when it was last changed."""
        return self.issues.update(issue_id, updated_at=self.now, **changes)

    def note(self, issue: Issue, author: str, **entry: object) -> HistoryEntry:
        """Write down who said or did something."""
        return self.history.add(issue_id=issue.id, author=author, at=self.now, **entry)

    def move(self, issue: Issue, status: Status, author: str) -> Issue:
        """Take an issue to another status."""
        self.note(issue, author, moved_to=status)
        return self.touch(issue.id, status=status)

    def replan(self, issue: Issue, sprint_id: str | None, estimate: int | None = None) -> Issue:
        """Put an issue into a sprint with room for it, or none, at the same or a new estimate."""
        if estimate is None:
            estimate = issue.estimate
        if issue.sprint_id:
            before = self.sprints[issue.sprint_id]
            self.sprints.update(before.id, load=before.load - issue.estimate)
        sprint_name = None
        if sprint_id:
            sprint = self.sprints[sprint_id]
            sprint_name = sprint.name
            if estimate > sprint.room:
                raise Rejected(
                    f"{sprint.name} has room for {sprint.room} points, {issue.key} takes {estimate}"
                )
            self.sprints.update(sprint_id, load=sprint.load + estimate)
        return self.issues.update(
            issue.id, sprint_id=sprint_id, sprint_name=sprint_name, estimate=estimate
        )

    def close_sprint(self, sprint_id: str) -> Sprint:
        """End a sprint; what is unfinished goes on to the next one as far as it fits."""
        project_id = self.sprints[sprint_id].project_id
        planned = self.sprints.where(project_id=project_id, status="planned")
        next_sprint = min(planned, key=lambda sprint: sprint.number, default=None)
        for issue in self.issues.where(sprint_id=sprint_id):
            if issue.status in CLOSED:
                continue
            if next_sprint and issue.estimate <= self.sprints[next_sprint.id].room:
                self.replan(issue, next_sprint.id)
            else:
                self.replan(issue, None)
        return self.sprints.update(sprint_id, status="closed", ends_at=self.now)

    def next_event(self) -> datetime | None:
        """When the next active sprint ends."""
        active = self.sprints.where(status="active")
        ends = [sprint.ends_at for sprint in active if sprint.ends_at]
        return min(ends, default=None)

    def happen(self) -> None:
        """End the sprints that are over."""
        for sprint in self.sprints.where(status="active"):
            if sprint.ends_at and sprint.ends_at <= self.now:
                self.close_sprint(sprint.id)

    def check(self) -> None:
        """Blockers, subtasks, sprints, releases and histories fit together."""
        assert len({issue.key for issue in self.issues}) == len(self.issues)
        for issue in self.issues:
            self._check_issue(issue)
            self._check_prerequisites(issue)
        for sprint in self.sprints:
            self._check_sprint(sprint)
        self._check_histories()
        active = [sprint.project_id for sprint in self.sprints if sprint.status == "active"]
        assert len(set(active)) == len(active)

    def _check_issue(self, issue: Issue) -> None:
        """An issue's status agrees with its assignee, its original and its release."""
        if issue.status not in ("open", "wont_do"):
            assert issue.assignee
        if issue.duplicate_of_id:
            assert issue.status == "wont_do"
            assert self.issues[issue.duplicate_of_id].duplicate_of_id is None
        assert len(set(issue.labels)) == len(issue.labels)
        if issue.release_id and self.releases[issue.release_id].released_at:
            assert issue.status in CLOSED

    def _check_prerequisites(self, issue: Issue) -> None:
        """Blockers and subtasks are closed first, and no two issues wait for each other."""
        for other_id in issue.prerequisites:
            other = self.issues[other_id]
            assert other.status in CLOSED or issue.status not in CLOSED
            assert (other.parent_id == issue.id) == (other_id in issue.subtasks)
        for blocker_id in issue.blocked_by:
            assert not self.waits_for(blocker_id, issue.id)
        assert not (issue.parent_id and issue.subtasks)

    def _check_sprint(self, sprint: Sprint) -> None:
        """A sprint holds issues of its project, as many as fit, and only closed ones in the end."""
        issues = self.issues.where(sprint_id=sprint.id)
        assert all(issue.project_id == sprint.project_id for issue in issues)
        assert sprint.load == sum(issue.estimate for issue in issues)
        assert sprint.load <= sprint.capacity
        if sprint.status == "closed":
            assert all(issue.status in CLOSED for issue in issues)
        if sprint.status == "active":
            assert sprint.ends_at
            assert sprint.ends_at > self.now

    def _check_histories(self) -> None:
        """Every issue came to its status from "open" by moves that the workflow has."""
        paths: dict[str, list[str]] = {issue.id: ["open"] for issue in self.issues}
        for entry in self.history:
            if entry.moved_to:
                paths[entry.issue_id].append(entry.moved_to)
        for issue in self.issues:
            path = paths[issue.id]
            assert path[-1] == issue.status
            assert all(step in WORKFLOW for step in pairwise(path))


server = Server(
    "issue_tracker",
    Board,
    category="knowledge",
    about=(
        "Issues, sprints, releases and the people of a few software teams, as one member sees them."
    ),
    version=2,
)
