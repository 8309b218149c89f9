"""What the tracker knows of a few teams' work, how time moves it, and what is always true."""

from datetime import date, datetime
from itertools import pairwise
from typing import Literal

from provegym.kernel import Denied, Record, Server, State, Table, forbid, table

Role = Literal["reporter", "developer", "reviewer", "lead"]
Status = Literal["open", "in_progress", "in_review", "done", "wont_do"]
Kind = Literal["bug", "task", "feature"]
Priority = Literal["low", "medium", "high", "critical"]
Points = Literal[1, 2, 3, 5, 8, 13]
Tag = Literal["backend", "frontend", "docs", "security", "speed", "customer", "quick_win", "debt"]
Phase = Literal["planned", "active", "closed"]
CLOSED = ("done", "wont_do")
TEAM: tuple[Role, ...] = ("developer", "reviewer", "lead")
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
        forbid(issue.status in CLOSED, f"{issue.key} is closed; choose or create an open issue")
        return issue

    def require_closable(self, issue: Issue) -> None:
        """Refuse to close an issue before its blockers and subtasks are."""
        for other in map(self.issues.__getitem__, (*issue.blocked_by, *issue.subtasks)):
            forbid(other.status not in CLOSED, f"{other.key} has to be closed before {issue.key}")

    def waits_for(self, issue_id: str, other_id: str) -> bool:
        """Whether an issue rests on another, directly or through others, or is that one."""
        ahead = [issue_id]
        for key in ahead:
            rests_on = (*self.issues[key].blocked_by, *self.issues[key].subtasks)
            ahead += [more for more in rests_on if more not in ahead]
        return other_id in ahead

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
        points, name = issue.estimate if estimate is None else estimate, None
        if issue.sprint_id:
            load = self.sprints[issue.sprint_id].load - issue.estimate
            self.sprints.update(issue.sprint_id, load=load)
        if sprint_id:
            sprint = self.sprints[sprint_id]
            name, room = sprint.name, sprint.capacity - sprint.load
            forbid(points > room, f"{name} has room for {room} points, {issue.key} takes {points}")
            self.sprints.update(sprint_id, load=sprint.load + points)
        return self.issues.update(issue.id, sprint_id=sprint_id, sprint_name=name, estimate=points)

    def close_sprint(self, sprint_id: str) -> Sprint:
        """End a sprint; what is unfinished goes on to the next one as far as it fits."""
        project_id = self.sprints[sprint_id].project_id
        planned = self.sprints.where(project_id=project_id, status="planned")
        next_id = min(planned, key=lambda s: s.number).id if planned else None
        for issue in self.issues.where(sprint_id=sprint_id):
            room = self.sprints[next_id].capacity - self.sprints[next_id].load if next_id else 0
            if issue.status not in CLOSED:
                self.replan(issue, next_id if issue.estimate <= room else None)
        return self.sprints.update(sprint_id, status="closed", ends_at=self.now)

    def next_event(self) -> datetime | None:
        """An active sprint runs out."""
        ends = [s.ends_at for s in self.sprints if s.ends_at and s.status == "active"]
        return min(ends, default=None)

    def happen(self) -> None:
        """End the sprints that are over."""
        for sprint in self.sprints.where(status="active"):
            if sprint.ends_at and sprint.ends_at <= self.now:
                self.close_sprint(sprint.id)

    def check(self) -> None:
        """Blockers, subtasks, sprints, releases and histories fit together."""
        paths: dict[str, list[str]] = {issue.id: ["open"] for issue in self.issues}
        for entry in self.history:
            paths[entry.issue_id] += [entry.moved_to] if entry.moved_to else []
        for issue in self.issues:
            path, closed = paths[issue.id], issue.status in CLOSED
            assert path[-1] == issue.status
            assert all(step in WORKFLOW for step in pairwise(path))
            for other in map(self.issues.__getitem__, (*issue.blocked_by, *issue.subtasks)):
                assert other.status in CLOSED or not closed
                assert (other.parent_id == issue.id) == (other.id in issue.subtasks)
            assert not any(self.waits_for(key, issue.id) for key in issue.blocked_by)
            assert not (issue.parent_id and issue.subtasks)
            assert closed or not (issue.release_id and self.releases[issue.release_id].released_at)
            assert issue.assignee or issue.status in ("open", "wont_do")
            assert not issue.duplicate_of_id or issue.status == "wont_do"
        assert len({issue.key for issue in self.issues}) == len(self.issues)
        for sprint in self.sprints:
            inside = self.issues.where(sprint_id=sprint.id)
            assert all(issue.project_id == sprint.project_id for issue in inside)
            assert sprint.load == sum(issue.estimate for issue in inside) <= sprint.capacity
            assert sprint.status != "closed" or all(i.status in CLOSED for i in inside)
            assert sprint.status != "active" or (sprint.ends_at and sprint.ends_at > self.now)
        active = [sprint.project_id for sprint in self.sprints if sprint.status == "active"]
        assert len(set(active)) == len(active)


about = "Issues, sprints, releases and the people of a few software teams, as one member sees them."
server = Server("issue_tracker", Board, category="knowledge", about=about)
